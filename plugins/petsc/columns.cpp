// SPDX-License-Identifier: BSD-3-Clause
// KSPMatSolve: many right-hand sides in one solve.
#include <algorithm>

#include "session.hpp"

namespace stretto::petsc {
namespace {

/// This rank's rows of a dense matrix, column by column at a distance.
struct Columns {
    PetscScalar* data = nullptr;
    PetscInt distance = 0;
};

Columns columns_of(Mat dense, PetscScalar* data) {
    Columns columns{data, 0};
    must(MatDenseGetLDA(dense, &columns.distance));
    return columns;
}

}  // namespace

void Session::solve_columns(Mat B, Mat X) {
    PetscInt all = 0, most_iterations = 0;
    must(MatGetSize(B, nullptr, &all));
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    test_is_asked_ = false;
    for (PetscInt first = 0; first < all; first += max_columns) {
        const int columns = static_cast<int>(std::min<PetscInt>(max_columns, all - first));
        prepare(columns);
        const auto rows = static_cast<std::size_t>(shape_.rows), size = rows * static_cast<std::size_t>(columns);
        if (x_.size() != 2 * size) x_ = Buffer<double>(2 * size);
        const MultiVector<double> x(x_.data(), shape_.rows, columns), b(x_.data() + size, shape_.rows, columns);
        const auto each = [&](Mat dense, PetscScalar* data, auto&& work) {
            const auto [at, distance] = columns_of(dense, data);
            for (int j = 0; j < columns; ++j)
                for (Index i = 0; i < shape_.rows; ++i) work(at[(first + j) * distance + i], i, j);
        };
        PetscScalar* data = nullptr;
        must(MatDenseGetArrayRead(B, const_cast<const PetscScalar**>(&data)));
        each(B, data, [&](PetscScalar value, Index i, int j) { b(i, j) = value; });
        must(MatDenseRestoreArrayRead(B, const_cast<const PetscScalar**>(&data)));
        must(MatDenseGetArray(X, &data));
        each(X, data, [&](PetscScalar value, Index i, int j) { x(i, j) = value; });
        const Result& result = run(b.data(), x.data());
        each(X, data, [&](PetscScalar& value, Index i, int j) { value = x(i, j); });
        must(MatDenseRestoreArray(X, &data));
        conclude(result);
        most_iterations = std::max(most_iterations, ksp_->its);
        if (first == 0 || (reason > 0 && ksp_->reason < 0)) reason = ksp_->reason;
    }
    ksp_->reason = reason;
    ksp_->its = most_iterations;
}

}  // namespace stretto::petsc
