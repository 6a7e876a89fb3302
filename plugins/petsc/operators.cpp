// SPDX-License-Identifier: BSD-3-Clause
#include "operators.hpp"

#include <algorithm>
#include <functional>

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

void SymmetricallyPreconditioned::left(MultiVector<double> x, MultiVector<double> y) const {
    callbacks_.apply(Failure::preconditioner, 1, x, y, [&](Vec vx, Vec vy) {
        if (const auto code = PCApplySymmetricLeft(callbacks_.ksp->pc, vx, vy); code != success) return code;
        MatNullSpace null_space = nullptr;
        must(MatGetNullSpace(callbacks_.A, &null_space));
        return null_space ? MatNullSpaceRemove(null_space, vy) : success;
    });
}

void SymmetricallyPreconditioned::right(MultiVector<double> x, MultiVector<double> y) const {
    callbacks_.apply(Failure::preconditioner, 1, x, y,
                     [&](Vec vx, Vec vy) { return PCApplySymmetricRight(callbacks_.ksp->pc, vx, vy); });
}

const double* SymmetricallyPreconditioned::begin(const double* b, const double* x0) {
    std::copy_n(x0, size(), part(0).data());
    A_.apply(part(0), part(1));
    std::transform(b, b + size(), part(1).data(), part(1).data(), std::minus<>());
    left(part(1), part(3));
    std::fill_n(unknowns(), size(), 0.0);
    return part(3).data();
}

std::span<const double> SymmetricallyPreconditioned::solution(const double* x0) const {
    right(part(2), part(0));
    std::transform(x0, x0 + size(), part(0).data(), part(0).data(), std::plus<>());
    return {part(0).data(), size()};
}

}  // namespace stretto::petsc
