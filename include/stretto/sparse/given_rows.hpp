// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "stretto/core/types.hpp"
#include "stretto/sparse/partition.hpp"

namespace stretto {

/// Rows as LocalRows has them, where a program has them, with 32-bit numbers: views, of arrays that stay and stay as
/// they are.
template <class T>
struct GivenRows {
    std::span<const Index> start, columns;
    std::span<const T> values;

    Index rows() const { return static_cast<Index>(start.size()) - 1; }
};

/// A square matrix of such rows: who owns which, and those of this rank.
struct DistributedGivenRows {
    Partition partition;
    GivenRows<double> rows;
};

}  // namespace stretto
