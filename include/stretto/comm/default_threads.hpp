// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/comm/comm.hpp"

namespace stretto {

/// Collective. OMP_NUM_THREADS where set; else this rank's share of the node's cores, and no more than it is bound to.
/// Throws InputError, the same on every rank, where OMP_NUM_THREADS is no number.
int default_threads(const Comm& comm);

}  // namespace stretto
