// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/inner_iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stretto/core/error.hpp"
#include "stretto/driver/solve.hpp"

namespace stretto {

/// The inner method's vectors and operators, for one number of columns.
struct InnerIterations::Inner {
    Space<double> V;
    LinearMap<double> A, M;

    Inner(const HMatrix& coarse, const DiagonalBlocks& blocks, int columns, int vectors)
        : V(coarse.comm(), coarse.local_rows(), columns, vectors, coarse.threads(), Formulation::merged),
          A(AnyOperator<double>(coarse), V, Kernel::apply),
          M(AnyOperator<double>(blocks), V, Kernel::precondition) {}
};

InnerIterations::InnerIterations(HMatrix coarse, int iterations, const std::string& method)
    : coarse_(std::move(coarse)),
      blocks_(coarse_),
      iterations_(iterations),
      method_(&find_method(parse_spec(method).name)),
      options_(parse_spec(method), method_->options) {}

InnerIterations::~InnerIterations() = default;

InnerIterations::Inner& InnerIterations::inner(int columns) const {
    return inner_.at(columns, [&] {
        return Inner(coarse_, blocks_, columns,
                     method_->vectors_with ? method_->vectors_with(options_, true) : method_->vectors_preconditioned);
    });
}

void InnerIterations::apply(MultiVector<double> r, MultiVector<double> z) const {
    constexpr double rtol = 1e-3;  // more is of no use: the coarse matrix is not A
    auto& [V, A, M] = inner(r.columns());
    std::ranges::fill(z.values(), 0.0);
    auto [rr] = V.start(dot(r, r)).wait();
    std::vector<Stop<double>::Column> columns(static_cast<std::size_t>(r.columns()));
    std::vector<double> start;
    for (int j = 0; j < r.columns(); ++j) {
        const double norm = std::sqrt(rr[j]);
        columns[static_cast<std::size_t>(j)].target = rtol * norm;
        columns[static_cast<std::size_t>(j)].norm_b = norm > 0 ? norm : 1;
        start.push_back(norm > 0 ? norm : NAN);
    }
    Stop<double> stop(V, std::move(columns), iterations_);
    stop.begin(options_, start, false);
    method_->run(V, A, M, r, z, stop);
    V.workspace().release(0);
    V.thaw();
    const auto broken = [](const auto& column) { return !std::isfinite(column.recursive); };
    if (std::ranges::any_of(stop.columns(), broken)) blocks_.apply(r, z);
}

void InnerIterations::apply_transpose(MultiVector<double>, MultiVector<double>) const {
    throw InputError("inner has no transpose");
}

std::vector<std::string> InnerIterations::remarks() const {
    return {fmt::format("inner: {:.4g} MB with blocks of rank one", 1e-6 * coarse_.statistics().bytes)};
}

}  // namespace stretto
