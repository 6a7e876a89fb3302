// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/convergence/columns.hpp"
#include "stretto/execute/space.hpp"

namespace stretto {

/// Something a user should know: a replacement, a restart, a fall-back, a breakdown.
struct Event {
    int iteration;  ///< of the first, where the same happened several times in a row
    std::string text;
    int times = 1;
    int last = 0;  ///< iteration of the last of them
};
std::string to_string(const Event& event);

/// Where a solve is: what a monitor is told after every iteration, and before the first one (iteration 0).
struct IterationInfo {
    int iteration;
    double relative_residual;           ///< recursive, the largest of the columns still solved for
    double target;                      ///< of that column, relative alike
    std::span<const double> residuals;  ///< recursive, absolute, of all columns; true ones at iteration 0
};
/// Asked on every rank; the same answer everywhere. False ends the solve: `interrupted`.
using Monitor = std::function<bool(const IterationInfo&)>;

/// Keeps what a solve tells of its iterations: residuals, what a steady iteration costs, events; tells the monitor.
template <class T>
class Recorder {
public:
    Recorder(Space<T>& V, const Columns& columns)
        : V_(V), columns_(columns), residuals_(static_cast<std::size_t>(columns.size())) {}

    void keep_history() { keep_history_ = true; }
    /// Keeps what `squares` returns after every iteration, too: ‖b − Ax‖² of all columns. Collective.
    void keep_true_history(std::function<Scalars<T>()> squares) { true_squares_ = std::move(squares); }
    void tell(Monitor monitor) { monitor_ = std::move(monitor); }

    /// A new solve.
    void reset() {
        sampled_ = steady_ = {};
        sampled_run_ = -1;
        steady_iterations_ = 0;
        steady_seconds_ = 0;
        stopped_ = false;
        events_.clear();
        history_.clear();
        true_history_.clear();
    }

    // ---- what an iteration costs ----

    /// Called at the same place of each iteration of a loop: what the iterations did between one call and the next is
    /// the exact cost of an iteration, without the way into the loop and out of it.
    void sample_iteration() {
        if (V_.ledger().phase() != Phase::iteration) return;
        const Counts& now = V_.ledger().at(Phase::iteration);
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
        steady_ += V_.ledger().at(Phase::iteration);
        steady_ -= before;
        steady_iterations_ += n;
        steady_seconds_ += to_seconds(Clock::now() - start);
    }
    const Counts& steady() const { return steady_; }
    int steady_iterations() const { return steady_iterations_; }
    double steady_seconds() const { return steady_seconds_; }

    // ---- residuals ----

    /// After an iteration, and before the first.
    void iteration_done() {
        const int done = columns_.iteration();
        if (keep_history_ && done > 0)
            for (const auto& column : columns_) history_.push_back(column.recursive);
        if (!monitor_) return;
        IterationInfo info{done, 0, 0, residuals_};
        for (int j = 0; j < columns_.size(); ++j) {
            const auto& column = columns_[j];
            residuals_[static_cast<std::size_t>(j)] = done > 0 ? column.recursive : column.initial;
            const double relative = residuals_[static_cast<std::size_t>(j)] / column.norm_b;
            if (columns_.active(j) && relative > info.relative_residual) {
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
            true_history_.push_back(!columns_.active(j) && !true_history_.empty() ? last_true()
                                                                                  : std::sqrt(double{squares[j]}));
    }
    /// Between restarts x stays as it is, and so do the true residuals; those of a restart replace the last row.
    void repeat_true() {
        if (!true_squares_) return;
        const bool first = true_history_.empty();
        for (int j = 0; j < columns_.size(); ++j) true_history_.push_back(first ? columns_[j].restart : last_true());
    }
    void correct_true(const Scalars<T>& rr) {
        if (true_history_.empty()) return;
        const auto row = true_history_.size() - residuals_.size();
        for (int j = 0; j < columns_.size(); ++j)
            if (columns_.active(j)) true_history_[row + static_cast<std::size_t>(j)] = std::sqrt(double{rr[j]});
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

    /// The last value of the column whose next one is to be kept.
    double last_true() const { return true_history_[true_history_.size() - residuals_.size()]; }

    Space<T>& V_;
    const Columns& columns_;
    Counts sampled_, steady_;
    int sampled_run_ = -1, steady_iterations_ = 0;
    double steady_seconds_ = 0;
    Clock::time_point sampled_at_;
    bool keep_history_ = false, stopped_ = false;
    std::function<Scalars<T>()> true_squares_;
    Monitor monitor_;
    std::vector<double> residuals_, history_, true_history_;
    std::vector<Event> events_;
};

}  // namespace stretto
