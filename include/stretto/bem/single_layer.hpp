// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string_view>

#include "stretto/bem/mesh.hpp"
#include "stretto/hmatrix/fill.hpp"

namespace stretto {

/// ∫ 1/|p − y| dy over the triangle, exactly, for any p, on the triangle too (Wilton and others 1984; the solid angle
/// by van Oosterom and Strackee 1983).
double triangle_potential(const Point& p, const std::array<Point, 3>& corners);

/// The solid angle under which the triangle is seen from p (van Oosterom and Strackee 1983): positive where its normal
/// points away from p.
double solid_angle(const Point& p, const std::array<Point, 3>& corners);

/// What is tested of the potential on a triangle: its value at the centroid, or its integral.
enum class Testing { collocation, galerkin };
inline constexpr std::string_view testing_names[] = {"collocation", "galerkin"};

/// The matrix of the single layer potential of charges that are constant on each triangle: entry (i, j) is what a unit
/// density on triangle j, in units of 4πε₀, makes on triangle i. Exact integrals near, a rule of degree 5 from 12
/// triangle sizes on (relative error below 1e-8). Of Galerkin's two integrals the inner one is as for collocation, the
/// outer one has seven points, four times as many where triangles touch, and a closed form on the triangle itself
/// (Eibert and Hansen 1995); it is symmetric.
Fill single_layer(const TriangleMesh& mesh, Testing testing);

}  // namespace stretto
