// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>

#include "stretto/convergence/recorder.hpp"

/// One line on the terminal while work goes on; silent on other ranks and, unless `always`, where standard error is no
/// terminal.
class ProgressLine {
public:
    ProgressLine(int rank, bool always);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    bool shown() const { return shown_; }

    /// Iteration, residual, rate, and time left where the residual falls steadily enough to tell.
    void show_solve(const std::string& method, const stretto::IterationInfo& info);
    /// A fraction of some work.
    void show_fraction(const std::string& what, double fraction);
    void clear();

private:
    using Clock = std::chrono::steady_clock;

    bool due();
    void print(std::string text);

    bool shown_;
    std::size_t width_ = 0;
    Clock::time_point last_ = Clock::now();
    // Where the rate of the last seconds is measured from.
    Clock::time_point mark_ = Clock::now();
    stretto::IterationInfo marked_{};
};
