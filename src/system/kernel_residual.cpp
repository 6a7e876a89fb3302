// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_residual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"

namespace stretto {

template <class T>
std::vector<double> kernel_residuals(const HMatrix& A, const FillOf<T>& fill, const Result& result,
                                     MultiVector<const double> in_b, MultiVector<const double> in_x) {
    const auto values = [](MultiVector<const double> v) {
        return MultiVector<const T>(reinterpret_cast<const T*>(v.data()), v.rows(), v.columns() / reals_in<T>);
    };
    const auto b = values(in_b), x = values(in_x);
    constexpr Index most = 128;
    const auto n = static_cast<Index>(A.rows()), rows = std::min(n, most);
    const int m = b.columns();
    std::vector<Index> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    std::vector<T> row(static_cast<std::size_t>(n));
    std::vector<double> residuals(static_cast<std::size_t>(m));
    for (Index k = A.comm().rank(); k < rows; k += A.comm().size()) {
        const auto i = n <= most ? k : static_cast<Index>((0.5 + 0.5 * uniform(7, k)) * n) % n;
        fill({&i, 1}, all, row.data());
        for (int c = 0; c < m; ++c) {
            T r = b(i, c);
            for (Index j = 0; j < n; ++j) r -= row[static_cast<std::size_t>(j)] * x(j, c);
            residuals[static_cast<std::size_t>(c)] += abs_squared(r);
        }
    }
    for (std::size_t c = 0; c < residuals.size(); ++c) {
        const double norm_b = result.columns[c].norm_b;
        residuals[c] = std::sqrt(all_sum(A.comm(), residuals[c]) * n / rows) / (norm_b > 0 ? norm_b : 1);
    }
    return residuals;
}
template std::vector<double> kernel_residuals(const HMatrix&, const Fill&, const Result&, MultiVector<const double>,
                                              MultiVector<const double>);
template std::vector<double> kernel_residuals(const HMatrix&, const ComplexFill&, const Result&,
                                              MultiVector<const double>, MultiVector<const double>);

double review_by_kernel(std::span<const double> residuals, double epsilon, double rtol, double atol, Result& result) {
    constexpr double sampling = 2;  // the residuals are estimates, from some rows
    double needed = 0;
    for (std::size_t j = 0; j < residuals.size(); ++j) {
        auto& column = result.columns[j];
        const double asked = std::max(rtol, column.norm_b > 0 ? atol / column.norm_b : atol),
                     tolerance = std::max(asked, column.relative_residual);
        if (!(residuals[j] > sampling * tolerance)) continue;
        const double may_do = std::max(1e-15, epsilon * tolerance / residuals[j]);
        result.events.push_back(
            {result.iterations,
             fmt::format(
                 "{}the residual with the kernel itself is {:.1e}, not {:.1e}: errors of the hierarchical matrix "
                 "are multiplied by ‖A‖‖x‖/‖b‖; --hmatrix epsilon={:.0e} may attain it",
                 residuals.size() > 1 ? fmt::format("column {}: ", j + 1) : "", residuals[j], tolerance, may_do)});
        if (column.status != Status::converged || asked < epsilon) continue;
        column.status = Status::stagnated;
        needed = needed == 0 ? may_do : std::min(needed, may_do);
    }
    if (!result.converged()) return needed;
    const auto failed =
        std::ranges::find_if(result.columns, [](const auto& column) { return column.status != Status::converged; });
    if (failed != result.columns.end()) result.status = failed->status;
    return needed;
}

}  // namespace stretto
