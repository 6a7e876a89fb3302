// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What integrals over a triangle are computed by.

#include <array>

#include "stretto/hmatrix/geometry.hpp"

namespace stretto {

struct QuadraturePoint {
    double a, b, c, weight;  // barycentric; the weights add up to 1
};
namespace radon {
constexpr double q1 = 0.059715871789770, p1 = 0.470142064105115, q2 = 0.797426985353087, p2 = 0.101286507323456;
}
/// Degree 5 (Radon 1948; Strang and Fix 1973).
inline constexpr QuadraturePoint triangle_rule[7] = {{1.0 / 3, 1.0 / 3, 1.0 / 3, 0.225},
                                                     {radon::q1, radon::p1, radon::p1, 0.132394152788506},
                                                     {radon::p1, radon::q1, radon::p1, 0.132394152788506},
                                                     {radon::p1, radon::p1, radon::q1, 0.132394152788506},
                                                     {radon::q2, radon::p2, radon::p2, 0.125939180544827},
                                                     {radon::p2, radon::q2, radon::p2, 0.125939180544827},
                                                     {radon::p2, radon::p2, radon::q2, 0.125939180544827}};

inline Point rule_point(const std::array<Point, 3>& corners, const QuadraturePoint& q) {
    return q.a * corners[0] + q.b * corners[1] + q.c * corners[2];
}

/// In sizes of a triangle: the rule is good to 1e-8 from there on.
inline constexpr double far_from_triangle = 12;

}  // namespace stretto
