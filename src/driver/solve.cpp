// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/driver/solve.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/driver/registry.hpp"

namespace stretto {
namespace {

// A run that gains less than this hands over to the classic method of the family, unless it broke down: that is bad
// luck which another shadow vector may end, so many times.
constexpr double good_gain = 10;
constexpr int breakdowns = 3;
// Runs of the classic method that gain less than this use up a column's credit; then it has stagnated.
constexpr double least_gain = 2;
constexpr int credit = 6;
constexpr int price_of_passing = 4;  // without a gain, where the recurrence passed: the limit of double precision
constexpr int price_of_ending = 2;
constexpr int price_of_breakdown = 1;
// The recurrence aims a little below the tolerance, so that rounding does not fail the check of the true residual …
constexpr double aim = 0.99;
// … but not below what is left of ‖b‖ in double precision, where the true residual cannot follow.
constexpr double lowest_aim = std::numeric_limits<double>::epsilon() / 10;
// Norms whose squares, and the squares of a millionth of a billionth of them, double precision can hold.
constexpr double smallest_norm = 1e-120, largest_norm = 1e140;

/// The largest |b| of each column over all ranks; infinite where a value is not finite.
template <class T>
std::vector<double> largest_values(const Comm& comm, MultiVector<T> b) {
    std::vector<double> largest(static_cast<std::size_t>(b.columns()), 0);
    for (Index row = 0; row < b.rows(); ++row)
        for (int j = 0; j < b.columns(); ++j) {
            auto& value = largest[static_cast<std::size_t>(j)];
            const double size = std::abs(b(row, j));
            value = std::isfinite(size) ? std::max(value, size) : INFINITY;
        }
    MPI_Allreduce(MPI_IN_PLACE, largest.data(), b.columns(), MPI_DOUBLE, MPI_MAX, comm.mpi());
    return largest;
}

template <class T>
void copy_column(MultiVector<T> from, MultiVector<T> to, int column) {
    for (Index row = 0; row < from.rows(); ++row) to(row, column) = from(row, column);
}

/// Runs a method under the contract that what is called converged is: verifies, restarts, falls back, gives
/// up.
template <class T>
class Driver {
public:
    Driver(Comm& comm, const Spec& spec, AnyOperator<T> A, AnyOperator<T> M, MultiVector<T> b, MultiVector<T> x,
           const SolveOptions& options)
        : spec_(spec),
          method_(&find_method(spec.name)),
          method_options_(spec, method_->options),
          options_(options),
          V_(comm, b.rows(), b.columns(), vectors(M), options.threads, options.formulation),
          A_(A, V_, Kernel::apply),
          M_(M, V_, Kernel::precondition),
          own_(b.rows(), b.columns(), method_->hands_over ? 3 : 2, options.threads),
          b_(b),
          x_(x),
          r_(own_.take()),
          best_x_(own_.take()),
          columns_(static_cast<std::size_t>(b.columns())),
          result_columns_(columns_.size()),
          stop_(V_, stop_columns(largest_values(comm, b)), options.max_iterations) {
        V_.watch(options.interrupt);
        if (method_->hands_over) stop_.keep_direction(own_.take());
        if (options.history) stop_.keep_history();
        if (options.true_history)
            stop_.keep_true_history([this] {
                const auto safeguard = V_.ledger().enter(Phase::safeguard);
                return true_squares();
            });
        if (options.progress) stop_.report_to(options.progress);
    }

    Result run() {
        const auto recording = V_.comm().record_in(V_.ledger());
        V_.ledger().trace_to(options_.trace);
        verify();
        bool stuck = false;
        while (unfinished() && !stop_.out_of_iterations() && !V_.interrupted()) {
            attempt(stuck);
            stuck = assess();
        }
        return finish();
    }

private:
    using State = typename Stop<T>::State;

    struct Column {
        bool finished = false;
        double residual = INFINITY;  ///< true, absolute, of the iterate in best_x_
        double last = INFINITY;      ///< the same of the last attempt
        double gain = 1;             ///< of the last attempt over the best before
        int used = 0;                ///< of its credit
        int breakdowns = 0;          ///< in a row
    };

    /// What goes on where this method cannot.
    static const Method& next(const Method& method, const Options& given) {
        return find_method(method.hands_over ? given.choice("refuge") : method.classic);
    }

    /// The most that is stored at once by a method or those that may go on after it.
    int vectors(const AnyOperator<T>& M) const {
        const auto stored = [&](const Method& method) {
            if (method.vectors_with) return method.vectors_with(options_for(spec_, method), static_cast<bool>(M));
            return M ? method.vectors_preconditioned : method.vectors;
        };
        const Method& after = next(*method_, method_options_);
        return std::max({stored(*method_), stored(after), stored(find_method(after.classic))});
    }

    std::vector<typename Stop<T>::Column> stop_columns(const std::vector<double>& largest) {
        auto [bb] = V_.start(dot(b_, b_)).wait();
        std::vector<typename Stop<T>::Column> targets(columns_.size());
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            const double norm = std::sqrt(bb[static_cast<int>(j)]);
            result_columns_[j].norm_b = norm;
            targets[j].norm_b = norm > 0 ? norm : 1;
            targets[j].target = std::max(aim * tolerance(norm), lowest_aim * norm);
            if (largest[j] == 0) {
                V_.clear_column(x_, static_cast<int>(j));
            } else if (!(largest[j] > smallest_norm && largest[j] < largest_norm)) {
                columns_[j].finished = true;
                result_columns_[j].status = Status::not_finite;
                early_events_.push_back(
                    {0, fmt::format("column {}: the largest |b| is {:.3g}; its square is outside the range of double "
                                    "precision: scale b",
                                    j + 1, largest[j])});
            }
        }
        return targets;
    }
    double tolerance(double norm_b) const { return std::max(options_.rtol * norm_b, options_.atol); }

    bool unfinished() const {
        return std::ranges::any_of(columns_, [](const Column& column) { return !column.finished; });
    }

    void attempt(bool stuck) {
        std::vector<double> start;
        for (const auto& column : columns_) start.push_back(column.finished ? NAN : column.residual);
        stop_.begin(method_options_, start, stuck);
        const auto began = Clock::now();
        {
            const auto watch = V_.ledger().time(Kernel::small);
            method_->run(V_, A_, M_, b_, x_, stop_);
        }
        if (options_.trace) options_.trace->add_method(method_->name, began, Clock::now());
        vectors_ = std::max(vectors_, V_.workspace().taken());
        V_.take_back(true);
        verify();
    }

    /// ‖b − Ax‖², which leaves b − Ax in r_.
    Scalars<T> true_squares() {
        A_.apply(x_, r_);
        auto [rr] = V_.start(r_ <<= b_ - r_, dot(r_, r_)).wait();
        return rr;
    }

    /// Recomputes b − Ax; a column within its tolerance has converged, one that got worse goes back to its
    /// best x.
    void verify() {
        const auto rr = true_squares();
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = columns_[static_cast<std::size_t>(j)];
            if (column.finished) continue;
            const double residual = std::sqrt(static_cast<double>(rr[j]));
            column.last = residual;
            column.gain = residual > 0 ? column.residual / residual : residual == 0 ? INFINITY : 0;  // NaN: none
            if (residual < column.residual) {
                column.residual = residual;
                copy_column(x_, best_x_, j);
            } else if (!handed_over(j, residual)) {
                copy_column(best_x_, x_, j);
            }
            if (column.residual <= tolerance(result_columns_[static_cast<std::size_t>(j)].norm_b))
                end(j, Status::converged);
        }
    }

    /// Whether the next method goes on from x, not from the best one: the residual of CG may grow on the way to a
    /// better x, but it must be about what the recurrence believes.
    bool handed_over(int j, double residual) const {
        const auto& run = stop_.columns()[static_cast<std::size_t>(j)];
        return run.state == State::handed_over && residual <= 10 * run.recursive;
    }

    /// Decides, after an attempt, what columns end and whether to go on with the classic method. True: some
    /// column got nowhere.
    bool assess() {
        bool stuck = false, asked = false, hand_over = false;
        const bool classic = method_->name == method_->classic;
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = columns_[static_cast<std::size_t>(j)];
            if (column.finished) continue;
            const auto& run = stop_.columns()[static_cast<std::size_t>(j)];
            explain(j, run);
            const bool poor = !(column.gain >= good_gain || run.state == State::handed_over);
            const bool broke_down = run.state == State::broken && run.reason == Status::breakdown;
            column.breakdowns = poor && broke_down ? column.breakdowns + 1 : 0;
            stuck = stuck || poor;
            asked = asked || run.state == State::handed_over;
            hand_over = hand_over || (poor && (!broke_down || column.breakdowns >= breakdowns));
            if (!classic) continue;
            const int price = broke_down                   ? price_of_breakdown
                              : run.state == State::passed ? price_of_passing
                                                           : price_of_ending;
            column.used = column.gain >= least_gain ? 0 : column.used + price;
            if (column.used >= credit && broke_down && !stop_.lenient()) {
                stop_.be_lenient();
                stop_.event("going on past what nearly vanishes");
                column.used = 0;
            }
            if (column.used >= credit) end(j, run.state == State::broken ? run.reason : Status::stagnated);
        }
        if ((asked || (hand_over && !classic)) && !V_.interrupted() && !stop_.out_of_iterations()) {
            const Method& after = next(*method_, method_options_);
            stop_.event(asked ? fmt::format("going on with {}", after.name)
                              : fmt::format("{} gained less than a factor of {}: going on with {}", method_->name,
                                            good_gain, after.name));
            if (!fell_back_) per_iteration_ = per_iteration();
            fell_back_ = true;
            method_ = &after;
            method_options_ = options_for(spec_, *method_);
        }
        return stuck;
    }

    PerIteration per_iteration() const {
        const int steady = stop_.steady_iterations();
        if (steady == 0) return PerIteration(V_.ledger().at(Phase::iteration), stop_.iteration());
        PerIteration result(stop_.steady(), steady);
        result.wall = stop_.steady_seconds() / steady;
        return result;
    }

    static std::string_view reason(Status status) {
        switch (status) {
            case Status::indefinite_matrix: return "pᵀAp ≤ 0";
            case Status::indefinite_preconditioner: return "rᵀM⁻¹r ≤ 0";
            case Status::not_finite: return "NaN or Inf";
            default: return "a denominator vanished or nearly so";
        }
    }

    /// Says how a run ended that did not end in convergence.
    void explain(int j, const typename Stop<T>::Column& run) {
        const double residual = columns_[static_cast<std::size_t>(j)].last / run.norm_b;
        const std::string who = V_.width() > 1 ? fmt::format("column {}: ", j + 1) : "";
        const std::string true_one =
            std::isfinite(residual) ? fmt::format("the true residual is {:.2e}", residual) : "x is not finite";
        if (run.state == State::passed)
            stop_.event(fmt::format("{}the recursive residual passed at {:.2e}, {}", who, run.recursive / run.norm_b,
                                    true_one));
        else if (run.state == State::broken)
            stop_.event(run.ended_at, fmt::format("{}{}, {}", who, reason(run.reason), true_one));
        else if (run.state == State::handed_over)
            stop_.event(run.ended_at, fmt::format("{}the basis has drifted, {}", who, true_one));
        else if (run.state == State::stalled)
            stop_.event(run.ended_at, fmt::format("{}the recursive residual has not halved since iteration {}, {}", who,
                                                  run.marked_at, true_one));
    }

    void end(int j, Status status) {
        columns_[static_cast<std::size_t>(j)].finished = true;
        auto& result = result_columns_[static_cast<std::size_t>(j)];
        const auto& run = stop_.columns()[static_cast<std::size_t>(j)];
        result.status = status;
        result.iterations = (run.state == State::active ? stop_.iteration() : run.ended_at) - run.waited;
    }

    Result finish() {
        for (int j = 0; j < V_.width(); ++j)
            if (!columns_[static_cast<std::size_t>(j)].finished)
                end(j, V_.interrupted() ? Status::interrupted : Status::max_iterations);

        Result result;
        result.iterations = stop_.iteration();
        for (int j = 0; j < V_.width(); ++j) {
            if (columns_[static_cast<std::size_t>(j)].last > columns_[static_cast<std::size_t>(j)].residual)
                copy_column(best_x_, x_, j);
            auto& column = result_columns_[static_cast<std::size_t>(j)];
            const auto& run = stop_.columns()[static_cast<std::size_t>(j)];
            const double residual = columns_[static_cast<std::size_t>(j)].residual;
            column.relative_residual = std::isfinite(residual) ? residual / run.norm_b : NAN;
            column.recursive_residual = run.recursive / run.norm_b;
        }
        result.status = Status::converged;
        for (const auto& column : result_columns_)
            if (result.status == Status::converged) result.status = column.status;
        result.columns = std::move(result_columns_);
        result.events = std::move(early_events_);
        std::ranges::move(stop_.take_events(), std::back_inserter(result.events));
        result.history = stop_.take_history();
        result.true_history = stop_.take_true_history();
        result.finished_by = method_->name;
        V_.ledger().trace_to(nullptr);
        result.ledger = V_.ledger();
        result.per_iteration = fell_back_ ? per_iteration_ : per_iteration();
        result.vectors = vectors_;
        return result;
    }

    Spec spec_;
    const Method* method_;
    Options method_options_;
    const SolveOptions& options_;
    Space<T> V_;
    LinearMap<T> A_, M_;
    Workspace<T> own_;
    MultiVector<T> b_, x_, r_, best_x_;
    std::vector<Column> columns_;
    std::vector<ColumnResult> result_columns_;
    std::vector<Event> early_events_;
    Stop<T> stop_;
    int vectors_ = 0;
    bool fell_back_ = false;
    PerIteration per_iteration_;  // of the method asked for, once another has taken over
};

}  // namespace

template <class T>
Result solve(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M,
             MultiVector<T> b, MultiVector<T> x, const SolveOptions& options) {
    const Spec spec = parse_spec(options.method);
    const Method& method = find_method(spec.name);
    (void)Options(spec, method.options);
    agree(comm, [&] {
        if (method.transpose && !(A.has_transpose() && M.has_transpose()))
            throw InputError(fmt::format("{} needs products with {}, which this {} does not have (apply_transpose)",
                                         method.name, A.has_transpose() ? "M⁻ᵀ" : "Aᵀ",
                                         A.has_transpose() ? "preconditioner" : "operator"));
        if (b.rows() != x.rows() || b.columns() != x.columns())
            throw InputError(fmt::format("b is {} × {} on rank {}, x is {} × {}", b.rows(), b.columns(), comm.rank(),
                                         x.rows(), x.columns()));
        for (const auto& op : {A, M})
            if (op.local_rows() && *op.local_rows() != b.rows())
                throw InputError(fmt::format("an operator has {} rows on rank {}, b has {}", *op.local_rows(),
                                             comm.rank(), b.rows()));
        if (b.columns() < 1 || b.columns() > max_columns)
            throw InputError(fmt::format("{} right-hand sides: one solve takes 1 to {}", b.columns(), max_columns));
        if (!(options.rtol >= 0) || !(options.atol >= 0))
            throw InputError(
                fmt::format("tolerances must not be negative: rtol = {}, atol = {}", options.rtol, options.atol));
        if (options.max_iterations < 0)
            throw InputError(fmt::format("the iteration limit is {}", options.max_iterations));
        if (options.threads < 1) throw InputError(fmt::format("{} threads: at least one is needed", options.threads));
    });
    if (all_max(comm, Global{b.columns()}) != all_min(comm, Global{b.columns()}))
        throw InputError("the ranks disagree on the number of right-hand sides");

    const auto start = Clock::now();
    Result result = Driver<T>(comm, spec, A, M, b, x, options).run();
    result.solve_seconds = all_max(comm, to_seconds(Clock::now() - start));
    return result;
}

template Result solve(Comm&, AnyOperator<double>, AnyOperator<double>, MultiVector<double>, MultiVector<double>,
                      const SolveOptions&);

}  // namespace stretto
