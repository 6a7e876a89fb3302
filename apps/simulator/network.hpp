// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace simgrid::s4u {
class Host;
}

/// What things cost on the simulated machine: seconds, bytes, and bytes per second of one rank.
struct Costs {
    double memory_bandwidth = 1, cache_bandwidth = 1, cache = 0;
    double kernel = 0;   ///< of every kernel besides, as a group of statements or a product
    double message = 0;  ///< the processor's part in a message, at each end (LogGP's o)
    double node_latency = 0, node_bandwidth = 1, network_bandwidth = 1;
    double imbalance = 0;                        ///< mean of an exponential part by which a kernel takes longer
    double detour_seconds = 0, detour_rate = 0;  ///< the operating system takes so long, so many times a second
    /// An all-reduce of l bytes over p nodes takes c0 + c1 lⁿ⁰ pⁿ¹ at least; zeros: as long as its messages take.
    std::array<double, 4> all_reduce{};
    /// A message of l bytes in an exchange between nodes takes c1 + c2 l^c3 up to c0 bytes, c4 + c5 l^c6 beyond, both
    /// ends included; zeros: what its way takes.
    std::array<double, 7> exchange{};
    std::uint64_t seed = 1;
    int ranks_per_node = 1;

    /// Seconds that a byte takes of a rank that works on so many: what fits the cache is moved at its bandwidth.
    double seconds_per_byte(double working_set) const;
    bool are_noisy() const { return imbalance > 0 || detour_rate > 0; }
    /// So many seconds of work as noise makes them: imbalance lengthens a kernel in proportion, detours of the
    /// operating system come by the time it takes. `calls` counts the numbers that the rank has drawn.
    double noisy(double seconds, int rank, std::uint64_t& calls) const;
};

/// Messages without contention between the ranks of the simulated machine.
class Network {
public:
    Costs costs;
    std::vector<simgrid::s4u::Host*> hosts;  ///< by rank

    /// Seconds of so many bytes on their way, alone.
    double transit(int from, int to, std::size_t bytes);
    /// The same of a message to a neighbour: by the law of the machine, if there is one.
    double exchanged(int from, int to, std::size_t bytes);
    /// What the law of the machine adds to the step of an all-reduce at this level, in which groups of 2^level ranks
    /// become twice as large.
    double floor_of(int level, std::size_t bytes) const;
    /// Recursive doubling: `times`, when the ranks start to sum so many values, become those when each has the sum.
    void all_reduce(std::vector<double>& times, std::size_t values);

private:
    /// From one node to another.
    struct Way {
        double latency = 0, bandwidth = INFINITY;
    };
    Way way(int from, int to);
    std::vector<Way> ways_of_level(int level);

    std::map<std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*>, Way> ways_;
    std::vector<std::vector<Way>>
        levels_;  // of an all-reduce: the way to each rank; of ranks in pairs there and back last
    std::vector<double> ends_;
};
