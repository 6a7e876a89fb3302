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
class Converted {
public:
    Converted(const AnyOperator<double>& A, Index rows, int columns, int threads)
        : A_(A), threads_(threads), x_(rows, columns, 1, threads), y_(rows, columns, 1, threads) {}
    void apply(MultiVector<float> x, MultiVector<float> y) const { convert_around(x, y, &AnyOperator<double>::apply); }
    void apply_transpose(MultiVector<float> x, MultiVector<float> y) const {
        convert_around(x, y, &AnyOperator<double>::apply_transpose);
    }
    bool has_transpose() const { return A_.has_transpose(); }
    double bytes(int columns) const;
    bool varies() const { return A_.varies(); }

private:
    using Product = void (AnyOperator<double>::*)(MultiVector<double>, MultiVector<double>) const;
    void convert_around(MultiVector<float> x, MultiVector<float> y, Product product) const;

    const AnyOperator<double>& A_;
    int threads_;
    Workspace<double> x_, y_;
};

/// Iterative refinement (Moler 1967): runs loops of methods on vectors in single precision, each on what is left of the
/// system, A d = b − A x, in the units of that residual. b − A x and x are the driver's, in double, and so are all
/// scalars of a method.
class InSingle {
public:
    /// Collective. Beside the driver's space. A and M are held by reference. `vectors`: of the methods that may run.
    /// `transposes`: whether one needs products with Aᵀ and M⁻ᵀ.
    InSingle(Space<double>& V, const AnyOperator<double>& A, const AnyOperator<double>& M, int vectors, bool transposes,
             Columns& standing, Recorder<double>& recorder, Kept& kept);

    /// Collective. A new solve: follows A and M to their values.
    void begin();
    /// x += d of a run of this method that begins from r = b − A x. It ends columns at their targets, or where single
    /// precision may have nothing more to say about r.
    void run(const Method& method, const Options& options, bool fresh_shadow, MultiVector<double> r,
             MultiVector<double> x);
    int vectors_taken() const { return taken_; }

private:
    /// What single precision has to say of a residual: below this part of it b − A x is to be recomputed.
    static constexpr double aim = 1e-5;

    const AnyOperator<double>&A_in_double_, &M_in_double_;
    Columns& columns_;
    Space<float> V_;
    Workspace<float> own_;
    MultiVector<float> b_, d_;
    std::optional<Converted> A_converted_, M_converted_;
    OwnedOperator<float> A_, M_;
    Verdict<float> stop_;
    bool transposes_;
    int taken_ = 0;
};

}  // namespace stretto
