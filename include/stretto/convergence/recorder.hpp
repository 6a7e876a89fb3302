// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/convergence/columns.hpp"
#include "stretto/measure/ledger.hpp"
#include "stretto/statements/scalars.hpp"

namespace stretto {

/// Something a user should know: a replacement, a restart, a fall-back, a breakdown.
struct Event {
    int iteration;  ///< of the first, where the same happened several times in a row
    std::string text;
    int times = 1;
    int last = 0;  ///< iteration of the last of them
};
std::string to_string(const Event& event);

/// What the iterations of a solve were, and what they cost on this rank: those of one loop, or what is outside of all
/// loops. The parts of a solve add up to it.
struct Part {
    std::string_view loop;  ///< the method that ran; empty: none, as in verifications and hand-overs
    bool warm_up = false;   ///< iterations that lead into the loop of the paper, or back
    int iterations = 0;
    Counts counts;
    double seconds = 0;
};

/// Where a solve is: what a monitor is told after every iteration, and before the first one (iteration 0).
struct IterationInfo {
    int iteration;
    double relative_residual;           ///< recursive, the largest of the columns still solved for, of all at the end
    double target;                      ///< of that column, relative alike
    std::span<const double> residuals;  ///< recursive, absolute, of all columns; true ones at iteration 0
};
/// Asked on every rank; the same answer everywhere. False ends the solve: `interrupted`.
using Monitor = std::function<bool(const IterationInfo&)>;

/// Keeps what a solve tells of its iterations: residuals, what a steady iteration costs, what each was, events; tells
/// the monitor. Y: the type of sums.
template <class Y>
class Recorder {
public:
    Recorder(const Ledger& ledger, const Columns& columns)
        : ledger_(ledger), columns_(columns), residuals_(static_cast<std::size_t>(columns.size())) {
        parts_.reserve(most_parts);
    }

    void keep_history() { keep_history_ = true; }
    /// Keeps what `squares` returns after every iteration, too: ‖b − Ax‖² of all columns. Collective.
    void keep_true_history(std::function<ScalarsOf<Y>()> squares) { true_squares_ = std::move(squares); }
    void tell(Monitor monitor) { monitor_ = std::move(monitor); }

    /// A new solve, or one that goes on.
    void reset() {
        before_ = columns_.iteration();
        sampled_ = steady_ = {};
        sampled_run_ = -1;
        steady_iterations_ = 0;
        steady_seconds_ = 0;
        stopped_ = false;
        parts_.clear();
        loop_ = {};
        products_ = {};
        booked_ = {};
        booked_iterations_ = before_;
        booked_at_ = Clock::now();
        events_.clear();
        history_.clear();
        true_history_.clear();
    }

    // ---- what an iteration costs ----

    /// Called at the same place of each iteration of a loop: what the iterations did between one call and the next is
    /// the exact cost of an iteration, without the way into the loop and out of it.
    void sample_iteration() {
        if (ledger_.phase() != Phase::iteration) return;
        const Counts& now = ledger_.at(Phase::iteration);
        const auto time = Clock::now();
        if (sampled_run_ == columns_.run()) {
            steady_ += now;
            steady_ -= sampled_;
            ++steady_iterations_;
            steady_seconds_ += to_seconds(time - sampled_at_);
        }
        sampled_at_ = time;
        sampled_ = now;
        sampled_run_ = columns_.run();
    }
    /// Counts what a method did in its last n iterations, since `start`, when its counts were `before`.
    void count(const Counts& before, int n, Clock::time_point start) {
        steady_ += ledger_.at(Phase::iteration);
        steady_ -= before;
        steady_iterations_ += n;
        steady_seconds_ += to_seconds(Clock::now() - start);
    }
    const Counts& steady() const { return steady_; }
    int steady_iterations() const { return steady_iterations_; }
    double steady_seconds() const { return steady_seconds_; }

    // ---- what each iteration was ----

    static constexpr std::size_t most_parts = 8;  // that no iteration allocates for

    void begin_run(std::string_view loop) {
        book();
        loop_ = loop;
        warm_up_ = false;
    }
    /// What comes after the last iteration of a run is booked with it.
    void end_run() {
        book();
        loop_ = {};
        warm_up_ = false;
    }
    /// The last are those of the end of the solve.
    const std::vector<Part>& parts() {
        book();
        return parts_;
    }

    // ---- residuals ----

    /// After an iteration, and before the first.
    void iteration_done() {
        const int iteration = columns_.iteration();
        const bool first = iteration == before_;
        if (!first) {
            classify();
            book();
        }
        if (keep_history_ && !first)
            for (const auto& column : columns_) history_.push_back(column.recursive * column.unit);
        if (!monitor_) return;
        IterationInfo info{iteration, 0, 0, residuals_};
        const bool ended = !columns_.any_active();
        for (int j = 0; j < columns_.size(); ++j) {
            const auto& column = columns_[j];
            const double residual = first ? column.initial : column.recursive, relative = residual / column.norm_b;
            residuals_[static_cast<std::size_t>(j)] = residual * column.unit;
            if ((ended || columns_.active(j)) && relative > info.relative_residual) {
                info.relative_residual = relative;
                info.target = column.target / column.norm_b;
            }
        }
        stopped_ = !monitor_(info) || stopped_;
    }
    /// Whether the monitor has ended the solve.
    bool stopped() const { return stopped_; }

    /// Before any column ends, for its sums read zero then; those that have ended keep their last value.
    void measure_true() {
        if (!true_squares_) return;
        const auto squares = true_squares_();
        for (int j = 0; j < columns_.size(); ++j)
            true_history_.push_back(
                !columns_.active(j) && !true_history_.empty() ? last_true() : std::sqrt(double{real_part(squares[j])}));
    }
    /// Between restarts x stays as it is, and so do the true residuals; those of a restart replace the last row.
    void repeat_true() {
        if (!true_squares_) return;
        const bool first = true_history_.empty();
        for (int j = 0; j < columns_.size(); ++j)
            true_history_.push_back(first ? columns_[j].restart * columns_[j].unit : last_true());
    }
    void correct_true(const ScalarsOf<Y>& rr) {
        if (true_history_.empty()) return;
        const auto row = true_history_.size() - residuals_.size();
        for (int j = 0; j < columns_.size(); ++j)
            if (columns_.active(j))
                true_history_[row + static_cast<std::size_t>(j)] =
                    std::sqrt(double{real_part(rr[j])}) * columns_[j].unit;
    }
    std::vector<double>& history() { return history_; }
    std::vector<double>& true_history() { return true_history_; }

    // ---- events ----

    void event(std::string text) { event(columns_.iteration(), std::move(text)); }
    void event(int iteration, std::string text) {
        if (!events_.empty() && events_.back().text == text) {
            ++events_.back().times;
            events_.back().last = iteration;
        } else if (events_.size() < most_events) {
            events_.push_back({iteration, std::move(text), 1, iteration});
        }
    }
    std::vector<Event>& events() { return events_; }

private:
    static constexpr std::size_t most_events = 100;

    /// An iteration of the paper has products of its own; where the last had none at all, it is one of a block.
    void classify() {
        const auto products = [&](Phase phase) { return ledger_.at(phase).applies; };
        const auto before = std::exchange(products_, {products(Phase::setup), products(Phase::iteration)});
        if (products_ != before) warm_up_ = products_.second == before.second;
    }
    /// Books what was done since the last time.
    void book() {
        const auto is_this = [&](const Part& part) { return part.loop == loop_ && part.warm_up == warm_up_; };
        auto part = std::ranges::find_if(parts_, is_this);
        if (part == parts_.end()) part = parts_.insert(part, {loop_, warm_up_, 0, {}, 0});
        Counts all;
        for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard}) all += ledger_.at(phase);
        const auto now = Clock::now();
        part->counts += all;
        part->counts -= booked_;
        part->seconds += to_seconds(now - booked_at_);
        part->iterations += columns_.iteration() - booked_iterations_;
        booked_ = all;
        booked_at_ = now;
        booked_iterations_ = columns_.iteration();
    }

    /// The last value of the column whose next one is to be kept.
    double last_true() const { return true_history_[true_history_.size() - residuals_.size()]; }

    const Ledger& ledger_;
    const Columns& columns_;
    Counts sampled_, steady_;
    int sampled_run_ = -1, steady_iterations_ = 0;
    double steady_seconds_ = 0;
    Clock::time_point sampled_at_;
    bool keep_history_ = false, stopped_ = false;
    std::function<ScalarsOf<Y>()> true_squares_;
    Monitor monitor_;
    std::vector<double> residuals_, history_, true_history_;
    std::vector<Part> parts_;
    std::string_view loop_;  // that runs
    bool warm_up_ = false;
    std::pair<std::int64_t, std::int64_t> products_;  // of the set-up and of iterations, at the last iteration
    Counts booked_;
    int booked_iterations_ = 0, before_ = 0;  // iterations of the solve that this one goes on from
    Clock::time_point booked_at_;
    std::vector<Event> events_;
};

}  // namespace stretto
