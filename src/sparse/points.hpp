// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Appends the columns, counted over all ranks, of a row of this rank.
using ColumnsOf = std::function<void(Index row, std::vector<Global>& columns)>;

/// Collective. How many unknowns stand one after the other at each point of what a matrix was made of, up to six, as
/// far as a sample of its rows tells: they couple with all or most of those at a neighbour. 1: it is not of that kind.
int unknowns_at_a_point(const Comm& comm, const Partition& partition, const ColumnsOf& columns_of);
int unknowns_at_a_point(const CsrMatrix<double>& A);

}  // namespace stretto
