// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/comm/collective.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/core/memory.hpp"
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

/// Collective. Data below so many bytes, twice the last-level caches of all ranks, of so many threads, are served from
/// caches in good part: the triad, which is not, is no measure of them. 0: not known.
inline double cached_data(const Comm& comm, int threads) {
    const int ranks = ranks_on_node(comm);
    return 2 * all_sum(comm, last_level_cache(ranks * threads) / ranks);
}

}  // namespace stretto
