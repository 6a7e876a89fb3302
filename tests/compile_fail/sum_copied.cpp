// expect: use of deleted function
// SPDX-License-Identifier: BSD-3-Clause
// A sum in flight has one owner.
#include "stretto/execute/space.hpp"

void copy(stretto::Space<double>& V, stretto::MultiVector<double> r) {
    auto dots = V.start(dot(r, r));
    auto twice = dots;
    (void)twice.wait();
}
