// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/core/comm.hpp"

namespace stretto {

/// What communication takes on an emulated network.
struct Latency {
    Clock::duration reduction{};  ///< from the start of a sum until it is ready
    Clock::duration message{};    ///< the same of an exchange between neighbours
    Clock::duration jitter{};     ///< up to this much more, at random, for either that is not zero
};

/// Reads REDUCTION[,message=TIME][,jitter=TIME], times as 500us, 20ns, 1.5ms, 0s or 0. Throws InputError.
Latency parse_latency(const std::string& text);

/// Communication that takes at least so long, while the work goes on: a network of any latency, emulated on a machine
/// that has none, so that hiding it can be shown and tested. Every sum and every exchange is what it is without, bit by
/// bit, but its wait() returns no earlier than the latency after its start on this rank. (A real sum would be ready so
/// long after its start on the last rank.) The latency passes by itself; what the communicator below takes comes on top
/// where it takes longer.
class LatencyComm final : public WrappedComm {
public:
    LatencyComm(Comm& inner, Latency latency, std::uint64_t seed = 1);

    Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    bool progresses() const override { return true; }

private:
    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override;
    std::optional<Clock::time_point> finish(int ticket) override;

    struct Flying {
        Pending pending;
        Clock::time_point due;
        bool used = false;
    };
    Pending fly(Pending pending, Clock::time_point due);
    Clock::time_point due_after(Clock::duration latency, std::uint64_t stream, std::int64_t number) const;

    Latency latency_;
    std::uint64_t seed_;
    std::int64_t sums_ = 0, exchanges_ = 0;
    std::vector<Flying> flying_;  // by ticket
};

}  // namespace stretto
