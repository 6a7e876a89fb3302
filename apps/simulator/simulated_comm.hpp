// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"

namespace simgrid::s4u {
class Actor;
}

/// What carries the sums in flight of a simulation.
enum class Reductions {
    rd,   ///< recursive doubling by messages, which advance only inside calls of their rank
    act,  ///< the same by an actor of its own: it advances by itself, and its messages share links with others
    ana,  ///< the same computed: every step of every rank, from the times of the starts, without contention
    mpi,  ///< SMPI's blocking MPI_Allreduce, which charges nothing for the ends of messages; a check of the others
};

/// What carries the values of neighbours.
enum class Exchanges {
    messages,  ///< of SMPI, which share links
    memory,    ///< handed over in memory, with the arrival times of a LogGP model, without contention
};

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
};

struct SimulationOptions {
    Reductions reductions = Reductions::ana;
    Exchanges exchanges = Exchanges::messages;
    bool blocking = false;  ///< every sum is waited for where it is started
    int polls = 0;          ///< for rd: tests of what is in flight in every kernel
    bool dry = false;       ///< exchanges carry sizes, no values
};

/// A rank of a simulated machine. Kernels cost virtual time by the bytes they say they move; it is owed until the rank
/// communicates.
class SimulatedComm final : public stretto::Comm {
public:
    SimulatedComm(const Costs& costs, const SimulationOptions& options);
    ~SimulatedComm() override;

    /// What the rank works on from now on, in bytes: what fits the cache is moved at the cache's bandwidth.
    void set_working_set(double bytes);
    /// From now on a byte that statements tell of stands for so many: a dry run's vectors are short.
    void set_scale(double scale) { scale_ = scale; }

    stretto::Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    std::int64_t sum_before(std::int64_t mine) override;
    void charge(double bytes) override { work(bytes * scale_); }
    /// The same of bytes that are meant as they stand.
    void work(double bytes);
    /// The noise begins anew: what a method meets does not depend on those before it.
    void restart_noise() { calls_ = 0; }
    stretto::ProgressMode progress_mode() const override { return stretto::ProgressMode::none; }
    bool progresses() const override {
        return !options_.blocking &&
               (options_.reductions == Reductions::act || options_.reductions == Reductions::ana || options_.polls > 0);
    }

    /// Collective, in no virtual time. The largest of all ranks, value by value.
    void largest_of(std::span<double> values);

    /// Virtual seconds, what is owed included.
    double now() const;
    /// The same of the rank that asks.
    static double clock();

private:
    /// What a rank does in one step of recursive doubling.
    struct Step {
        int partner;
        bool sends, receives, replaces;
        int level;  ///< groups of 2^level ranks exchange their sums
    };
    static constexpr int before_all = -1, after_all = -2;  // levels where the number of ranks is no power of two
    struct Flying {
        bool sum = false;
        std::int64_t number = 0;
        std::span<double> total;
        std::vector<double> sending, receiving;  // the last entry: when it was sent
        std::vector<MPI_Request> requests;
        std::vector<std::pair<int, std::span<std::byte>>> receives;
        std::size_t step = 0, received = 0;
        bool arrived = false, done = false;
        double start = 0, posted = 0, due = 0;  // posted and due: of the step
        simgrid::s4u::Actor* waiting = nullptr;
    };
    struct World;
    friend struct World;

    stretto::Pending post_exchange(std::span<const stretto::Message> receives,
                                   std::span<const stretto::Message> sends) override;
    std::optional<stretto::Clock::time_point> finish(int ticket) override;
    int take_ticket();
    void meet();
    void pay();
    void sleep_until(double time);
    double noisy(double seconds);
    double floor_of(int level, std::size_t bytes) const;
    double transit(int from, int to, std::size_t bytes);
    double exchanged(int to, std::size_t bytes);

    void post(Flying& flying);
    void advance(Flying& flying, bool wait);
    void post_computed(Flying& flying);
    void post_actor(Flying& flying);
    void take_parcels(Flying& flying);
    void complete(Flying& flying, int ticket);
    void wait_for(std::vector<MPI_Request>& requests);

    Costs costs_;
    SimulationOptions options_;
    bool on_paper_;  // all times are computed: ranks keep their own clocks, and the simulator's stands still
    World& world_;
    std::vector<Step> steps_;
    double seconds_per_byte_ = 0, scale_ = 1, owed_ = 0;
    std::int64_t sums_ = 0;
    std::uint64_t calls_ = 0;  // of the noise
    std::deque<Flying> flying_;
    std::vector<int> free_tickets_, under_way_;
};
