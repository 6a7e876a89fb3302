// expect: ignoring return
// SPDX-License-Identifier: BSD-3-Clause
// A sum started and lost.
#include "stretto/execute/space.hpp"

void drop(stretto::Space<double>& V, stretto::MultiVector<double> r) { V.start(dot(r, r)); }
