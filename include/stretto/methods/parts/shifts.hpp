// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <numbers>
#include <span>
#include <vector>

namespace stretto {

/// The largest Ritz value found so far, with its margin: kept, so that the next solve need not look for it.
struct LargestRitzValue {
    double bound = 0;
};

/// The largest eigenvalue of a symmetric tridiagonal matrix, to about seven digits: θ is above it when the elimination
/// of θI − T meets positive pivots only.
inline double largest_eigenvalue(std::span<const double> diagonal, std::span<const double> off_diagonal) {
    const auto above = [&](double theta) {
        double pivot = 1;
        for (std::size_t j = 0; j < diagonal.size() && pivot > 0; ++j)
            pivot = theta - diagonal[j] - (j > 0 ? off_diagonal[j - 1] * off_diagonal[j - 1] / pivot : 0);
        return pivot > 0;
    };
    double below = *std::ranges::max_element(diagonal), bound = below;
    for (const double d : off_diagonal) bound = std::max(bound, below + 2 * std::abs(d));
    for (int halvings = 0; halvings < 24; ++halvings) {
        const double middle = (below + bound) / 2;
        (above(middle) ? bound : below) = middle;
    }
    return bound;
}

/// The zeros of the Chebyshev polynomial of degree l on an interval, in Leja order: each the farthest from those before
/// it, so that products over the first few are neither large nor small.
inline std::pmr::vector<double> chebyshev_shifts(int l, double lowest, double highest,
                                                 std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
    std::pmr::vector<double> shifts(memory);
    for (int i = 0; i < l; ++i)
        shifts.push_back((highest + lowest) / 2 +
                         (highest - lowest) / 2 * std::cos((2 * i + 1) * std::numbers::pi / (2 * l)));
    for (auto next = shifts.begin(); next != shifts.end(); ++next) {
        const auto farness = [&](double shift) {
            double logarithm = next == shifts.begin() ? std::abs(shift) : 0;
            for (auto before = shifts.begin(); before != next; ++before)
                logarithm += std::log(std::abs(shift - *before));
            return logarithm;
        };
        std::iter_swap(
            next, std::max_element(next, shifts.end(), [&](double a, double b) { return farness(a) < farness(b); }));
    }
    return shifts;
}

}  // namespace stretto
