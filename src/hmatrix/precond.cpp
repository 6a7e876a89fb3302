// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/precond.hpp"

#include <algorithm>

#include "stretto/core/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/solvers/solve.hpp"

extern "C" {
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dgetri_(const int* n, double* a, const int* lda, const int* pivots, double* work, const int* size, int* info);
}

namespace stretto {

DiagonalBlocks::DiagonalBlocks(const HMatrix& A)
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
}

void DiagonalBlocks::apply(MultiVector<double> r, MultiVector<double> z) const {
    const int m = r.columns();
    parallel(threads_, [&](int t, int all) {
        const Share share(inverses_.size(), t, all);
        for (std::size_t b = share.begin; b < share.end; ++b) {
            const auto& [begin, rows, values] = inverses_[b];
            for (Index i = 0; i < rows; ++i) std::fill_n(&z(begin + i, 0), m, 0.0);
            const double* value = values.data();
            for (Index j = 0; j < rows; ++j)
                for (Index i = 0; i < rows; ++i, ++value)
                    for (int c = 0; c < m; ++c) z(begin + i, c) += *value * r(begin + j, c);
        }
    });
}

InnerIterations::InnerIterations(const HMatrix& coarse, int iterations, std::string method)
    : coarse_(&coarse), blocks_(coarse), iterations_(iterations), method_(std::move(method)) {}

void InnerIterations::apply(MultiVector<double> r, MultiVector<double> z) const {
    std::ranges::fill(z.values(), 0.0);
    SolveOptions options;
    options.method = method_;
    options.max_iterations = iterations_;
    options.rtol = 1e-3;  // more is of no use: the coarse matrix is not A
    options.threads = coarse_->threads();
    (void)solve<double>(coarse_->comm(), *coarse_, blocks_, r, z, options);
}

}  // namespace stretto
