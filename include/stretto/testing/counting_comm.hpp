// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// Passes everything on and counts it: for tests that a method communicates as its registry row says.
class CountingComm final : public WrappedComm {
public:
    using WrappedComm::WrappedComm;

    std::int64_t sums = 0, summed_values = 0, exchanges = 0, messages_sent = 0, bytes_sent = 0;
    double bytes_charged = 0;
    int most_in_flight = 0;       ///< communications of any kind under way at once
    int most_sums_in_flight = 0;  ///< sums alone
    /// What a test counts up (its products, say), and how much of it was done while each sum was under way, in the
    /// order in which they were finished.
    std::int64_t work = 0;
    std::vector<std::int64_t> work_during_sums;

    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        ++sums;
        summed_values += static_cast<std::int64_t>(mine.size());
        most_sums_in_flight = std::max(most_sums_in_flight, ++sums_in_flight_);
        return keep(inner_.start_sum(mine, total), true);
    }
    void charge(double bytes) override {
        bytes_charged += bytes;
        inner_.charge(bytes);
    }

private:
    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override {
        ++exchanges;
        messages_sent += static_cast<std::int64_t>(sends.size());
        for (const auto& send : sends) bytes_sent += static_cast<std::int64_t>(send.data.size());
        return keep(inner_.start_exchange(receives, sends), false);
    }
    Pending keep(Pending pending, bool is_sum) {
        std::size_t ticket = 0;
        while (ticket < under_way_.size() && under_way_[ticket].used) ++ticket;
        if (ticket == under_way_.size()) under_way_.emplace_back();
        under_way_[ticket] = {std::move(pending), true, is_sum, work};
        most_in_flight = std::max(most_in_flight, ++in_flight_);
        return {*this, static_cast<int>(ticket)};
    }
    std::optional<Clock::time_point> finish(int ticket) override {
        auto& entry = under_way_[static_cast<std::size_t>(ticket)];
        const auto ready = entry.pending.wait();
        entry.used = false;
        --in_flight_;
        if (!entry.is_sum) return ready;
        --sums_in_flight_;
        work_during_sums.push_back(work - entry.work_at_start);
        return ready;
    }

    bool is_complete(int ticket) override { return under_way_[static_cast<std::size_t>(ticket)].pending.complete(); }

    struct Entry {
        Pending pending;
        bool used = false;
        bool is_sum = false;
        std::int64_t work_at_start = 0;
    };
    std::vector<Entry> under_way_;
    int in_flight_ = 0, sums_in_flight_ = 0;
};

}  // namespace stretto
