// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <type_traits>

namespace stretto {

/// What a type of values decides: here alone. As it stands, for real values; another type is a specialisation.
template <class T>
struct ScalarTraits {
    using Real = T;  ///< of magnitudes, norms and tolerances
    using Sum = T;   ///< what dot products add up in
    /// Of a value, or of a register of values.
    template <class Y>
    static constexpr Y conj(Y a) {
        return a;
    }
};
template <>
struct ScalarTraits<float> : ScalarTraits<double> {
    using Real = float;
};

/// The numbers that values of T are: the type of coefficients and sums, which are on the host wherever vectors are.
template <class T>
struct NumberOf {
    using type = T;
};
template <class T>
using Number = typename NumberOf<std::remove_const_t<T>>::type;
/// Whether vectors of T are in the memory of this process, where anybody may look at their elements.
template <class T>
concept OnHost = std::same_as<std::remove_const_t<T>, Number<T>>;

template <class T>
using real_of = typename ScalarTraits<T>::Real;
template <class T>
using sum_of = typename ScalarTraits<T>::Sum;

/// One term of an inner product of values of type T, conj(a) · b; a and b may be registers of them.
template <class T, class Y>
constexpr Y inner(Y a, Y b) {
    return ScalarTraits<T>::conj(a) * b;
}

}  // namespace stretto
