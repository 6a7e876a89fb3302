// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "stretto/core/error.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// Contiguous rows of every rank; any sizes, empty ranks included. The same object on every rank.
class Partition {
public:
    /// Rank p owns rows first[p] … first[p+1] − 1. Throws InputError unless `first` starts at 0, never falls,
    /// and no rank holds more rows than a local index can count.
    explicit Partition(std::vector<Global> first) : first_(std::move(first)) {
        if (first_.size() < 2 || first_.front() != 0 || !std::is_sorted(first_.begin(), first_.end()))
            throw InputError("a partition needs row offsets that start at 0 and never fall");
        for (std::size_t p = 0; p + 1 < first_.size(); ++p)
            if (first_[p + 1] - first_[p] > std::numeric_limits<Index>::max())
                throw InputError("rank " + std::to_string(p) + " would own " +
                                 std::to_string(first_[p + 1] - first_[p]) +
                                 " rows, more than a local 32-bit index can count: use more ranks");
    }

    /// The same number of rows for every rank, to within one.
    static Partition even(Global rows, int ranks) {
        std::vector<Global> first(static_cast<std::size_t>(ranks) + 1);
        for (int p = 0; p <= ranks; ++p)
            first[static_cast<std::size_t>(p)] = rows / ranks * p + std::min<Global>(p, rows % ranks);
        return Partition(std::move(first));
    }

    Global rows() const { return first_.back(); }
    int ranks() const { return static_cast<int>(first_.size()) - 1; }
    Global first(int rank) const { return first_[static_cast<std::size_t>(rank)]; }
    Index rows(int rank) const { return static_cast<Index>(first(rank + 1) - first(rank)); }
    int owner(Global row) const {
        return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), row) - first_.begin()) - 1;
    }

    bool operator==(const Partition&) const = default;

private:
    std::vector<Global> first_;
};

}  // namespace stretto
