// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/comm/collective.hpp"
#include "stretto/measure/triad.hpp"

namespace stretto {

/// Collective. Bytes per second of all ranks together, once, all having started together.
inline double triad_rate(const Comm& comm, const Triad& triad) {
    all_sum(comm, 0.0);
    const auto start = Clock::now();
    triad.run();
    const double seconds = all_max(comm, to_seconds(Clock::now() - start));
    return all_sum(comm, triad.bytes()) / seconds;
}

}  // namespace stretto
