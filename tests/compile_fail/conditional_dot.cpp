// expect: static assertion failed: the number of dot products
// SPDX-License-Identifier: BSD-3-Clause
// All ranks sum the same number of values.
#include "stretto/execute/space.hpp"

auto start(stretto::Space<double>& V, stretto::MultiVector<double> r, bool maybe) {
    return V.start(when(maybe, dot(r, r)));
}
