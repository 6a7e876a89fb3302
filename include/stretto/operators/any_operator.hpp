// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>

#include "stretto/comm/comm.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/statements/multivector.hpp"
#include "stretto/statements/panel.hpp"

namespace stretto {

/// No preconditioner. Methods share vectors that are equal then (u is r, …), so it costs nothing.
struct Identity {};

template <class T>
class AnyOperator;

/// An operator and what it refers to.
template <class T>
struct OwnedOperator {
    AnyOperator<T> op;
    std::shared_ptr<const void> owner;
};
/// An operator on vectors of T, and what keeps it.
template <class T, class Op>
OwnedOperator<T> owned(std::shared_ptr<Op> op);

/// A square linear operator, or a preconditioner, on the rows of this rank. Called on all ranks together.
///
///   apply(x, y)            y = A x (or y = M⁻¹ x) for vectors of any number of columns; x and y are disjoint
///   bytes(m)               what one such call with m columns moves through this rank's memory
///
/// and what it may have besides:
///
///   apply_transpose(x, y)  y = Aᵀ x, of complex values Aᴴ x, for methods that need it; has_transpose() may say no to
///                          that
///   apply(x, y, work)      hands rows of y on as soon as they are there, each once (row_work.hpp), from parts() parts
///   start_apply(x, y)      returns with y's last parts in flight
///   residual(b, x, r)      r = b − A x with sums in twice the precision, for verification near rounding
///   norm_bound()           no less than ‖ |A| ‖₂: what tells when that is; without it, it always is
///   as_diagonal()          where its diagonal is, in the memory of vectors, where it is nothing else: a group may take
///                          it up then; null: it is no such operator
///   within_kernels()       what a loop that runs on the device itself knows of it (device/one_kernel.hpp); null: none
///   varies()               whether it depends on x, as a preconditioner: only flexible methods take it then
///   local_rows()           how many rows this rank has, checked against b's
///   prepare_powers(h), apply_powers(…)  several products for one exchange (CsrMatrix)
///   in_single()            the same on vectors in single precision, an OwnedOperator<Single<T>> with this one's values
///                          of now, asked for anew in each solve; without an operator in it there is none
///
/// Its type is forgotten here, so that a method is compiled once. Holds a pointer to it.
///
/// An operator on real vectors alone is one on complex vectors, too: on those in pairs (multivector.hpp).
template <class T>
class AnyOperator {
    template <class Op>
    static constexpr bool on_real_vectors = is_complex<T> && requires(const Op& op, MultiVector<real_of<T>> v) {
        op.apply(v, v);
    } && !requires(const Op& op, MultiVector<T> v) { op.apply(v, v); };

public:
    AnyOperator(Identity = {}) {}
    /// A temporary would be gone before it is used: give it a name.
    template <class Op>
        requires std::is_class_v<Op>
    AnyOperator(const Op&& op) = delete;
    template <class Op>
        requires(std::is_class_v<Op> && on_real_vectors<Op>)
    AnyOperator(const Op& op)
        : op_(&op),
          apply_([](const void* self, MultiVector<T> x, MultiVector<T> y) {
              static_cast<const Op*>(self)->apply(in_pairs(x), in_pairs(y));
          }),
          bytes_(
              [](const void* self, int m) { return static_cast<double>(static_cast<const Op*>(self)->bytes(2 * m)); }) {
        using X = real_of<T>;
        if constexpr (requires { op.varies(); }) varies_ = op.varies();
        if constexpr (requires { op.local_rows(); }) local_rows_ = op.local_rows();
        if constexpr (requires(MultiVector<X> v) { Pending(op.start_apply(v, v)); })
            start_apply_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
                return static_cast<const Op*>(self)->start_apply(in_pairs(x), in_pairs(y));
            };
        bool exact = true;
        if constexpr (requires { op.has_residual(); }) exact = op.has_residual();
        take_norm_bound<Op>();
        if constexpr (requires(MultiVector<X> v) { op.residual(v, v, v); })
            if (exact)
                residual_ = [](const void* self, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
                    static_cast<const Op*>(self)->residual(in_pairs(b), in_pairs(x), in_pairs(r));
                };
        if constexpr (requires {
                          { op.in_single() } -> std::same_as<OwnedOperator<Single<X>>>;
                      })
            in_single_ = [](const void* self) {
                const auto single =
                    std::make_shared<OwnedOperator<Single<X>>>(static_cast<const Op*>(self)->in_single());
                using OnReal = AnyOperator<Single<X>>;
                return single->op ? owned<Single<T>>(std::shared_ptr<OnReal>(single, &single->op))
                                  : OwnedOperator<Single<T>>{};
            };
        bool transpose = true;
        if constexpr (requires { op.has_transpose(); }) transpose = op.has_transpose();
        if constexpr (requires(MultiVector<X> v) { op.apply_transpose(v, v); })
            if (transpose)
                apply_transpose_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
                    static_cast<const Op*>(self)->apply_transpose(in_pairs(x), in_pairs(y));
                };
    }
    template <class Op>
        requires(std::is_class_v<Op> && !on_real_vectors<Op>)
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
        if constexpr (requires { op.varies(); }) varies_ = op.varies();
        if constexpr (requires { op.as_diagonal(); }) diagonal_ = op.as_diagonal();
        if constexpr (requires { op.within_kernels(); }) within_kernels_ = op.within_kernels();
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
        take_norm_bound<Op>();
        if constexpr (requires(MultiVector<T> v) { op.residual(v, v, v); })
            residual_ = [](const void* self, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
                static_cast<const Op*>(self)->residual(b, x, r);
            };
        if constexpr (OnHost<T> && requires { op.in_single(); }) {
            static_assert(
                std::same_as<decltype(op.in_single()), OwnedOperator<Single<T>>>,
                "in_single() gives an OwnedOperator<float>, of a complex operator OwnedOperator<std::complex<float>>");
            in_single_ = [](const void* self) { return static_cast<const Op*>(self)->in_single(); };
        }
        bool transpose = true;
        if constexpr (requires { op.has_transpose(); }) transpose = op.has_transpose();
        if constexpr (requires(MultiVector<T> v) { op.apply_transpose(v, v); })
            if (transpose)
                apply_transpose_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
                    static_cast<const Op*>(self)->apply_transpose(x, y);
                };
    }

    /// An operator on complex vectors, for real ones in pairs (multivector.hpp). Holds a pointer to it.
    static AnyOperator on_pairs(const AnyOperator<std::complex<T>>& op) {
        using Op = AnyOperator<std::complex<T>>;
        AnyOperator pairs;
        if (!op) return pairs;
        pairs.op_ = &op;
        pairs.apply_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
            static_cast<const Op*>(self)->apply(from_pairs(x), from_pairs(y));
        };
        pairs.apply_with_ = [](const void* self, MultiVector<T> x, MultiVector<T> y, const RowWork& work) {
            static_cast<const Op*>(self)->apply(from_pairs(x), from_pairs(y), work);
        };
        pairs.parts_ = op.parts();
        if (op.has_transpose())
            pairs.apply_transpose_ = [](const void* self, MultiVector<T> x, MultiVector<T> y) {
                static_cast<const Op*>(self)->apply_transpose(from_pairs(x), from_pairs(y));
            };
        if (op.has_residual())
            pairs.residual_ = [](const void* self, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
                static_cast<const Op*>(self)->residual(from_pairs(b), from_pairs(x), from_pairs(r));
            };
        pairs.template take_norm_bound<Op>();
        pairs.bytes_ = [](const void* self, int m) { return static_cast<const Op*>(self)->bytes(m); };
        pairs.local_rows_ = op.local_rows();
        pairs.varies_ = op.varies();
        pairs.in_single_ = [](const void* self) {
            using Pairs = AnyOperator<Single<T>>;
            const auto single =
                std::make_shared<OwnedOperator<std::complex<Single<T>>>>(static_cast<const Op*>(self)->in_single());
            return OwnedOperator<Single<T>>{Pairs::on_pairs(single->op), single};
        };
        return pairs;
    }

    explicit operator bool() const { return op_ != nullptr; }
    void apply(MultiVector<T> x, MultiVector<T> y) const { apply_(op_, x, y); }
    /// The same, but y is complete only when what is returned has been waited for.
    Pending start_apply(MultiVector<T> x, MultiVector<T> y) const {
        if (start_apply_) return start_apply_(op_, x, y);
        apply(x, y);
        return {};
    }
    /// r = b − A x in twice the precision, where the operator has that.
    bool has_residual() const { return residual_; }
    void residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const { residual_(op_, b, x, r); }
    double norm_bound() const { return norm_bound_ ? norm_bound_(op_) : INFINITY; }
    /// The operator for vectors in single precision, where it has that; else one that is none.
    OwnedOperator<Single<T>> in_single() const;
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
    bool varies() const { return varies_; }
    T* as_diagonal() const { return diagonal_; }
    const void* within_kernels() const { return within_kernels_; }
    double bytes(int columns) const { return op_ ? bytes_(op_, columns) : 0; }
    /// Rows on this rank, where the operator has a local_rows() that tells.
    std::optional<Index> local_rows() const { return local_rows_; }

private:
    template <class Op>
    void take_norm_bound() {
        if constexpr (requires(const Op& op) { op.norm_bound(); })
            norm_bound_ = [](const void* self) { return static_cast<const Op*>(self)->norm_bound(); };
    }

    const void* op_ = nullptr;
    void (*apply_)(const void*, MultiVector<T>, MultiVector<T>) = nullptr;
    void (*apply_with_)(const void*, MultiVector<T>, MultiVector<T>, const RowWork&) = nullptr;
    int parts_ = 0;
    Pending (*start_apply_)(const void*, MultiVector<T>, MultiVector<T>) = nullptr;
    void (*apply_transpose_)(const void*, MultiVector<T>, MultiVector<T>) = nullptr;
    void (*residual_)(const void*, MultiVector<T>, MultiVector<T>, MultiVector<T>) = nullptr;
    double (*norm_bound_)(const void*) = nullptr;
    OwnedOperator<Single<T>> (*in_single_)(const void*) = nullptr;
    double (*bytes_)(const void*, int) = nullptr;
    int (*prepare_powers_)(const void*, int) = nullptr;
    void (*apply_powers_)(const void*, const Panel<T>&, int, int, const SmallMatrix<T>&) = nullptr;
    std::optional<Index> local_rows_;
    bool varies_ = false;
    T* diagonal_ = nullptr;
    const void* within_kernels_ = nullptr;
};

template <class T>
OwnedOperator<Single<T>> AnyOperator<T>::in_single() const {
    return in_single_ ? in_single_(op_) : OwnedOperator<Single<T>>{};
}
template <class T, class Op>
OwnedOperator<T> owned(std::shared_ptr<Op> op) {
    return {AnyOperator<T>(*op), op};
}

}  // namespace stretto
