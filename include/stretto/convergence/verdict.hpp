// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/convergence/checkpoints.hpp"
#include "stretto/convergence/columns.hpp"
#include "stretto/convergence/kept.hpp"
#include "stretto/convergence/recorder.hpp"
#include "stretto/convergence/residual.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/operators/linear_map.hpp"

namespace stretto {

/// When to leave the loop of a method, and everything about it that is not in the paper: tolerances, limits,
/// breakdowns, stagnation, columns that end before others. One line in the loop:
///
///     if (stop(k, rr)) break;
///
/// A column that ends is frozen; the loop ends when none is left. What the recurrence believes is only a
/// hint: the driver recomputes the residual before it says `converged`.
template <class T>
class Verdict {
public:
    using State = Columns::State;

    Verdict(Space<T>& V, Columns& columns, Recorder<Number<T>>& recorder, Kept& kept)
        : V_(V), columns_(columns), recorder_(recorder), kept_(kept), checkpoints_(V, columns) {}

    /// x has been updated k times in this run of the loop; rr are the squared norms of its recursive
    /// residuals. True: leave. Called once per iteration, at the same place of each.
    [[nodiscard]] bool operator()(int k, const Scalars<T>& rr) {
        columns_.go_to(k);
        recorder_.sample_iteration();
        if (k > 0) recorder_.measure_true();
        classify(rr);
        if (k > 0) recorder_.iteration_done();
        between_iterations();
        return leave();
    }

    /// Whether the loop will end where it says these squares next, since all columns pass: nothing need be started that
    /// only another iteration would wait for.
    bool passes(const Scalars<T>& rr) const {
        for (int j = 0; j < V_.width(); ++j)
            if (active(j) && !(double{real_part(rr[j])} <= columns_[j].target * columns_[j].target)) return false;
        return true;
    }

    /// For methods that update x only when they restart: rr is what the recurrence believes after k iterations of this
    /// run. Ends no column. True: restart, for no column needs more or this was the last iteration.
    [[nodiscard]] bool estimated(int k, const Scalars<T>& rr) {
        columns_.go_to(k);
        bool needed = false;
        for (int j = 0; j < V_.width(); ++j) {
            if (!above_target(j)) continue;
            auto& column = columns_[j];
            column.recursive = std::sqrt(double{real_part(rr[j])});
            column.ended_at = columns_.iteration();
            needed = needed || above_target(j);
        }
        recorder_.repeat_true();
        recorder_.iteration_done();
        return !needed || out_of_time();
    }
    /// Whether a column needs more of this cycle.
    bool above_target(int j) const {
        const auto& column = columns_[j];
        return column.state == State::active && column.recursive > column.target;
    }
    /// x has been updated, rr are the squares of ‖b − Ax‖, recomputed. True: leave.
    [[nodiscard]] bool restarted(const Scalars<T>& rr) {
        constexpr double least_gain = 1e-4;  // less than that, twice in a row, is none
        recorder_.correct_true(rr);
        if (!std::exchange(has_restarted_, true)) restarted_ = V_.scalars();
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = columns_[j];
            if (column.state != State::active) continue;
            restarted_[j] = rr[j];
            const double residual = std::sqrt(double{real_part(rr[j])});
            const int ended_at = column.ended_at;
            const bool believed = column.recursive < (1 - least_gain) * column.restart;
            column.idle = residual < (1 - least_gain) * column.restart ? 0 : column.idle + 1;
            column.restart = residual;
            column.mark_at(residual, columns_.iteration());
            if (!std::isfinite(residual)) {
                end(j, State::broken, Status::not_finite);
            } else if (residual <= column.target) {
                end(j, State::passed);
                column.ended_at = std::max(ended_at, columns_.run_start());
            } else if (column.idle == 2) {
                end(j, believed ? State::attained : State::stalled);
            } else if (column.out_of_patience(columns_.iteration(), patience_)) {
                end(j, State::stalled);
            }
            column.recursive = std::isfinite(residual) ? residual : column.recursive;
        }
        between_iterations();
        return leave();
    }
    /// Counts what a method did in its last n iterations, since `start`, when its counts were `before`.
    void count(const Counts& before, int n, Clock::time_point start) { recorder_.count(before, n, start); }

    /// Ends the columns whose value is not positive. True: none is left.
    [[nodiscard]] bool unless_positive(const Scalars<T>& value, Status reason) {
        return end_unless([](auto v, int) { return real_part(v) > 0; }, value, reason);
    }
    /// Ends the columns whose value is zero. True: none is left.
    [[nodiscard]] bool unless_nonzero(const Scalars<T>& value) {
        return end_unless([](auto v, int) { return v != Number<T>{}; }, value, Status::breakdown);
    }
    /// Ends the columns whose value is next to nothing (option `breakdown`) of what it could be, that is `scale`, and
    /// so has lost most of its digits. True: none is left.
    [[nodiscard]] bool unless_nonzero(const Scalars<T>& value, const Scalars<T>& scale) {
        const double vanishing = option("breakdown");
        const auto holds = [&](auto v, int j) {
            return std::abs(v) > (columns_[j].lenient ? 0 : vanishing * real_part(scale[j]));
        };
        return end_unless(holds, value, Status::breakdown);
    }

    /// Ends the columns whose value is not positive: what the recurrence says next is not to be trusted, but x and its
    /// last direction p are. The driver goes on from them with another method. True: none is left.
    [[nodiscard]] bool hand_over_unless(const Scalars<T>& value, MultiVector<T> p) {
        for (int j = 0; j < V_.width(); ++j) {
            if (!active(j) || real_part(value[j]) > 0) continue;
            V_.copy_column(p, direction_, j);
            has_direction_ = true;
            end(j, State::handed_over);
        }
        return ended();
    }
    /// Whether the recursive residual r has left the true one, b − A x, by more than `gap`·‖r‖ in some column: the
    /// criterion for a residual replacement. Where three checks in a row find it to be more than half of r and the
    /// residual has not halved since the first, the column ends. `scratch` is overwritten; `meanwhile()` hides the
    /// reduction, and a gap below `of_target` times the target is let be: it keeps no column from passing.
    template <class Work>
    [[nodiscard]] bool residual_gap(const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r,
                                    MultiVector<T> scratch, double of_target, Work meanwhile) {
        residual(V_, A, b, x, scratch);
        auto dots = V_.start(scratch <<= scratch - r, dot(scratch, scratch), dot(r, r));
        meanwhile();
        const auto [gap_squares, squares] = dots.wait();
        const double tolerable = option("gap");
        bool replace = false;
        for (int j = 0; j < V_.width(); ++j) {
            if (!active(j)) continue;
            auto& column = columns_[j];
            const double harmless = of_target * column.target;
            const Real<T> gap = real_part(gap_squares[j]), rr = real_part(squares[j]);
            replace = replace || (gap > tolerable * tolerable * rr && gap > harmless * harmless);
            if (column.lose(gap, rr, columns_.iteration())) end(j, State::attained);
        }
        return replace;
    }

    [[nodiscard]] bool residual_gap(const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r,
                                    MultiVector<T> scratch) {
        return residual_gap(A, b, x, r, scratch, 0, [] {});
    }

    /// The direction of the method that handed over to this one, zero in the columns that have none. False: there is
    /// none.
    bool take_direction(MultiVector<T> p) {
        if (take_directions(Panel<T>(p)) > 0) return true;
        if (!std::exchange(has_direction_, false)) return false;
        V_.run(p <<= direction_);
        V_.clear_frozen(p);
        V_.clear(direction_);
        return true;
    }

    /// r := b − A x where this run begins, zero in frozen columns: the driver knows it, most often.
    void initial_residual(const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
        squares_are_known_ = residual_.has_value();
        if (!residual_)
            residual(V_, A, b, x, r);
        else if (residual_->data() != r.data())
            V_.run(r <<= *residual_);
        residual_.reset();
    }
    /// ‖r‖² of the r that initial_residual made, in no reduction where the driver knows it.
    Scalars<T> initial_squares(MultiVector<T> r) {
        if (!squares_are_known_) squares_ = V_.start(dot(r, r)).wait()[0];
        squares_are_known_ = true;
        return squares_;
    }

    /// What an iteration begins with beside x: vectors and coefficients, said before the loop. Snapshots have it as it
    /// is where stop(k, rr) is asked, and a solve that goes on from one has it from there. True: it has.
    template <class... State>
    bool checkpoint(State&... state) {
        return checkpoints_.of(state...);
    }
    /// The same where a loop that begins anew from x and its last directions keeps its Krylov space.
    void checkpoint_directions(const Panel<T>& P) { checkpoints_.of_directions(P); }
    /// Those of the solve that this one goes on from, the last ones where there are more. Returns how many.
    int take_directions(const Panel<T>& P) { return checkpoints_.take_directions(P); }

    bool active(int j) const { return columns_.active(j); }
    const Columns& columns() const { return columns_; }

    /// The norms of recursive residuals at which the columns pass.
    Scalars<T> target() const {
        auto targets = V_.scalars();
        for (int j = 0; j < V_.width(); ++j) targets[j] = static_cast<Number<T>>(columns_[j].target);
        return targets;
    }

    /// Whether a safeguard is due that acts as often as this option says (every so many iterations; 0: never).
    bool due(std::string_view every_option) const {
        const int every = static_cast<int>(option(every_option)),
                  done = columns_.iteration() - columns_.run_start() + checkpoints_.done_before();
        return every > 0 && done > 0 && done % every == 0;
    }

    /// The run before this one got nowhere: start from another shadow vector.
    bool fresh_shadow() const { return fresh_shadow_; }
    /// 0 for the first run of a solve.
    int run() const { return checkpoints_.runs_before() + columns_.run(); }

    /// The value of one of the method's options (registry row).
    double option(std::string_view option_name) const { return options_.number(option_name); }
    bool has_option(std::string_view option_name) const { return options_.has(option_name); }

    /// What the method has learnt of A and keeps from solve to solve; made of these arguments the first time.
    template <class X, class... Arguments>
    X& kept(Arguments&&... arguments) {
        return kept_.get<X>(std::forward<Arguments>(arguments)...);
    }

    void event(std::string text) { recorder_.event(std::move(text)); }

    // ---- what the driver uses ----

    /// Starts another run of a loop, with the options of its method, in the columns that `columns` says. `residual`:
    /// b − A x, where it is known; `squares`: of its norms, then.
    void begin(const Options& options, bool fresh_shadow, std::optional<MultiVector<T>> residual,
               const Scalars<T>& squares) {
        options_ = options;
        squares_ = squares;
        has_restarted_ = false;
        // Five digits are to be gained in single precision, and double precision goes on where they are not.
        constexpr double most_in_single = 500;
        patience_ = static_cast<int>(is_single<T> ? std::min(option("patience"), most_in_single) : option("patience"));
        fresh_shadow_ = fresh_shadow;
        residual_ = residual;
        for (int j = 0; j < V_.width(); ++j)
            if (!active(j)) {
                V_.freeze(j);
                squares_[j] = 0;
            }
    }
    /// ‖b − Ax‖² of this x, where the method has recomputed it last thing; zero in columns that took no part.
    std::optional<Scalars<T>> recomputed() const { return has_restarted_ ? std::optional(restarted_) : std::nullopt; }
    /// A new solve.
    void reset() { has_direction_ = false; }
    Checkpoints<T>& checkpoints() { return checkpoints_; }
    void tell_checkpoint(const std::string& failed) {
        if (!failed.empty()) event("no checkpoint: " + failed);
    }
    /// Where a method that hands over leaves its last direction.
    void keep_direction(MultiVector<T> direction) { direction_ = direction; }

private:
    void classify(const Scalars<T>& rr) {
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = columns_[j];
            if (column.state != State::active) continue;
            const auto [state, reason] = column.judge(real_part(rr[j]), columns_.iteration(), patience_);
            if (state != State::active) end(j, state, reason);
        }
    }

    void between_iterations() {
        tell_checkpoint(checkpoints_.between_iterations(V_.interrupted() || recorder_.stopped()));
    }

    template <class Holds>
    bool end_unless(Holds holds, const Scalars<T>& value, Status reason) {
        for (int j = 0; j < V_.width(); ++j) {
            if (!active(j)) continue;
            if (!is_finite(value[j]))
                end(j, State::broken, Status::not_finite);
            else if (!holds(value[j], j))
                end(j, State::broken, reason);
        }
        return ended();
    }

    /// Nothing is computed any more where this was the last column: then it need not be frozen.
    void end(int j, State state, Status reason = Status::breakdown) {
        if (columns_.others_active(j)) V_.freeze(j);
        columns_.end_column(j, state, reason);
    }

    /// A signal is obeyed between two iterations, where it leaves a snapshot.
    bool ended() const { return columns_.out_of_iterations() || recorder_.stopped() || !columns_.any_active(); }
    bool out_of_time() const { return columns_.out_of_iterations() || V_.interrupted() || recorder_.stopped(); }
    bool leave() const { return V_.interrupted() || ended(); }

    Space<T>& V_;
    Columns& columns_;
    Recorder<Number<T>>& recorder_;
    Kept& kept_;
    Checkpoints<T> checkpoints_;
    Options options_{Spec{}, {}};
    int patience_ = 0;
    bool fresh_shadow_ = false, has_direction_ = false, squares_are_known_ = false, has_restarted_ = false;
    Scalars<T> squares_{V_.width()}, restarted_{V_.width()};  // of b − A x: where the run began, at its last restart
    std::optional<MultiVector<T>> residual_;
    MultiVector<T> direction_;
};

}  // namespace stretto
