// SPDX-License-Identifier: BSD-3-Clause
#include "operators.hpp"

#include <algorithm>

namespace stretto::petsc {

void Preconditioning::run(MultiVector<double> x, MultiVector<double> y, bool transposed) const {
    callbacks_.apply(Failure::preconditioner, sign, x, y, [&](Vec vx, Vec vy) {
        const PC pc = callbacks_.ksp->pc;
        if (const auto code = transposed ? PCApplyTranspose(pc, vx, vy) : PCApply(pc, vx, vy); code != success)
            return code;
        MatNullSpace null_space = nullptr;
        must(transposed ? MatGetTransposeNullSpace(callbacks_.A, &null_space)
                        : MatGetNullSpace(callbacks_.A, &null_space));
        return null_space ? MatNullSpaceRemove(null_space, vy) : success;
    });
}

void Diagonal::take_from(Callbacks& callbacks) {
    const auto rows = static_cast<std::size_t>(callbacks.in.rows());
    if (values_.size() != rows) {
        values_ = Buffer<double>(rows);
        ones_ = Buffer<double>(rows);
        std::ranges::fill(ones_.values(), 1.0);
    }
    must(callbacks.in.reading(ones_.data(), [&](Vec ones) {
        return callbacks.out.writing(values_.data(), [&](Vec v) { return PCApply(callbacks.ksp->pc, ones, v); });
    }));
}

void Diagonal::multiply(MultiVector<double> x, MultiVector<double> y, const RowWork* work) const {
    constexpr Index stretch = 1024;
    const int m = x.columns();
    FinishedRows finished(work, 0, m);
    for (Index begin = 0; begin < x.rows(); begin += stretch) {
        const Index end = std::min(begin + stretch, x.rows());
        if (m == 1) {
            const double *const d = values_.data(), *const from = x.data();
            double* const to = y.data();
#pragma omp simd
            for (Index i = begin; i < end; ++i) to[i] = d[i] * from[i];
        } else {
            for (Index i = begin; i < end; ++i)
                for (int j = 0; j < m; ++j) y(i, j) = values_[static_cast<std::size_t>(i)] * x(i, j);
        }
        finished(begin, end);
    }
}

}  // namespace stretto::petsc
