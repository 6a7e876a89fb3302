// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/io/generators.hpp"

namespace stretto {

/// Collective. The rank for each local row, by METIS's k-way partition of the pattern of A + Aᵀ, on rank 0. Weights are
/// nonzeros, so that products are balanced. Throws InputError, the same on every rank, where METIS cannot.
std::vector<int> metis_parts(const Comm& comm, const DistributedRows& problem);

/// Collective. The rank for each local row, so that all have about the same number of nonzeros.
std::vector<int> balanced_parts(const Comm& comm, const LocalRows<double>& rows);

/// Local rows in reverse Cuthill–McKee order (Cuthill and McKee 1969; George 1971), each component from an end of it.
std::vector<Index> reverse_cuthill_mckee(const Comm& comm, const DistributedRows& problem);

}  // namespace stretto
