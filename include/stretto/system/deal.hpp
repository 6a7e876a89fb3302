// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/given_rows.hpp"

namespace stretto {

/// How well rows are dealt.
struct PartitionQuality {
    Global edge_cut = 0;   ///< nonzeros in columns of other ranks
    Global halo = 0;       ///< rows that ranks receive for a product, all together
    double imbalance = 1;  ///< most nonzeros of a rank over their mean
};

/// Collective.
PartitionQuality quality(const Comm& comm, const DistributedRows& matrix);
PartitionQuality quality(const Comm& comm, const DistributedGivenRows& matrix);

/// How rows are dealt anew.
enum class Dealing { metis, nonzeros };

/// Rows dealt anew.
struct Dealt {
    bool kept = false;            ///< else all is left as it was
    std::vector<Global> numbers;  ///< the new ones of this rank's old rows
    std::string remark;           ///< what it brought
};

/// Collective. Deals the rows of a matrix anew, in place, unless that brings nothing.
Dealt deal(const Comm& comm, DistributedRows& matrix, Dealing dealing);

}  // namespace stretto
