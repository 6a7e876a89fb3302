// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/space.hpp"
#include "stretto/operators/any_operator.hpp"

namespace stretto {

/// A, or M⁻¹, as a method sees it: counted and timed. False for the identity.
template <class T>
class LinearMap {
public:
    LinearMap(AnyOperator<T> op, Space<T>& V, Kernel kernel)
        : op_(op), comm_(&V.comm()), ledger_(&V.ledger()), kernel_(kernel), bytes_(op.bytes(V.width())) {}

    explicit operator bool() const { return static_cast<bool>(op_); }

    /// y = A x. The identity does nothing: where there is no preconditioner, x and y are one vector.
    void apply(MultiVector<T> x, MultiVector<T> y) const {
        account([&] { op_.apply(x, y); });
    }
    /// The same, with work on rows of y as soon as they are there, where parts() says in how many parts.
    void apply(MultiVector<T> x, MultiVector<T> y, const RowWork& work) const {
        account([&] { op_.apply(x, y, work); });
    }
    int parts() const { return op_.parts(); }
    /// Its diagonal, where it is nothing else and vectors are where a group can take it up: `work` does, in its own
    /// pass.
    T* as_diagonal() const { return op_.as_diagonal(); }
    template <class Work>
    void within(Work&& work) const {
        account(work);
    }
    const void* within_kernels() const { return op_.within_kernels(); }
    bool has_transpose() const { return op_.has_transpose(); }
    /// The same, but what of y comes from other ranks may be in flight until what is returned has been waited for.
    [[nodiscard]] Pending start(MultiVector<T> x, MultiVector<T> y) const {
        Pending pending;
        account([&] { pending = op_.start_apply(x, y); });
        return pending;
    }
    /// r = b − A x in twice the precision, counted as a product, where the operator has that.
    bool has_residual() const { return op_.has_residual(); }
    void residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const {
        account([&] { op_.residual(b, x, r); });
    }
    /// No less than ‖ |A| ‖₂, infinite where the operator does not know.
    double norm_bound() const { return op_.norm_bound(); }
    /// Whether `start` leaves something in flight.
    bool finishes_later() const { return op_.finishes_later(); }
    /// How many products one exchange will serve: h, or 1 where the operator cannot, or it would not pay.
    int prepare_powers(int h) const { return op_ ? op_.prepare_powers(h) : 1; }
    /// CsrMatrix::apply_powers, counted as so many products and the vector work between them.
    void apply_powers(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const {
        account([&] { op_.apply_powers(v, first, count, B); }, count);
    }
    /// y = Aᵀ x, counted as a product.
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
        account([&] { op_.apply_transpose(x, y); });
    }

private:
    template <class Work>
    void account(Work&& work, int count = 1) const {
        if (!op_) return;
        const auto watch = ledger_->time(kernel_);
        work();
        comm_->start_late_sums();
        ledger_->work_done();
        ledger_->step(kernel_ == Kernel::apply ? Step::product : Step::preconditioner, count);
        auto& counts = ledger_->now();
        (kernel_ == Kernel::apply ? counts.applies : counts.preconditionings) += count;
        counts.bytes += count * bytes_;
    }

    AnyOperator<T> op_;
    Comm* comm_;
    Ledger* ledger_;
    Kernel kernel_;
    double bytes_;
};

/// y <<= A * x, as the first statement of a group: its result goes on to the others while it is in cache, where A hands
/// rows on. They must not change x.
template <class T>
struct Applied {
    const LinearMap<T>* A;
    MultiVector<T> x, y;
};
template <class T>
constexpr auto operator*(const LinearMap<T>& A, MultiVector<T> x) {
    return Applied<T>{&A, x, {}};
}
template <class T>
constexpr Applied<T> operator<<=(MultiVector<T> y, Applied<T> product) {
    product.y = y;
    return product;
}

}  // namespace stretto
