// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/operators/linear_map.hpp"

namespace stretto {

/// r = b − A x in the columns still solved for, zero in the frozen ones.
template <class T>
constexpr void residual(Space<T>& V, const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) {
    A.apply(x, r);
    V.run(r <<= b - r);
    V.clear_frozen(r);
}

}  // namespace stretto
