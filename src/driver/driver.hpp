// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "in_single.hpp"
#include "projection.hpp"
#include "stretto/convergence/columns.hpp"
#include "stretto/convergence/kept.hpp"
#include "stretto/convergence/verdict.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/solver.hpp"

namespace stretto {

/// Aᵀ, or M⁻ᵀ.
template <class T>
class Transposed {
public:
    explicit Transposed(AnyOperator<T> A) : A_(A) {}
    void apply(MultiVector<T> x, MultiVector<T> y) const { A_.apply_transpose(x, y); }
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const { A_.apply(x, y); }
    double bytes(int columns) const { return A_.bytes(columns); }

private:
    AnyOperator<T> A_;
};

/// The loop of a method for vectors on a device, compiled apart.
template <class T>
MethodText<T> device_text(std::string_view method);
/// The loop of a method.
template <class T>
MethodText<T> text_of(const Method& method) {
    if constexpr (is_complex<T>)
        return method.complex.run;
    else if constexpr (OnHost<T>)
        return method.run;
    else
        return device_text<T>(method.name);
}

/// Runs methods under the contract that what is called converged is: verifies, restarts, falls back, gives up.
template <class T>
class Driver {
public:
    Driver(Comm& comm, const MethodChoice& asked, AnyOperator<T> A, AnyOperator<T> M, Index rows, int columns,
           const SolveOptions& options, int together = 1);

    const Result& run(MultiVector<const T> b, MultiVector<T> x, bool transposed);
    void set_tolerances(double rtol, double atol, int max_iterations) {
        options_.rtol = rtol;
        options_.atol = atol;
        options_.max_iterations = max_iterations;
    }
    void forget() { kept_.forget(); }

private:
    using State = Columns::State;

    /// What the driver knows of a column over all attempts.
    struct Column {
        /// Where its best iterate is.
        enum Place { in_x, in_store, zero };
        bool finished = false;
        double residual = std::numeric_limits<double>::infinity();  ///< true, absolute, of the best iterate
        double last = std::numeric_limits<double>::infinity();      ///< the same of the last attempt
        double gain = 1;                                            ///< of the last attempt over the best before
        int used = 0;                                               ///< of its credit
        int breakdowns = 0;                                         ///< in a row
        Place best = zero;                                          ///< until a residual was seen
        double goal = 0;                                            ///< of the residual, for the status `reached` says
        double outside = 0;    ///< ‖b − b̂‖, b̂ the part of b in the range of A, where it is known: A x = b̂ is solved
        double norm = 1;       ///< ‖b̂‖, or 1 where that is 0
        bool in_range = true;  ///< b is, as far as the tolerance can tell
    };
    Column& at(int j) { return progress_[static_cast<std::size_t>(j)]; }
    ColumnResult& result_of(int j) { return result_.columns[static_cast<std::size_t>(j)]; }

    /// The first vector that a method takes: b − A x stands there before and after it runs.
    MultiVector<T> residual_vector() { return V_.workspace()[0]; }
    const LinearMap<T>& A() const { return transposed_ ? At_ : A_; }
    const LinearMap<T>& M() const { return transposed_ ? Mt_ : M_; }

    int most_vectors(bool preconditioned) const;
    /// What the methods that may run need of the space; of one in single precision the residual alone.
    int vectors_at_first(bool preconditioned, bool in_single) const {
        return in_single ? 1 : most_vectors(preconditioned);
    }
    void run_in_double(bool stuck);
    void leave_single();
    bool gained_little() const;
    double tolerance(double norm_b) const { return std::max(options_.rtol * norm_b, options_.atol); }
    bool unfinished() const { return !std::ranges::all_of(progress_, &Column::finished); }
    bool interrupted() const { return V_.interrupted() || recorder_.stopped(); }

    void begin(const std::string& complaint);
    void go_on_from(const Snapshot& from, const std::string& complaint);
    Scalars<T> first_residual(const std::string& complaint);
    void set_targets(const Scalars<T>& bb);
    void set_target(int j, double goal, double norm);
    /// What x is kept free of, and what is orthogonal to the range.
    const Projection<T>& null_space() const { return transposed_ ? left_null_space_ : null_space_; }
    const Projection<T>& orthogonal_to_range() const { return transposed_ ? null_space_ : left_null_space_; }
    Scalars<T> project();
    void attempt(bool stuck);
    void store_best();
    void restore_best(int j);
    void verify();
    bool believes();
    Scalars<T> true_squares(MultiVector<T> r);
    Scalars<T> trusted_squares(MultiVector<T> r);
    Scalars<T> squares_in_twice_the_precision(MultiVector<T> r);
    void refuse_infinite(Scalars<T>& xx, Scalars<T>& rr);
    bool rounding_decides(const Scalars<T>& xx, const Scalars<T>& rr) const;
    bool all_passed() const;
    void take(const Scalars<T>& rr);
    bool handed_over(int j, double residual) const;
    bool assess();
    void go_on_with(const Method& method);
    PerIteration per_iteration() const;
    void explain(int j, const Columns::Column& run);
    std::optional<Status> reached(const Column& column, double norm_b) const;
    void end(int j, Status status);
    const Result& finish();

    Spec spec_;
    const Method* asked_;
    Options asked_options_;
    SolveOptions options_;
    AnyOperator<T> A_given_, M_given_;
    Transposed<T> A_transposed_, M_transposed_;
    Space<T> V_;
    LinearMap<T> A_, M_, At_, Mt_;
    Workspace<T> own_;
    Projection<T> null_space_, left_null_space_;
    MultiVector<T> best_x_, projected_b_, true_r_, b_, x_;
    std::vector<Column> progress_;
    Columns columns_;
    Recorder<Number<T>> recorder_;
    Kept kept_;
    Verdict<T> stop_;
    std::unique_ptr<InSingle<Number<T>>> single_;
    Result result_;

    // Of the solve under way.
    Scalars<T> squares_;  // ‖b − Ax‖² where residual_is_known_
    const Method* method_;
    Options method_options_;
    bool transposed_ = false, x_is_zero_ = false, residual_is_known_ = false, fell_back_ = false;
    bool in_single_ = false, resumes_ = false;
    bool poisoned_ = false;       // the workspace may hold values that are not finite
    PerIteration per_iteration_;  // of the method asked for, once another has taken over
};

}  // namespace stretto
