// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"
#include "print.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace {
constexpr std::chrono::milliseconds interval{200};
constexpr std::chrono::seconds rate_window{3};
}  // namespace

ProgressLine::ProgressLine(int rank, bool always) : shown_(rank == 0 && (always || isatty(STDERR_FILENO) == 1)) {}

bool ProgressLine::due() {
    if (!shown_ || Clock::now() - last_ < interval) return false;
    last_ = Clock::now();
    return true;
}

void ProgressLine::show_solve(const std::string& method, const stretto::IterationInfo& info) {
    if (!due()) return;
    if (info.iteration < marked_.iteration || marked_.iteration == 0) {
        marked_ = info;
        mark_ = last_;
    }
    std::string text = fmt::format("{}  iteration {}  residual {:.2e} (target {:.0e})", method, info.iteration,
                                   info.relative_residual, info.target);
    const int steps = info.iteration - marked_.iteration;
    if (steps > 0 && info.relative_residual > 0 && marked_.relative_residual > 0) {
        const double log_rate = std::log(info.relative_residual / marked_.relative_residual) / steps;
        if (log_rate < 0) text += fmt::format("  rate {:.3f}", std::exp(log_rate));
        if (log_rate < 0 && info.relative_residual > info.target && info.target > 0) {
            const std::chrono::duration<double> seconds = last_ - mark_;
            const double left = std::log(info.target / info.relative_residual) / log_rate * seconds.count() / steps;
            text += fmt::format("  about {:.0f} s left", left);
        }
    }
    if (last_ - mark_ > rate_window) {
        marked_ = info;
        mark_ = last_;
    }
    print(std::move(text));
}

void ProgressLine::show_fraction(const std::string& what, double fraction) {
    if (due()) print(fmt::format("{}  {:.0f} %", what, 100 * fraction));
}

void ProgressLine::print(std::string text) {
    const std::size_t length = text.size();
    if (length < width_) text.append(width_ - length, ' ');
    width_ = length;
    print_error("\r{}", text);
    std::fflush(stderr);
}

void ProgressLine::clear() {
    if (width_ > 0) {
        print_error("\r{}\r", std::string(width_, ' '));
        std::fflush(stderr);
    }
    width_ = 0;
}
