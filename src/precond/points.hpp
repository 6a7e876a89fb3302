// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Collective. How many unknowns stand one after the other at each point of what A was made of, up to six, as far as a
/// sample of its rows tells: they couple with all or most of those at a neighbour. 1: A is not of that kind.
int unknowns_at_a_point(const CsrMatrix<double>& A);

}  // namespace stretto
