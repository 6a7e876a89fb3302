// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/inner_iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stretto/core/error.hpp"
#include "stretto/driver/check.hpp"

namespace stretto {

InnerIterations::InnerIterations(HMatrix coarse, int iterations, const std::string& method)
    : coarse_(std::move(coarse)),
      blocks_(coarse_),
      applies_(iterations * choose_method(method).method->applies),
      reductions_(static_cast<int>(std::ceil(iterations * choose_method(method).method->reductions))) {
    options_.method = method;
    options_.rtol = 1e-3;  // more is of no use: the coarse matrix is not A
    options_.max_iterations = iterations;
    options_.threads = coarse_.threads();
    options_.verify = Verify::recurrence;
    options_.iterate = Iterate::last;
    options_.zero_guess = true;
}

void InnerIterations::apply(MultiVector<double> r, MultiVector<double> z) const {
    const int m = r.columns();
    auto& solver = solvers_.at(
        m, [&] { return Solver<double>(coarse_.comm(), coarse_, blocks_, coarse_.local_rows(), m, options_); });
    const auto broken = [](const ColumnResult& column) {
        return !std::isfinite(column.relative_residual) ||
               (column.norm_b > 0 && !std::isfinite(column.recursive_residual));
    };
    if (std::ranges::any_of(solver.solve(r, z).columns, broken)) blocks_.apply(r, z);
}

void InnerIterations::apply_transpose(MultiVector<double>, MultiVector<double>) const {
    throw InputError("inner has no transpose");
}

std::vector<std::string> InnerIterations::remarks() const {
    return {fmt::format("inner: {:.4g} MB with blocks of rank one", 1e-6 * coarse_.statistics().bytes)};
}

}  // namespace stretto
