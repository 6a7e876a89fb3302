// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/hierarchical.hpp"

#include <algorithm>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/driver/solve.hpp"

extern "C" {
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dgetri_(const int* n, double* a, const int* lda, const int* pivots, double* work, const int* size, int* info);
}

namespace stretto {

DiagonalBlocks::DiagonalBlocks(const HMatrix& A, bool everywhere)
    : inverses_(A.diagonal_blocks()), rows_(A.local_rows()), threads_(A.threads()) {
    for (auto& [begin, rows, values] : inverses_) {
        const int n = rows, size = 64 * n;
        std::vector<int> pivots(static_cast<std::size_t>(n));
        std::vector<double> work(static_cast<std::size_t>(size));
        int info = 0;
        dgetrf_(&n, &n, values.data(), &n, pivots.data(), &info);
        if (info == 0) dgetri_(&n, values.data(), &n, pivots.data(), work.data(), &size, &info);
        if (info != 0) {
            std::ranges::fill(values, 0.0);
            for (Index i = 0; i < rows; ++i)
                values[static_cast<std::size_t>(i) * static_cast<std::size_t>(rows + 1)] = 1;
            ++singular_;
        }
        stored_ += 8.0 * static_cast<double>(values.size());
    }
    singular_ = all_sum(A.comm(), singular_);
    if (!everywhere) return;
    rows_ = static_cast<Index>(A.rows());
    const auto first = static_cast<Index>(A.partition().first(A.comm().rank()));
    std::vector<double> mine;
    for (const auto& [begin, rows, values] : inverses_) {
        mine.insert(mine.end(), {static_cast<double>(first + begin), static_cast<double>(rows)});
        mine.insert(mine.end(), values.begin(), values.end());
    }
    inverses_.clear();
    stored_ = 0;
    for (const auto& part : all_to_all(A.comm(), std::vector(static_cast<std::size_t>(A.comm().size()), mine)))
        for (auto next = part.begin(); next != part.end();) {
            auto& block = inverses_.emplace_back();
            block.begin = static_cast<Index>(*next++);
            block.rows = static_cast<Index>(*next++);
            const auto size = static_cast<std::ptrdiff_t>(block.rows) * block.rows;
            block.values.assign(next, next + size);
            next += size;
            stored_ += 8.0 * static_cast<double>(size);
        }
}

void DiagonalBlocks::multiply(MultiVector<double> r, MultiVector<double> z, bool transposed) const {
    const int m = r.columns();
    parallel(threads_, [&](int t, int all) {
        const Share share(inverses_.size(), t, all);
        for (std::size_t b = share.begin; b < share.end; ++b) {
            const auto& [begin, rows, values] = inverses_[b];
            for (Index i = 0; i < rows; ++i) std::fill_n(&z(begin + i, 0), m, 0.0);
            const double* value = values.data();
            for (Index j = 0; j < rows; ++j)
                for (Index i = 0; i < rows; ++i, ++value) {
                    const Index from = transposed ? i : j, to = transposed ? j : i;
                    for (int c = 0; c < m; ++c) z(begin + to, c) += *value * r(begin + from, c);
                }
        }
    });
}

/// The inner method's vectors and operators, for one number of columns.
struct InnerIterations::Inner {
    Space<double> V;
    LinearMap<double> A, M;

    Inner(const HMatrix& coarse, const DiagonalBlocks& blocks, int columns, int vectors)
        : V(coarse.comm(), coarse.local_rows(), columns, vectors, coarse.threads(), Formulation::merged),
          A(AnyOperator<double>(coarse), V, Kernel::apply),
          M(AnyOperator<double>(blocks), V, Kernel::precondition) {}
};

InnerIterations::InnerIterations(const HMatrix& coarse, int iterations, const std::string& method)
    : coarse_(&coarse),
      blocks_(coarse),
      iterations_(iterations),
      method_(&find_method(parse_spec(method).name)),
      options_(parse_spec(method), method_->options) {}

InnerIterations::~InnerIterations() = default;

InnerIterations::Inner& InnerIterations::inner(int columns) const {
    auto& found = inner_[columns];
    if (!found)
        found = std::make_unique<Inner>(
            *coarse_, blocks_, columns,
            method_->vectors_with ? method_->vectors_with(options_, true) : method_->vectors_preconditioned);
    return *found;
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
    V.take_back(true);
    const auto broken = [](const auto& column) { return !std::isfinite(column.recursive); };
    if (std::ranges::any_of(stop.columns(), broken)) blocks_.apply(r, z);
}

}  // namespace stretto
