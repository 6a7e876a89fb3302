// expect: cannot decompose|is private|use of deleted|inaccessible
// SPDX-License-Identifier: BSD-3-Clause
// The numbers of a sum in flight, before it was waited for.
#include "stretto/execute/space.hpp"

double peek(stretto::Space<double>& V, stretto::MultiVector<double> r) {
    auto [rr] = V.start(dot(r, r));
    return rr[0];
}
