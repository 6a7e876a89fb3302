// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "network.hpp"
#include "simulated_comm.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/sparse/partition.hpp"

/// One process computes what the ranks of a simulated machine would, for all of them together, and every rank has its
/// clock: what a kernel, a reduction or an exchange does to each is what SimulatedComm with `ana` and `memory` does to
/// it. To the methods it is a communicator of one rank, whose clock is that of the rank that is behind all others.
class GatheredComm final : public stretto::Comm {
public:
    /// What every rank sends to others, in their order, with the seconds of the message on its way.
    struct Exchange {
        struct Message {
            int to;
            double seconds;
        };
        std::vector<std::vector<Message>> messages;  ///< by sender
        std::vector<int> senders;                    ///< how many send to each rank
    };
    /// `hosts` by rank; `partition` deals the rows to them.
    GatheredComm(const Costs& costs, const SimulationOptions& options, std::vector<simgrid::s4u::Host*> hosts,
                 const stretto::Partition& partition);
    ~GatheredComm() override;

    Network& network() { return network_; }
    int ranks() const { return static_cast<int>(clocks_.size()); }

    /// A new solve: all clocks at zero, the noise begins anew. `working_set`: bytes that a rank works on.
    void begin(const std::function<double(int rank)>& working_set);
    /// A kernel of which every rank does its part by rows.
    void charge(double bytes) override;
    /// One of which every rank with a part does this part, in bytes; less than zero: none.
    void charge_each(const std::vector<double>& bytes);
    /// What the next exchange is; its buffers are none: comm.start_exchange({}, {}).
    void prepare(const Exchange& exchange) { exchange_ = &exchange; }

    stretto::Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    std::int64_t sum_before(std::int64_t) override { return 0; }
    bool progresses() const override { return !options_.blocking; }

    /// Virtual seconds of the rank that is behind all others.
    double now() const;

private:
    stretto::Pending post_exchange(std::span<const stretto::Message> receives,
                                   std::span<const stretto::Message> sends) override;
    std::optional<stretto::Clock::time_point> finish(int ticket) override;
    void work(std::size_t rank, double bytes);

    static constexpr int ticket_of_exchange = -1;

    SimulationOptions options_;
    Network network_;
    std::vector<double> share_;  // of the rows
    std::vector<double> clocks_, seconds_per_byte_;
    std::vector<std::uint64_t> calls_;  // of the noise
    const Exchange* exchange_ = nullptr;
    std::vector<double> arrivals_;
    std::deque<std::vector<double>> sums_;  // by ticket: when each rank has it
    std::vector<int> free_tickets_;
    mutable double latest_ = 0;
    mutable bool moved_ = false;  // since the latest was found
};
