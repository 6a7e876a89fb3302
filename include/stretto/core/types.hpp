// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace stretto {

using Index = std::int32_t;   ///< a row, column or nonzero on one rank
using Global = std::int64_t;  ///< a row, column or count over all ranks

/// Columns (right-hand sides) one solve can hold: scalars of the recurrences live on the stack.
inline constexpr int max_columns = 64;

/// The smallest multiple of `step` that is not below `value`.
template <class I>
constexpr I round_up(I value, I step) {
    return (value + step - 1) / step * step;
}

/// What all times are measured by: this machine's clock or, in a simulation, the simulated machine's.
#ifdef STRETTO_SIMULATION
struct Clock {
    using duration = std::chrono::duration<std::int64_t, std::pico>;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Clock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};
#else
using Clock = std::chrono::steady_clock;
#endif
inline double to_seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace stretto
