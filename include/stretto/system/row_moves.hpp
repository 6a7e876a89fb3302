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

    bool any() const { return !leave_.empty(); }

    /// Collective. P b, and Pᵀ x: this rank's rows, row-major, of so many columns.
    std::vector<double> forward(const Comm& comm, std::span<const double> b, int columns) const;
    std::vector<double> back(const Comm& comm, std::span<const double> x, int columns) const;

private:
    Index old_rows_ = 0, new_rows_ = 0;
    std::vector<std::vector<Index>> leave_, arrive_;  // rows that go to, or come from, each rank
};

}  // namespace stretto
