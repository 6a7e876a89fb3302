// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "pending_exception.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/execute/row_work.hpp"
#include "vectors.hpp"

namespace stretto::petsc {

/// What went wrong in functions that PETSc calls for this solve. Raises the flag that ends it on all ranks at the next
/// sum; what failed is not called again.
class Failure {
public:
    enum Where { product, preconditioner, monitor };

    void reset() {
        code_ = success;
        raised_ = false;
    }
    /// Calls work() unless it has failed in this place before.
    template <class Work>
    void watch(Where where, Work&& work) {
        const auto called = [&] { return guarded(PETSC_COMM_SELF, [&] { must(work()); }); };
        if (code_ != success) {
            if (where == where_) return;
            const PendingException first;
            static_cast<void>(called());  // other ranks may wait in it for this one
            return;
        }
        const PetscErrorCode code = called();
        if (code == success) return;
        code_ = code;
        where_ = where;
        raised_ = true;
    }
    PetscErrorCode code() const { return code_; }
    const std::atomic<bool>* flag() const { return &raised_; }

private:
    PetscErrorCode code_ = success;
    Where where_ = product;
    std::atomic<bool> raised_ = false;
};

/// What the operators of one KSP work with.
struct Callbacks {
    KSP ksp = nullptr;
    Mat A = nullptr;
    LentVec in, out;
    Failure failure;

    /// y := sign · work(Vec of x, Vec of y) column by column.
    template <class Work>
    void apply(Failure::Where where, double sign, MultiVector<double> x, MultiVector<double> y, Work&& work) {
        if (x.columns() == 1) {
            call(where, x.data(), y.data(), work);
        } else {
            columns_.resize(2 * static_cast<std::size_t>(x.rows()));
            double *const from = columns_.data(), *const to = from + x.rows();
            for (int j = 0; j < x.columns(); ++j) {
                for (Index i = 0; i < x.rows(); ++i) from[i] = x(i, j);
                call(where, from, to, work);
                for (Index i = 0; i < x.rows(); ++i) y(i, j) = to[i];
            }
        }
        if (sign < 0)
            for (double& value : y.values()) value = -value;
    }

private:
    template <class Work>
    void call(Failure::Where where, const double* x, double* y, Work& work) {
        failure.watch(where, [&] {
            return in.reading(x, [&](Vec vx) { return out.writing(y, [&](Vec vy) { return work(vx, vy); }); });
        });
    }

    std::vector<double> columns_;
};

/// A by MatMult, or −A.
class Product {
public:
    explicit Product(Callbacks& callbacks) : callbacks_(callbacks) {}

    void apply(MultiVector<double> x, MultiVector<double> y) const {
        callbacks_.apply(Failure::product, sign, x, y,
                         [&](Vec vx, Vec vy) { return KSP_MatMult(callbacks_.ksp, callbacks_.A, vx, vy); });
    }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
        callbacks_.apply(Failure::product, sign, x, y,
                         [&](Vec vx, Vec vy) { return KSP_MatMultTranspose(callbacks_.ksp, callbacks_.A, vx, vy); });
    }
    double bytes(int) const { return 0; }

    double sign = 1;

private:
    Callbacks& callbacks_;
};

/// M⁻¹ by PCApply, or −M⁻¹; what it yields is freed of the null space that A has.
class Preconditioning {
public:
    explicit Preconditioning(Callbacks& callbacks) : callbacks_(callbacks) {}

    void apply(MultiVector<double> x, MultiVector<double> y) const { run(x, y, callbacks_.ksp->transpose_solve); }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
        run(x, y, !callbacks_.ksp->transpose_solve);
    }
    double bytes(int) const { return 0; }

    double sign = 1;

private:
    void run(MultiVector<double> x, MultiVector<double> y, bool transposed) const;

    Callbacks& callbacks_;
};

/// M⁻¹ of PCJACOBI: its numbers, which hand rows on while they are in cache.
class Diagonal {
public:
    /// Collective. By applying the PC to ones.
    void take_from(Callbacks& callbacks);

    void apply(MultiVector<double> x, MultiVector<double> y) const { multiply(x, y, nullptr); }
    void apply(MultiVector<double> x, MultiVector<double> y, const RowWork& work) const { multiply(x, y, &work); }
    int parts() const { return 1; }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const { apply(x, y); }
    double bytes(int columns) const { return 8.0 * static_cast<double>(values_.size()) * (2.0 * columns + 1); }

private:
    void multiply(MultiVector<double> x, MultiVector<double> y, const RowWork* work) const;

    Buffer<double> values_, ones_;
};

/// M⁻¹ A, for the preconditioner on the left.
class LeftPreconditioned {
public:
    LeftPreconditioned(AnyOperator<double> A, AnyOperator<double> M, Index rows, int columns)
        : A_(A), M_(M), product_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

    void apply(MultiVector<double> x, MultiVector<double> y) const {
        const MultiVector<double> product(product_.data(), x.rows(), x.columns());
        A_.apply(x, M_ ? product : y);
        if (M_) M_.apply(product, y);
    }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
        const MultiVector<double> product(product_.data(), x.rows(), x.columns());
        if (M_) M_.apply_transpose(x, product);
        A_.apply_transpose(M_ ? product : x, y);
    }
    double bytes(int) const { return 0; }

private:
    AnyOperator<double> A_, M_;
    Buffer<double> product_;
};

/// L⁻¹ A R⁻¹, for a preconditioner M = L R whose halves PETSc applies (PC_SYMMETRIC). It takes x₀ + R⁻¹ y for x.
class SymmetricallyPreconditioned {
public:
    SymmetricallyPreconditioned(AnyOperator<double> A, Callbacks& callbacks, Index rows, int columns)
        : A_(A), callbacks_(callbacks), rows_(rows), columns_(columns), work_(4 * size()) {}

    void apply(MultiVector<double> y, MultiVector<double> z) const {
        right(y, part(0));
        A_.apply(part(0), part(1));
        left(part(1), z);
    }
    double bytes(int) const { return 0; }

    /// L⁻¹ (b − A x₀), until the next call; y begins with zero.
    const double* begin(const double* b, const double* x0);
    double* unknowns() const { return part(2).data(); }
    /// x₀ + R⁻¹ y, until the next call of a member.
    std::span<const double> solution(const double* x0) const;

private:
    std::size_t size() const { return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_); }
    MultiVector<double> part(std::size_t number) const { return {work_.data() + number * size(), rows_, columns_}; }
    void left(MultiVector<double> x, MultiVector<double> y) const;
    void right(MultiVector<double> x, MultiVector<double> y) const;

    AnyOperator<double> A_;
    Callbacks& callbacks_;
    Index rows_;
    int columns_;
    Buffer<double> work_;  // two for the product, y, the right-hand side
};

}  // namespace stretto::petsc
