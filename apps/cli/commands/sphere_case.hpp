// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "hmat_oss.hpp"
#include "stretto/bem/mesh.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/hmatrix/fill.hpp"

/// What hierarchical matrices are measured on: the single layer on the unit sphere, one point for each triangle, exact
/// on the diagonal, and a vector.
struct SphereCase {
    /// Collective.
    SphereCase(const stretto::Comm& comm, int size, double tolerance);
    /// *this must outlive it.
    stretto::Fill fill() const;

    stretto::TriangleMesh mesh;
    ChargeKernel kernel;
    std::vector<double> x;
    double epsilon;
};
