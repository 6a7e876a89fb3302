// SPDX-License-Identifier: BSD-3-Clause
#include "scaled_spectrum.hpp"

#include <algorithm>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/exact_sum.hpp"
#include "stretto/methods/parts/newton_basis.hpp"

namespace stretto {
namespace {

constexpr int most_steps = 12;

std::vector<std::complex<double>> ritz_values_of(const double (&h)[most_steps][most_steps], int steps) {
    if (steps == 0) return {};
    std::vector<double> H;
    for (int j = 0; j < steps; ++j) H.insert(H.end(), h[j], h[j] + steps);
    const auto values = hessenberg_eigenvalues(H, steps);
    return {values.begin(), values.end()};
}

}  // namespace

double largest_row_sum(const CsrMatrix<double>& A, std::span<const double> inverse) {
    double largest = 0;
    for (Index i = 0; i < A.local_rows(); ++i) {
        double sum = 0;
        const auto row = A.row(i);
        A.rows_here().in_global_order(row, [&](std::size_t k) { sum += std::abs(row.values[k]); });
        largest = std::max(largest, sum * std::abs(inverse[static_cast<std::size_t>(i)]));
    }
    return all_max(A.comm(), largest);
}

std::vector<std::complex<double>> ritz_values(const CsrMatrix<double>& A, std::span<const double> inverse, int most,
                                              double negligible) {
    const Comm& comm = A.comm();
    const auto n = inverse.size();
    std::vector<std::vector<double>> basis;
    std::vector<double> next(n);
    const Global first = A.partition().first(comm.rank());
    for (std::size_t i = 0; i < n; ++i) next[i] = uniform(1, first + static_cast<Global>(i), 0);
    double h[most_steps][most_steps] = {};  // column by column
    for (int steps = 0;; ++steps) {
        // Classical Gram–Schmidt, one reduction a step: (next, qⱼ) and (next, next).
        std::vector<std::span<const double>> left(basis.begin(), basis.end());
        left.emplace_back(next);
        const auto dots = all_dots(comm, left, next);
        double square = dots.back();
        for (std::size_t j = 0; j < basis.size(); ++j) {
            h[steps - 1][j] = dots[j];
            square -= dots[j] * dots[j];
            for (std::size_t i = 0; i < n; ++i) next[i] -= dots[j] * basis[j][i];
        }
        // What is left of cancellation is no direction: the space ends.
        constexpr double cancelled = 1e-10;
        const double norm = square > cancelled * dots.back() ? std::sqrt(square) : 0;
        if (steps == std::min(most, most_steps) || !(norm > negligible) || !std::isfinite(norm))
            return ritz_values_of(h, steps);
        if (steps > 0) h[steps - 1][steps] = norm;
        for (double& value : next) value /= norm;
        basis.push_back(next);
        A.apply({basis.back().data(), A.local_rows(), 1}, {next.data(), A.local_rows(), 1});
        for (std::size_t i = 0; i < n; ++i) next[i] *= inverse[i];
    }
}

}  // namespace stretto
