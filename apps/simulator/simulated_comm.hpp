// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "network.hpp"
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

    /// Collective. A new solve: all ranks begin it together, and the noise begins anew, so that what a method meets
    /// does not depend on those before it. `working_set`: what this rank works on from now on, in bytes.
    void begin(double working_set);
    /// From now on a byte that statements tell of stands for so many: a dry run's vectors are short.
    void set_scale(double scale) { scale_ = scale; }

    stretto::Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    std::int64_t sum_before(std::int64_t mine) override;
    void charge(double bytes) override { work(bytes * scale_); }
    /// The same of bytes that are meant as they stand.
    void work(double bytes);
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
    void set_working_set(double bytes);
    int take_ticket();
    void meet();
    void pay();
    void sleep_until(double time);

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
