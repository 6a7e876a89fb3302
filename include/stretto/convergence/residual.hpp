// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/operators/linear_map.hpp"

namespace stretto {

/// r = b − A x in the columns still solved for, zero in the frozen ones.
template <class T>
void residual(Space<T>& V, const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
    A.apply(x, r);
    V.run(r <<= b - r);
    V.clear_frozen(r);
}

/// Whether the recursive residual r has left the true one, b − A x, by more than `tolerable`·‖r‖ in some column: the
/// criterion for a residual replacement. `scratch` is overwritten.
template <class T>
bool residual_gap(Space<T>& V, const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r,
                  MultiVector<T> scratch, double tolerable) {
    residual(V, A, b, x, scratch);
    auto [gap, rr] = V.start(scratch <<= scratch - r, dot(scratch, scratch), dot(r, r)).wait();
    for (int j = 0; j < V.width(); ++j)
        if (gap[j] > tolerable * tolerable * rr[j]) return true;
    return false;
}

}  // namespace stretto
