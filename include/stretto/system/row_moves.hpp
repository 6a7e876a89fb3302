// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/sparse/partition.hpp"

namespace stretto {

/// P: rows of vectors from where a user has them to where a matrix that was ordered or dealt anew has them.
class RowMoves {
public:
    /// Nothing moves.
    RowMoves() = default;
    /// Collective. `numbers`: the new ones of this rank's old rows.
    RowMoves(const Comm& comm, const std::vector<Global>& numbers, const Partition& target);

    bool any() const { return !leave_.count.empty(); }

    /// Rows on their way; who keeps them allocates nothing when the next ones are no larger.
    struct Packed {
        std::vector<double> leaving, arriving;
    };
    /// Collective. to = P b, and to = Pᵀ x: this rank's rows, row-major, of so many columns.
    void forward(const Comm& comm, std::span<const double> b, int columns, std::span<double> to, Packed& packed) const;
    void back(const Comm& comm, std::span<const double> x, int columns, std::span<double> to, Packed& packed) const;

private:
    /// Rows that go to, or come from, the ranks, one rank after the other.
    struct Places {
        std::vector<Index> rows;
        std::vector<int> count, first;  // by rank
    };
    static Places places(const std::vector<std::vector<Index>>& of_rank);
    static void move(const Comm& comm, std::span<const double> values, int columns, const Places& from,
                     const Places& to, std::span<double> result, Packed& packed);

    Places leave_, arrive_;
};

}  // namespace stretto
