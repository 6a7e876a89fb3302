// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/model/benchmarks.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// A diagonal operator with random entries from `smallest` to `largest`, on which the text of a method runs for what it
/// does and not for what comes out.
class Diagonal {
public:
    Diagonal(Index rows, double smallest, double largest, bool rows_on) : rows_on_(rows_on) {
        for (Index row = 0; row < rows; ++row)
            values_.push_back(smallest + (largest - smallest) * (1 + uniform(1, row)) / 2);
    }
    void apply(MultiVector<double> x, MultiVector<double> y, const RowWork& work) const {
        apply(x, y);
        work(0, 0, y.rows());
    }
    int parts() const { return rows_on_; }
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        for (Index row = 0; row < x.rows(); ++row)
            for (int j = 0; j < x.columns(); ++j) y(row, j) = values_[static_cast<std::size_t>(row)] * x(row, j);
    }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const { apply(x, y); }
    double bytes(int) const { return 0; }

private:
    std::vector<double> values_;
    bool rows_on_;
};

/// Iterations of a method that are alike only together: the cycle of a restarted one, the block of an s-step one.
struct Period {
    int first, iterations;   ///< iterations before the first of which nothing is special, and in one
    bool restarted, blocks;  ///< blocks: whose iterations all end together
};

inline Period period_of(const Method& method, const Options& options) {
    const auto number = [&](std::string_view name, int otherwise) {
        const bool has = std::ranges::find(method.options, name, &OptionInfo::name) != method.options.end();
        return has ? static_cast<int>(options.number(name)) : otherwise;
    };
    const bool blocks = number("s", 0) + number("t", 0) > 0;
    if (const int cycle = number("m", 0); cycle > 0) return {cycle, cycle, true, blocks};
    const int block = number("s", 1), filled = 6 + 2 * number("l", 1);
    return {block * std::max(2, (filled + block - 1) / block), block, false, blocks};
}

/// The largest entry of a diagonal on which so many iterations leave something of a residual.
inline double largest_entry(int iterations) { return std::max(100.0, std::pow(iterations / 9.0, 2)); }

/// Whether so many repetitions in so many seconds are enough: some even where a busy machine makes them long.
inline bool is_enough(int repetitions, double seconds, const Effort& effort) {
    constexpr int some = 10, few = 3;
    return seconds > effort.seconds && (repetitions >= some || (repetitions >= few && seconds > 10 * effort.seconds) ||
                                        seconds > 100 * effort.seconds);
}

}  // namespace stretto
