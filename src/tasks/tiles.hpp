// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

#include "stretto/core/parallel.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// The tiles of a rank's rows, and which of them hold some rows.
class Tiles {
public:
    Tiles(Index rows, int count) {
        for (int t = 0; t < count; ++t)
            ends_.push_back(static_cast<Index>(RowShare(static_cast<std::size_t>(rows), t, count).end));
    }
    int of(Index row) const { return static_cast<int>(std::ranges::upper_bound(ends_, row) - ends_.begin()); }
    /// Collects tiles: the first to ask for one adds it.
    class Set {
    public:
        explicit Set(const Tiles& tiles) : tiles_(tiles), there_(tiles.ends_.size()) {}
        void add(Index row) { there_[static_cast<std::size_t>(tiles_.of(row))] = true; }
        void add(Index begin, Index end) {
            if (begin == end) return;
            for (int t = tiles_.of(begin); t <= tiles_.of(end - 1); ++t) there_[static_cast<std::size_t>(t)] = true;
        }
        std::vector<int> list() const {
            std::vector<int> all;
            for (int t = 0; t < static_cast<int>(there_.size()); ++t)
                if (there_[static_cast<std::size_t>(t)]) all.push_back(t);
            return all;
        }

    private:
        const Tiles& tiles_;
        std::vector<bool> there_;
    };

private:
    std::vector<Index> ends_;
};

/// What the tasks of one call of an operator share, kept for another call when the last of them is done.
template <class Call>
class Calls {
public:
    Call& take(int tasks) {
        auto free = std::ranges::find_if(
            calls_, [](const Call& call) { return call.left.load(std::memory_order_acquire) == 0; });
        Call& call = free == calls_.end() ? calls_.emplace_back() : *free;
        call.left.store(tasks, std::memory_order_relaxed);
        return call;
    }

private:
    std::deque<Call> calls_;
};

}  // namespace stretto
