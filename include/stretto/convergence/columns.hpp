// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "stretto/convergence/status.hpp"

namespace stretto {

/// How the columns of a solve stand. The driver begins runs of a method's loop, the verdict ends columns in them.
class Columns {
public:
    /// How a column stands within one run of a method's loop.
    enum class State { active, passed, attained, stalled, broken, handed_over, done };

    struct Column {
        double target = 0;                                            ///< absolute, of the recursive residual
        double norm_b = 0;                                            ///< ‖b‖, or 1 where b = 0
        double initial = std::numeric_limits<double>::quiet_NaN();    ///< true residual of the guess
        double start = std::numeric_limits<double>::infinity();       ///< true residual where the run began
        double recursive = std::numeric_limits<double>::quiet_NaN();  ///< none yet
        State state = State::active;
        Status reason = Status::breakdown;                      ///< of a broken one
        double mark = std::numeric_limits<double>::infinity();  ///< last residual below half of the mark before it
        int marked_at = 0;
        int ended_at = 0;
        double restart = std::numeric_limits<double>::infinity();  ///< true residual at the last restart
        int idle = 0;                                              ///< restarts in a row that gained nothing
        int lost = 0;     ///< checks in a row that found most of the recursive residual wrong, without a mark meanwhile
        int lost_at = 0;  ///< the first of them
        bool lenient = false;  ///< only exact zeros count as vanished: beginning again has led nowhere, going on may
        int waited = 0;        ///< iterations that others went on for after it had ended, in runs before this one
        double unit = 1;       ///< what norms are given in

        /// What becomes of an active column; `active`: nothing.
        struct End {
            State state = State::active;
            Status reason = Status::breakdown;
        };
        /// After an iteration whose recursive residual has this square.
        constexpr End judge(double square, int iteration, int patience) {
            if (!__builtin_isfinite(square)) return {State::broken, Status::not_finite};
            recursive = square > 0 ? std::sqrt(square) : 0;
            mark_at(recursive, iteration);
            if (recursive <= target) return {State::passed};
            if (recursive > hopeless_growth * start) return {State::broken};
            return {out_of_patience(iteration, patience) ? State::stalled : State::active};
        }
        constexpr void mark_at(double residual, int iteration) {
            if (!(residual < mark / 2)) return;
            mark = residual;
            marked_at = iteration;
        }
        constexpr bool out_of_patience(int iteration, int patience) const { return iteration - marked_at > patience; }
        /// Of the squares of a recursive residual and of its distance from the true one. True: three checks in a row
        /// found most of it wrong, and it has not halved since the first.
        constexpr bool lose(double gap_square, double square, int iteration) {
            const bool wrong = gap_square > square / 4;
            lost = wrong && marked_at <= lost_at ? lost + 1 : wrong;
            if (lost == 1) lost_at = iteration;
            return lost == 3;
        }

    private:
        // A denominator nearly vanished where the residual has grown this much since the run began. x has grown with
        // it, and the digits it loses when it comes back are more than the rest of the run is likely to gain.
        static constexpr double hopeless_growth = 1e10;
    };

    explicit Columns(int width) : columns_(static_cast<std::size_t>(width)) {}

    int size() const { return static_cast<int>(columns_.size()); }
    Column& operator[](int j) { return columns_[static_cast<std::size_t>(j)]; }
    const Column& operator[](int j) const { return columns_[static_cast<std::size_t>(j)]; }
    auto begin() const { return columns_.begin(); }
    auto end() const { return columns_.end(); }

    bool active(int j) const { return (*this)[j].state == State::active; }
    bool any_active() const { return std::ranges::any_of(columns_, active_one); }
    /// Whether another column than this one is active.
    bool others_active(int j) const { return std::ranges::count_if(columns_, active_one) > (active(j) ? 1 : 0); }

    /// A new solve, or one that goes on after so many iterations.
    void reset(int max_iterations, int done = 0) {
        std::ranges::fill(columns_, Column{});
        limit_ = max_iterations;
        iteration_ = run_start_ = done;
        run_ = -1;
    }
    /// Another run of a loop. Column j takes part from the true residual start(j); one without (NaN) is done.
    template <class Start>
    void begin_run(Start&& start) {
        ++run_;
        run_start_ = iteration_;
        for (int j = 0; j < size(); ++j) {
            auto& column = (*this)[j];
            if (run_ > 0 && column.state != State::active) column.waited += iteration_ - column.ended_at;
            column.start = start(j);
            column.state = std::isnan(column.start) ? State::done : State::active;
            column.mark = column.restart = std::numeric_limits<double>::infinity();
            column.marked_at = iteration_;
            column.idle = column.lost = 0;
        }
    }
    /// Gives the norms of a column in another unit.
    void measure_in(int j, double unit) {
        auto& column = (*this)[j];
        const double by = column.unit / unit;
        for (double* norm : {&column.target, &column.norm_b, &column.initial, &column.start, &column.recursive,
                             &column.mark, &column.restart})
            *norm *= by;
        column.unit = unit;
    }
    void end_column(int j, State state, Status reason = Status::breakdown) {
        (*this)[j].state = state;
        (*this)[j].reason = reason;
        (*this)[j].ended_at = iteration_;
    }

    int run() const { return run_; }              ///< 0 for the first
    int run_start() const { return run_start_; }  ///< iterations before this run
    int iteration() const { return iteration_; }  ///< over all runs
    void go_to(int iteration_of_run) { iteration_ = run_start_ + iteration_of_run; }
    int remaining() const { return limit_ - iteration_; }  ///< iterations that the limit leaves
    bool out_of_iterations() const { return remaining() <= 0; }

private:
    static bool active_one(const Column& column) { return column.state == State::active; }

    std::vector<Column> columns_;
    int limit_ = 0, run_ = -1, run_start_ = 0, iteration_ = 0;
};

}  // namespace stretto
