// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/comm/comm.hpp"

namespace stretto {

/// Collective. OMP_NUM_THREADS where set; else this rank's share of the node's cores, and no more than it is bound to;
/// where it is not bound, of those that other programs have left idle since this one began. Throws InputError, the same
/// on every rank, where OMP_NUM_THREADS is no number.
int default_threads(const Comm& comm);

/// Collective. The same for loops over so many values on this rank: 1 where these are too few, on every rank, to be
/// worth sharing out.
int default_threads(const Comm& comm, double values);

/// Collective. How many of this node's cores other programs have kept busy since this one began; 0 where that is not
/// known: within the first moments, and on cores that ranks are bound to.
double busy_elsewhere(const Comm& comm);

/// Seconds that this process's first thread, ready to run, has waited for a core since it began: others had it. 0 where
/// the system does not tell.
double waited_for_core();

}  // namespace stretto
