// SPDX-License-Identifier: BSD-3-Clause
#include "sphere_case.hpp"

#include <fmt/core.h>

#include <cmath>

#include "stretto/bem/problem.hpp"
#include "stretto/core/random.hpp"

using namespace stretto;

SphereCase::SphereCase(const Comm& comm, int size, double tolerance)
    : mesh(make_bem_problem(comm, fmt::format("sphere:n={}", size)).mesh), epsilon(tolerance) {
    for (Index i = 0; i < mesh.size(); ++i) {
        kernel.points.push_back(mesh.centroid(i));
        kernel.weights.push_back(mesh.area(i));
        kernel.self.push_back(triangle_potential(mesh.centroid(i), mesh.corners(i)));
        x.push_back(uniform(1, i));
    }
}

Fill SphereCase::fill() const {
    return of_distance(
        kernel.points, [w = kernel.weights.data()](Index, Index j, double square) { return w[j] / std::sqrt(square); },
        [this](Index i) { return kernel.self[static_cast<std::size_t>(i)]; });
}
