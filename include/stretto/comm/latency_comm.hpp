// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// What communication takes on an emulated network.
struct Latency {
    Clock::duration reduction{};  ///< from the start of a sum on the last rank until it is ready on all
    Clock::duration message{};    ///< from the start of an exchange on a rank until it is ready there
    Clock::duration jitter{};     ///< up to this much more, at random, for either that is not zero
};

/// Reads REDUCTION[,message=TIME][,jitter=TIME], times as 500us, 20ns, 1.5ms, 0s or 0. Throws InputError.
Latency parse_latency(const std::string& text);

/// Communication that takes at least so long, while the work goes on: a network of any latency, emulated on a machine
/// that has none, so that hiding it can be shown and tested. Every sum and every exchange is what it is without, bit by
/// bit, but its wait() returns no earlier. The latency passes by itself; what the communicator below takes comes on top
/// only where it is longer.
class LatencyComm final : public WrappedComm {
public:
    /// Collective: the clocks are compared, because a sum begins when its last rank does.
    LatencyComm(Comm& inner, Latency latency, std::uint64_t seed = 1);

    Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    bool progresses() const override { return true; }
    const Latency& latency() const { return latency_; }

private:
    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override;
    std::optional<Clock::time_point> finish(int ticket) override;
    bool is_complete(int ticket) override;

    struct Flying {
        Pending pending;
        Clock::duration latency{};  // zero: none
        Clock::time_point start;
        Clock::rep mine = 0, last = 0;  // start on rank 0's clock: here, and on the rank that was last
        MPI_Request request = MPI_REQUEST_NULL;
        bool used = false;
    };
    Flying& take(Clock::duration latency, std::uint64_t stream, std::int64_t number);
    Pending fly(Flying& flying, Pending pending);
    void take_start(Flying& flying) const;

    Latency latency_;
    std::uint64_t seed_;
    std::int64_t sums_ = 0, exchanges_ = 0;
    Clock::duration offset_;     // of this rank's clock
    std::deque<Flying> flying_;  // by ticket; a deque never moves its elements
};

}  // namespace stretto
