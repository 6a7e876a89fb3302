// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/comm/comm.hpp"

namespace stretto {

/// Collective. The sum over the ranks of the communicator that share this one's node.
inline double sum_on_node(const Comm& comm, double mine) {
    MPI_Comm node = MPI_COMM_NULL;
    double sum = 0;
    MPI_Comm_split_type(comm.mpi(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, node);
    MPI_Comm_free(&node);
    return sum;
}

/// Collective. How many these are.
inline int ranks_on_node(const Comm& comm) { return static_cast<int>(sum_on_node(comm, 1)); }

}  // namespace stretto
