// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/sparse/partition.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// One nonzero, zero-based.
template <class T>
struct Entry {
    Global row, column;
    T value;
};

/// The rows of one rank, compressed, with global columns in increasing order and no duplicates: what readers
/// and generators make and the distributed matrix is built from. Row i: positions start[i] … start[i+1] − 1.
template <class T>
struct LocalRows {
    std::vector<Global> start{0};
    std::vector<Global> columns;
    std::vector<T> values;

    Index rows() const { return static_cast<Index>(start.size()) - 1; }
};

/// A square matrix as readers and generators make it: who owns which rows, and those of this rank.
template <class T>
struct DistributedRowsOf {
    Partition partition;
    LocalRows<T> rows;
};
using DistributedRows = DistributedRowsOf<double>;

/// Collective. Sends every entry to the owner of its row and compresses; entries of the same place are added.
template <class T>
LocalRows<T> assemble(const Comm& comm, const Partition& partition, std::vector<Entry<T>> entries);

}  // namespace stretto
