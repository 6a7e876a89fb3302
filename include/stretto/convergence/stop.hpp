// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/convergence/result.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/operators/linear_map.hpp"

namespace stretto {

/// Where a solve is, for a progress line.
struct ProgressInfo {
    int iteration;
    double relative_residual;  ///< recursive, the largest of the columns still solved for
    double target;             ///< of that column, relative alike
};

/// When to leave the loop of a method, and everything about it that is not in the paper: tolerances, limits,
/// breakdowns, stagnation, columns that end before others, history and progress. One line in the loop:
///
///     if (stop(k, rr)) break;
///
/// A column that ends is frozen; the loop ends when none is left. What the recurrence believes is only a
/// hint: the driver (solve.hpp) recomputes the residual before it says `converged`.
template <class T>
class Stop {
public:
    /// How a column stands within one attempt, that is one run of a method's loop.
    enum class State { active, passed, stalled, broken, handed_over, done };

    struct Column {
        double target = 0;  ///< absolute, of the recursive residual
        double norm_b = 0;
        double start = std::numeric_limits<double>::infinity();       ///< true residual where the run began
        double recursive = std::numeric_limits<double>::quiet_NaN();  ///< none yet
        State state = State::active;
        Status reason = Status::breakdown;                      ///< of a broken one
        double mark = std::numeric_limits<double>::infinity();  ///< last residual below half of the mark before it
        int marked_at = 0;
        int ended_at = 0;
        double restart = std::numeric_limits<double>::infinity();  ///< true residual at the last restart
        int idle = 0;                                              ///< restarts in a row that gained nothing
        int waited = 0;  ///< iterations that others went on for after it had ended, in runs before this one
    };

    Stop(Space<T>& V, std::vector<Column> columns, int max_iterations)
        : V_(V), columns_(std::move(columns)), max_iterations_(max_iterations) {}

    // ---- what methods use ----

    /// x has been updated k times in this run of the loop; rr are the squared norms of its recursive
    /// residuals. True: leave. Called once per iteration, at the same place of each.
    [[nodiscard]] bool operator()(int k, const Scalars<T>& rr) {
        iteration_ = attempt_start_ + k;
        sample_iteration();
        if (k > 0 && true_squares_) measure();
        classify(rr);
        if (k > 0) record();
        return leave();
    }

    /// For methods that update x only when they restart: rr is what the recurrence believes after k iterations of this
    /// run. Ends no column. True: restart, for none is wanted any more or this was the last iteration.
    [[nodiscard]] bool estimated(int k, const Scalars<T>& rr) {
        iteration_ = attempt_start_ + k;
        bool needed = false;
        for (int j = 0; j < V_.width(); ++j) {
            if (!above_target(j)) continue;
            auto& column = at(j);
            column.recursive = std::sqrt(double{rr[j]});
            column.ended_at = iteration_;
            needed = needed || above_target(j);
        }
        if (true_squares_) repeat_true_history();
        record();
        return !needed || out_of_iterations() || V_.interrupted();
    }
    /// Whether a column needs more of this cycle.
    bool above_target(int j) const {
        const auto& column = columns_[static_cast<std::size_t>(j)];
        return column.state == State::active && column.recursive > column.target;
    }
    /// x has been updated, rr are the squares of ‖b − Ax‖, recomputed. True: leave.
    [[nodiscard]] bool restarted(const Scalars<T>& rr) {
        constexpr double gain = 1e-4;  // less than that, twice in a row, is none
        if (true_squares_ && !true_history_.empty()) correct_true_history(rr);
        const int patience = static_cast<int>(option("patience"));
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = at(j);
            if (column.state != State::active) continue;
            const double residual = std::sqrt(double{rr[j]});
            const int ended_at = column.ended_at;
            column.idle = residual < (1 - gain) * column.restart ? 0 : column.idle + 1;
            column.restart = residual;
            if (residual < column.mark / 2) {
                column.mark = residual;
                column.marked_at = iteration_;
            }
            if (!std::isfinite(residual)) {
                end(j, State::broken, Status::not_finite);
            } else if (residual <= column.target) {
                end(j, State::passed);
                column.ended_at = std::max(ended_at, attempt_start_);
            } else if (column.idle == 2) {
                event("two restarts gained nothing: more columns in a cycle (m) or a better preconditioner may");
                end(j, State::stalled);
            } else if (iteration_ - column.marked_at > patience) {
                end(j, State::stalled);
            }
            column.recursive = std::isfinite(residual) ? residual : column.recursive;
        }
        return leave();
    }
    /// Books what a method did in its last n iterations, since `start`, when its counts were `before`.
    void count(const Counts& before, int n, Clock::time_point start) {
        steady_ += V_.ledger().at(Phase::iteration);
        steady_ -= before;
        steady_iterations_ += n;
        steady_seconds_ += to_seconds(Clock::now() - start);
    }

    /// Ends the columns whose value is not positive. True: none is left.
    [[nodiscard]] bool unless_positive(const Scalars<T>& value, Status reason) {
        return end_unless([](T v, int) { return v > T{}; }, value, reason);
    }
    /// Ends the columns whose value is zero. True: none is left.
    [[nodiscard]] bool unless_nonzero(const Scalars<T>& value) {
        return end_unless([](T v, int) { return v != T{}; }, value, Status::breakdown);
    }
    /// Ends the columns whose value is next to nothing (option `breakdown`) of what it could be, that is `scale`, and
    /// so has lost most of its digits. True: none is left.
    [[nodiscard]] bool unless_nonzero(const Scalars<T>& value, const Scalars<T>& scale) {
        const double vanishing = lenient_ ? 0 : option("breakdown");
        return end_unless([&](T v, int j) { return std::abs(v) > vanishing * scale[j]; }, value, Status::breakdown);
    }

    /// Ends the columns whose value is not positive: what the recurrence says next is not to be trusted, but x and its
    /// last direction p are. The driver goes on from them with the classic method. True: none is left.
    [[nodiscard]] bool hand_over_unless(const Scalars<T>& value, MultiVector<T> p) {
        for (int j = 0; j < V_.width(); ++j) {
            if (!active(j) || value[j] > T{}) continue;
            for (Index row = 0; row < p.rows(); ++row) direction_(row, j) = p(row, j);
            has_direction_ = true;
            end(j, State::handed_over);
        }
        return leave();
    }
    /// The direction of the method that handed over to this one, zero in the columns that have none. False: there is
    /// none.
    bool take_direction(MultiVector<T> p) {
        if (!std::exchange(has_direction_, false)) return false;
        V_.run(p <<= direction_);
        V_.clear_frozen(p);
        std::ranges::fill(direction_.values(), T{});
        return true;
    }

    bool active(int j) const { return columns_[static_cast<std::size_t>(j)].state == State::active; }

    /// The norms of recursive residuals at which the columns pass.
    Scalars<T> target() const {
        auto targets = V_.scalars();
        for (int j = 0; j < V_.width(); ++j) targets[j] = static_cast<T>(columns_[static_cast<std::size_t>(j)].target);
        return targets;
    }

    /// Whether a safeguard is due that acts as often as this option says (every so many iterations; 0: never).
    bool due(std::string_view every_option) const {
        const int every = static_cast<int>(option(every_option)), done = iteration_ - attempt_start_;
        return every > 0 && done > 0 && done % every == 0;
    }

    /// The run before this one got nowhere: start from another shadow vector.
    bool fresh_shadow() const { return fresh_shadow_; }
    int attempt() const { return attempt_; }

    /// The value of one of the method's options (registry row).
    double option(std::string_view option_name) const { return options_.number(option_name); }

    void event(std::string text) { event(iteration_, std::move(text)); }
    void event(int iteration, std::string text) {
        if (!events_.empty() && events_.back().text == text) {
            ++events_.back().times;
            events_.back().last = iteration;
        } else if (events_.size() < most_events) {
            events_.push_back({iteration, std::move(text), 1, iteration});
        }
    }

    // ---- what the driver uses ----

    /// Starts another run of a loop, with the options of its method. A column takes part from the residual that its
    /// `start` has; one without (NaN) is done.
    void begin(const Options& options, const std::vector<double>& start, bool fresh_shadow) {
        options_ = options;
        ++attempt_;
        attempt_start_ = iteration_;
        fresh_shadow_ = fresh_shadow;
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = at(j);
            column.start = start[static_cast<std::size_t>(j)];
            if (attempt_ > 0 && column.state != State::active) column.waited += iteration_ - column.ended_at;
            column.state = std::isnan(column.start) ? State::done : State::active;
            column.mark = std::numeric_limits<double>::infinity();
            column.marked_at = iteration_;
            column.restart = std::numeric_limits<double>::infinity();
            column.idle = 0;
            if (column.state == State::done) V_.freeze(j);
        }
    }
    /// From now on only exact zeros count as vanished: where beginning again has led nowhere, going on may.
    void be_lenient() { lenient_ = true; }
    bool lenient() const { return lenient_; }
    int iteration() const { return iteration_; }
    bool out_of_iterations() const { return iteration_ >= max_iterations_; }
    const std::vector<Column>& columns() const { return columns_; }
    std::vector<Event> take_events() { return std::move(events_); }
    std::vector<double> take_history() { return std::move(history_); }
    std::vector<double> take_true_history() { return std::move(true_history_); }
    void keep_history() { keep_history_ = true; }
    /// Keeps what `squares` returns after every iteration, too: ‖b − Ax‖² of all columns. Collective.
    void keep_true_history(std::function<Scalars<T>()> squares) { true_squares_ = std::move(squares); }
    /// What the iterations did between one call of stop and the next, and how many such iterations there
    /// were: the exact cost of an iteration, without the way into the loop and out of it.
    const Counts& steady() const { return steady_; }
    int steady_iterations() const { return steady_iterations_; }
    double steady_seconds() const { return steady_seconds_; }
    /// Where a method that hands over leaves its last direction.
    void keep_direction(MultiVector<T> direction) { direction_ = direction; }
    void report_to(std::function<void(const ProgressInfo&)> progress) { progress_ = std::move(progress); }

private:
    static constexpr std::size_t most_events = 100;
    // A denominator nearly vanished where the residual has grown this much since the run began. x has grown with it,
    // and the digits it loses when it comes back are more than the rest of the run is likely to gain.
    static constexpr double hopeless_growth = 1e10;

    Column& at(int j) { return columns_[static_cast<std::size_t>(j)]; }

    void sample_iteration() {
        if (V_.ledger().phase() != Phase::iteration) return;
        const Counts& now = V_.ledger().at(Phase::iteration);
        const auto time = Clock::now();
        if (sampled_attempt_ == attempt_) {
            steady_ += now;
            steady_ -= sampled_;
            ++steady_iterations_;
            steady_seconds_ += to_seconds(time - sampled_at_);
        }
        sampled_at_ = time;
        sampled_ = now;
        sampled_attempt_ = attempt_;
    }

    void classify(const Scalars<T>& rr) {
        const int patience = static_cast<int>(option("patience"));
        for (int j = 0; j < V_.width(); ++j) {
            auto& column = at(j);
            if (column.state != State::active) continue;
            if (!std::isfinite(rr[j])) {
                end(j, State::broken, Status::not_finite);
                continue;
            }
            column.recursive = rr[j] > T{} ? std::sqrt(static_cast<double>(rr[j])) : 0;
            if (column.recursive < column.mark / 2) {
                column.mark = column.recursive;
                column.marked_at = iteration_;
            }
            if (column.recursive <= column.target)
                end(j, State::passed);
            else if (column.recursive > hopeless_growth * column.start)
                end(j, State::broken, Status::breakdown);
            else if (iteration_ - column.marked_at > patience)
                end(j, State::stalled);
        }
    }

    /// Before any column ends, for its sums read zero then; those that have ended keep their last value.
    void measure() {
        const auto squares = true_squares_();
        for (int j = 0; j < V_.width(); ++j) {
            const bool ended = at(j).state != State::active && !true_history_.empty();
            true_history_.push_back(ended ? true_history_[true_history_.size() - columns_.size()]
                                          : std::sqrt(double{squares[j]}));
        }
    }

    /// Between restarts x stays as it is, and so do the true residuals; those of a restart replace the last row.
    void repeat_true_history() {
        const std::size_t before = true_history_.size();
        for (std::size_t j = 0; j < columns_.size(); ++j)
            true_history_.push_back(before > 0 ? true_history_[before - columns_.size() + j] : columns_[j].restart);
    }
    void correct_true_history(const Scalars<T>& rr) {
        for (std::size_t j = 0; j < columns_.size(); ++j)
            if (columns_[j].state == State::active)
                true_history_[true_history_.size() - columns_.size() + j] = std::sqrt(double{rr[static_cast<int>(j)]});
    }

    void record() {
        if (keep_history_)
            for (const auto& column : columns_) history_.push_back(column.recursive);
        if (!progress_) return;
        ProgressInfo worst{iteration_, 0, 0};
        for (const auto& column : columns_)
            if (column.state == State::active && column.recursive > worst.relative_residual * column.norm_b)
                worst = {iteration_, column.recursive / column.norm_b, column.target / column.norm_b};
        progress_(worst);
    }

    template <class Holds>
    bool end_unless(Holds holds, const Scalars<T>& value, Status reason) {
        for (int j = 0; j < V_.width(); ++j) {
            if (at(j).state != State::active) continue;
            if (!std::isfinite(value[j]))
                end(j, State::broken, Status::not_finite);
            else if (!holds(value[j], j))
                end(j, State::broken, reason);
        }
        return leave();
    }

    void end(int j, State state, Status reason = Status::breakdown) {
        at(j).state = state;
        at(j).reason = reason;
        at(j).ended_at = iteration_;
        V_.freeze(j);
    }

    bool leave() const {
        if (out_of_iterations() || V_.interrupted()) return true;
        for (const auto& column : columns_)
            if (column.state == State::active) return false;
        return true;
    }

    Space<T>& V_;
    std::vector<Column> columns_;
    int max_iterations_;
    Options options_{Spec{}, {}};
    int iteration_ = 0;
    int attempt_ = -1;
    int attempt_start_ = 0;
    bool fresh_shadow_ = false;
    bool lenient_ = false;
    Counts sampled_, steady_;
    int sampled_attempt_ = -1;
    int steady_iterations_ = 0;
    double steady_seconds_ = 0;
    Clock::time_point sampled_at_;
    bool keep_history_ = false;
    MultiVector<T> direction_;
    bool has_direction_ = false;
    std::vector<Event> events_;
    std::vector<double> history_, true_history_;
    std::function<Scalars<T>()> true_squares_;
    std::function<void(const ProgressInfo&)> progress_;
};

/// r = b − A x in the columns still solved for, zero in the frozen ones.
template <class T>
void residual(Space<T>& V, const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
    A.apply(x, r);
    V.run(r <<= b - r);
    V.clear_frozen(r);
}

/// Whether the recursive residual r has left the true one, b − A x, by more than `tolerable`·‖r‖ in some column: the
/// criterion for a residual replacement. `scratch` is overwritten.
template <class T>
bool residual_gap(Space<T>& V, const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r,
                  MultiVector<T> scratch, double tolerable) {
    residual(V, A, b, x, scratch);
    auto [gap, rr] = V.start(scratch <<= scratch - r, dot(scratch, scratch), dot(r, r)).wait();
    for (int j = 0; j < V.width(); ++j)
        if (gap[j] > tolerable * tolerable * rr[j]) return true;
    return false;
}

}  // namespace stretto
