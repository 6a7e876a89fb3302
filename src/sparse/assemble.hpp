// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/sparse/distributed_rows.hpp"

namespace stretto {

/// Collective. Sends to_rank[p] to rank p; returns what each rank sent here. What stays here is not copied.
template <class T>
std::vector<std::vector<T>> exchange(const Comm& comm, std::vector<std::vector<T>> to_rank) {
    const auto me = static_cast<std::size_t>(comm.rank());
    auto mine = std::exchange(to_rank[me], {});
    auto from_rank = comm.size() == 1 ? std::move(to_rank) : all_to_all(comm, to_rank);
    from_rank[me] = std::move(mine);
    return from_rank;
}

/// Compresses entries, all of rows first … first + rows − 1. Duplicates are added in the order of the
/// entries.
template <class T>
LocalRows<T> compress(Global first, Index rows, std::vector<std::vector<Entry<T>>> pieces);

}  // namespace stretto
