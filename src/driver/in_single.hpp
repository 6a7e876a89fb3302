// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "stretto/convergence/columns.hpp"
#include "stretto/convergence/kept.hpp"
#include "stretto/convergence/verdict.hpp"
#include "stretto/methods/method.hpp"

namespace stretto {

/// A on vectors in single precision where it has no such products itself: they are converted on the way in and out.
template <class T>
class Converted {
public:
    Converted(const AnyOperator<T>& A, Index rows, int columns, int threads)
        : A_(A), threads_(threads), x_(rows, columns, 1, threads), y_(rows, columns, 1, threads) {}
    void apply(MultiVector<Single<T>> x, MultiVector<Single<T>> y) const {
        convert_around(x, y, &AnyOperator<T>::apply);
    }
    void apply_transpose(MultiVector<Single<T>> x, MultiVector<Single<T>> y) const {
        convert_around(x, y, &AnyOperator<T>::apply_transpose);
    }
    bool has_transpose() const { return A_.has_transpose(); }
    double bytes(int columns) const;
    bool varies() const { return A_.varies(); }

private:
    using Product = void (AnyOperator<T>::*)(MultiVector<T>, MultiVector<T>) const;
    void convert_around(MultiVector<Single<T>> x, MultiVector<Single<T>> y, Product product) const;

    const AnyOperator<T>& A_;
    int threads_;
    Workspace<T> x_, y_;
};

/// Iterative refinement (Moler 1967): runs loops of methods on vectors in single precision, each on what is left of the
/// system, A d = b − A x, in the units of that residual. b − A x and x are the driver's, in double, and so are all
/// scalars of a method.
template <class T>
class InSingle {
public:
    /// Collective. Beside the driver's space. A and M are held by reference. `vectors`: of the methods that may run.
    /// `transposes`: whether one needs products with Aᵀ and M⁻ᵀ.
    InSingle(Space<T>& V, const AnyOperator<T>& A, const AnyOperator<T>& M, int vectors, bool transposes,
             Columns& standing, Recorder<T>& recorder, Kept& kept);

    /// Collective. A new solve: follows A and M to their values.
    void begin();
    /// x += d of a run of this method that begins from r = b − A x. It ends columns at their targets, or where single
    /// precision may have nothing more to say about r.
    void run(const Method& method, const Options& options, bool fresh_shadow, MultiVector<T> r, MultiVector<T> x);
    int vectors_taken() const { return taken_; }

private:
    /// What single precision has to say of a residual: below this part of it b − A x is to be recomputed.
    static constexpr double aim = 1e-5;

    using S = Single<T>;

    const AnyOperator<T>&A_in_double_, &M_in_double_;
    Columns& columns_;
    Space<S> V_;
    Workspace<S> own_;
    MultiVector<S> b_, d_;
    std::optional<Converted<T>> A_converted_, M_converted_;
    OwnedOperator<S> A_, M_;
    Verdict<S> stop_;
    bool transposes_;
    int taken_ = 0;
};

}  // namespace stretto
