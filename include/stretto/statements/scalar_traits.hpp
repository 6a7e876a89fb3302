// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>

namespace stretto {

// What a type of values decides: here alone.

template <class T>
struct ScalarTraits {
    using Real = T;
    static constexpr bool complex = false;
};
template <class R>
struct ScalarTraits<std::complex<R>> {
    using Real = R;
    static constexpr bool complex = true;
};

/// The type of magnitudes, norms and tolerances.
template <class T>
using real_of = typename ScalarTraits<T>::Real;

/// One term of an inner product, conj(a) · b. Also of registers of real values.
template <class T>
constexpr T inner(const T& a, const T& b) {
    if constexpr (ScalarTraits<T>::complex)
        return std::conj(a) * b;
    else
        return a * b;
}

}  // namespace stretto
