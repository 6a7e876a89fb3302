// expect: static assertion failed: dot products are started
// SPDX-License-Identifier: BSD-3-Clause
// A dot product nobody can read.
#include "stretto/execute/space.hpp"

void run(stretto::Space<double>& V, stretto::MultiVector<double> r) { V.run(dot(r, r)); }
