// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/random.hpp"

namespace stretto {

/// The least helpful communication that is still correct: for tests that nobody counts on more than is
/// promised. Results are delivered at wait() and not before; until then their buffers hold NaN. What was
/// given to be sent is copied, so that changing it afterwards does not go unnoticed elsewhere. At a wait,
/// others under way may complete first, and every wait may be late.
class ChaoticComm final : public WrappedComm {
public:
    ChaoticComm(Comm& inner, std::uint64_t seed)
        : WrappedComm(inner), random_(splitmix64(seed) + static_cast<std::uint64_t>(inner.rank())) {}

    bool progresses() const override { return false; }

    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        auto& slot = take();
        add(slot.deliveries, std::as_writable_bytes(total));
        slot.sent.push_back(bytes_of(std::as_bytes(mine)));
        const auto* values = reinterpret_cast<const double*>(slot.sent[0].data());
        auto* sums = reinterpret_cast<double*>(slot.deliveries[0].received.data());
        slot.pending = inner_.start_sum({values, mine.size()}, {sums, total.size()});
        slot.sum = true;
        return started(slot);
    }

    /// Sums waited for so far, and by how many seconds at least their waits were late.
    std::int64_t sums_waited() const { return sums_waited_; }
    double lateness() const { return to_seconds(lateness_); }

private:
    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override {
        auto& slot = take();
        std::vector<Message> private_receives, private_sends;
        for (const auto& [rank, data] : receives) add(slot.deliveries, data);
        for (std::size_t k = 0; k < receives.size(); ++k)
            private_receives.push_back({receives[k].rank, slot.deliveries[k].received});
        for (const auto& [rank, data] : sends) slot.sent.push_back(bytes_of(data));
        for (std::size_t k = 0; k < sends.size(); ++k) private_sends.push_back({sends[k].rank, slot.sent[k]});
        slot.pending = inner_.start_exchange(private_receives, private_sends);
        return started(slot);
    }

    struct Delivery {
        std::span<std::byte> target;
        std::vector<std::byte> received;
    };
    struct Slot {
        std::vector<Delivery> deliveries;
        std::vector<std::vector<std::byte>> sent;
        Pending pending;
        bool used = false, sum = false;
    };

    static std::vector<std::byte> bytes_of(std::span<const std::byte> data) { return {data.begin(), data.end()}; }

    static void add(std::vector<Delivery>& deliveries, std::span<std::byte> target) {
        const double poison = std::numeric_limits<double>::quiet_NaN();
        const auto nan = std::as_bytes(std::span(&poison, 1));
        for (std::size_t i = 0; i < target.size(); ++i) target[i] = nan[i % sizeof(double)];
        deliveries.push_back({target, bytes_of(target)});
    }

    Slot& take() {
        for (auto& slot : slots_)
            if (!slot.used) {
                slot = Slot{};
                return slot;
            }
        return slots_.emplace_back();
    }
    Pending started(Slot& slot) {
        slot.used = true;
        for (std::size_t k = 0; k < slots_.size(); ++k)
            if (&slots_[k] == &slot) return {*this, static_cast<int>(k)};
        return {};
    }

    std::uint64_t next() { return random_ = splitmix64(random_); }

    std::optional<Clock::time_point> finish(int ticket) override {
        Clock::duration late{};
        if (const auto random = next(); random % 4 == 0) late = std::chrono::microseconds(random / 4 % 50);
        std::this_thread::sleep_for(late);
        if (auto& other = slots_[next() % slots_.size()]; other.used) other.pending.wait();
        auto& slot = slots_[static_cast<std::size_t>(ticket)];
        slot.pending.wait();
        for (auto& [target, received] : slot.deliveries) std::ranges::copy(received, target.begin());
        slot.used = false;
        if (slot.sum) {
            ++sums_waited_;
            lateness_ += late;
        }
        return Clock::now();
    }

    /// Any of those under way may be waited for with it.
    bool is_complete(int) override {
        return std::ranges::all_of(slots_, [](Slot& slot) { return !slot.used || slot.pending.complete(); });
    }

    std::deque<Slot> slots_;
    std::uint64_t random_;
    std::int64_t sums_waited_ = 0;
    Clock::duration lateness_{};
};

}  // namespace stretto
