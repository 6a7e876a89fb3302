// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <optional>

#include "stretto/execute/space.hpp"

namespace stretto {

/// A square linear operator, or a preconditioner, on the rows of this rank: apply(x, y) computes y = A x (or
/// y = M⁻¹ x) for vectors of any number of columns, x and y disjoint; bytes(m) is what one such call with m
/// columns moves through this rank's memory. Called on all ranks together. An apply_transpose(x, y), y = Aᵀ x, makes it
/// fit for methods that need one; a has_transpose() that says no takes that back. A start_apply(x, y) may return with
/// y's last parts in flight. An apply(x, y, work) (row_work.hpp) hands rows of y on as soon as they are there, each
/// once, from parts(); where these are none, it does not.
template <class A, class T>
concept LinearOperator = requires(const A& a, MultiVector<T> v, int m) {
    a.apply(v, v);
    { a.bytes(m) } -> std::convertible_to<double>;
};

/// No preconditioner. Methods share vectors that are equal then (u is r, …), so it costs nothing.
struct Identity {};

/// An operator as a user hands it over, its type forgotten: so that a method is compiled once. Holds a pointer to it.
template <class T>
class AnyOperator {
public:
    AnyOperator(Identity = {}) {}
    /// A temporary would be gone before it is used: give it a name.
    template <class Op>
        requires std::is_class_v<Op>
    AnyOperator(const Op&& op) = delete;
    template <class Op>
        requires std::is_class_v<Op>
    AnyOperator(const Op& op)
        : op_(&op),
          apply_(
              [](const void* self, MultiVector<T> x, MultiVector<T> y) { static_cast<const Op*>(self)->apply(x, y); }),
          bytes_([](const void* self, int m) { return static_cast<double>(static_cast<const Op*>(self)->bytes(m)); }) {
        static_assert(
            requires(MultiVector<T> v) { op.apply(v, v); },
            "an operator needs apply(x, y) const, which computes y = A x for MultiVector<T> x and y");
        static_assert(
            requires(int m) {
                { op.bytes(m) } -> std::convertible_to<double>;
            }, "an operator needs bytes(m) const: what one apply with m columns moves through memory; 0 if unknown");
        if constexpr (requires { op.local_rows(); }) local_rows_ = op.local_rows();
        if constexpr (requires { op.prepare_powers(1); }) {
            prepare_powers_ = [](const void* self, int h) { return static_cast<const Op*>(self)->prepare_powers(h); };
            apply_powers_ = [](const void* self, const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) {
                static_cast<const Op*>(self)->apply_powers(v, first, count, B);
            };
        }
        if constexpr (requires(MultiVector<T> v, const RowWork& work) { op.apply(v, v, work), op.parts(); }) {
            parts_ = op.parts();
            apply_with_ = [](const void* self, MultiVector<T> x, MultiVector<T> y, const RowWork& work) {
                static_cast<const Op*>(self)->apply(x, y, work);
            };
        }
        if constexpr (requires(MultiVector<T> v) { Pending(op.start_apply(v, v)); })
            start_apply_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
                return static_cast<const Op*>(self)->start_apply(x, y);
            };
        bool transpose = true;
        if constexpr (requires { op.has_transpose(); }) transpose = op.has_transpose();
        if constexpr (requires(MultiVector<T> v) { op.apply_transpose(v, v); })
            if (transpose)
                apply_transpose_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
                    static_cast<const Op*>(self)->apply_transpose(x, y);
                };
    }

    explicit operator bool() const { return op_ != nullptr; }
    void apply(MultiVector<T> x, MultiVector<T> y) const { apply_(op_, x, y); }
    /// The same, but y is complete only when what is returned has been waited for.
    Pending start_apply(MultiVector<T> x, MultiVector<T> y) const {
        if (start_apply_) return start_apply_(op_, x, y);
        apply(x, y);
        return {};
    }
    bool finishes_later() const { return start_apply_; }
    /// apply, with work on rows of y as soon as they are there, in so many parts; none: it cannot.
    void apply(MultiVector<T> x, MultiVector<T> y, const RowWork& work) const { apply_with_(op_, x, y, work); }
    int parts() const { return parts_; }
    /// Several products for one exchange, where the operator has that (CsrMatrix).
    int prepare_powers(int h) const { return prepare_powers_ ? prepare_powers_(op_, h) : 1; }
    void apply_powers(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const {
        apply_powers_(op_, v, first, count, B);
    }
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const { apply_transpose_(op_, x, y); }
    bool has_transpose() const { return !op_ || apply_transpose_; }
    double bytes(int columns) const { return op_ ? bytes_(op_, columns) : 0; }
    /// Rows on this rank, where the operator has a local_rows() that tells.
    std::optional<Index> local_rows() const { return local_rows_; }

private:
    const void* op_ = nullptr;
    void (*apply_)(const void*, MultiVector<T>, MultiVector<T>) = nullptr;
    void (*apply_with_)(const void*, MultiVector<T>, MultiVector<T>, const RowWork&) = nullptr;
    int parts_ = 0;
    Pending (*start_apply_)(const void*, MultiVector<T>, MultiVector<T>) = nullptr;
    void (*apply_transpose_)(const void*, MultiVector<T>, MultiVector<T>) = nullptr;
    double (*bytes_)(const void*, int) = nullptr;
    int (*prepare_powers_)(const void*, int) = nullptr;
    void (*apply_powers_)(const void*, const Panel<T>&, int, int, const SmallMatrix<T>&) = nullptr;
    std::optional<Index> local_rows_;
};

/// A, or M⁻¹, as a method sees it: counted and timed. False for the identity.
template <class T>
class LinearMap {
public:
    LinearMap(AnyOperator<T> op, Space<T>& V, Kernel kernel)
        : op_(op), ledger_(&V.ledger()), kernel_(kernel), bytes_(op.bytes(V.width())) {}

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
    bool has_transpose() const { return op_.has_transpose(); }
    /// The same, but what of y comes from other ranks may be in flight until what is returned has been waited for.
    [[nodiscard]] Pending start(MultiVector<T> x, MultiVector<T> y) const {
        Pending pending;
        account([&] { pending = op_.start_apply(x, y); });
        return pending;
    }
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
        ledger_->work_done();
        auto& counts = ledger_->now();
        (kernel_ == Kernel::apply ? counts.applies : counts.preconditionings) += count;
        counts.bytes += count * bytes_;
    }

    AnyOperator<T> op_;
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
auto operator*(const LinearMap<T>& A, MultiVector<T> x) {
    return Applied<T>{&A, x, {}};
}
template <class T>
Applied<T> operator<<=(MultiVector<T> y, Applied<T> product) {
    product.y = y;
    return product;
}

}  // namespace stretto
