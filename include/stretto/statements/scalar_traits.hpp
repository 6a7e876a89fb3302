// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <complex>
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
template <class X>
struct ScalarTraits<std::complex<X>> {
    using Real = X;
    using Sum = std::complex<typename ScalarTraits<X>::Sum>;
    template <class Y>
    static constexpr Y conj(const Y& a) {
        return {real(a), -imag(a)};
    }
};

/// The numbers that values of T are: the type of coefficients and sums, which are on the host wherever vectors are.
/// Those of vectors in single precision are in double: it is vectors that memory is passed over for.
template <class T>
struct NumberOf {
    using type = T;
};
template <>
struct NumberOf<float> {
    using type = double;
};
template <>
struct NumberOf<std::complex<float>> {
    using type = std::complex<double>;
};
template <class T>
using Number = typename NumberOf<std::remove_const_t<T>>::type;
/// The same values in single precision.
template <class T>
using Single = std::conditional_t<std::same_as<Number<T>, std::complex<double>>, std::complex<float>, float>;
template <class T>
inline constexpr bool is_single = std::same_as<std::remove_const_t<T>, Single<T>>;
/// Whether vectors of T are in the memory of this process, where anybody may look at their elements.
template <class T>
concept OnHost = std::same_as<std::remove_const_t<T>, Number<T>> || is_single<T>;

template <class T>
using real_of = typename ScalarTraits<T>::Real;
template <class T>
using sum_of = typename ScalarTraits<T>::Sum;
/// Of norms and what is compared with them, for vectors of T.
template <class T>
using Real = real_of<Number<T>>;

template <class T>
inline constexpr bool is_complex = !std::same_as<Real<T>, Number<T>>;
/// The real numbers that a value of T is made of, and a sum of its dot products alike.
template <class T>
inline constexpr int reals_in = is_complex<T> ? 2 : 1;

/// Of the CMake option STRETTO_SCALARS; a program that includes these headers has it from the library's target.
#ifndef STRETTO_COMPLEX
#define STRETTO_COMPLEX 1
#endif
/// The scalars that the library is built for.
template <class T>
inline constexpr bool scalar_is_built =
    std::same_as<Number<T>, double> || (STRETTO_COMPLEX && std::same_as<Number<T>, std::complex<double>>);

/// One term of an inner product of values of type T, conj(a) · b; a and b may be registers of them.
template <class T, class Y>
constexpr Y inner(Y a, Y b) {
    return ScalarTraits<T>::conj(a) * b;
}

// What the small matrices of methods need of numbers that may be complex; nothing is left of it for real ones.

template <class Y>
constexpr Y conjugate(Y a) {
    return ScalarTraits<Y>::conj(a);
}
template <std::floating_point X>
constexpr X real_part(X a) {
    return a;
}
template <class X>
constexpr X real_part(const std::complex<X>& a) {
    return a.real();
}
/// |a|²
template <std::floating_point X>
constexpr X abs_squared(X a) {
    return a * a;
}
template <class X>
constexpr X abs_squared(const std::complex<X>& a) {
    return a.real() * a.real() + a.imag() * a.imag();
}
/// Of length `length` and the sign, or the direction, of a.
template <std::floating_point X>
constexpr X with_length(X length, X a) {
    return std::copysign(length, a);
}
template <class X>
std::complex<X> with_length(X length, const std::complex<X>& a) {
    const X size = std::abs(a);
    return size > 0 ? a * (length / size) : std::complex<X>{length};
}
template <std::floating_point X>
constexpr bool is_finite(X a) {
    return __builtin_isfinite(a);
}
template <class X>
bool is_finite(const std::complex<X>& a) {
    return __builtin_isfinite(a.real()) && __builtin_isfinite(a.imag());
}

}  // namespace stretto
