// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Loops over dense columns, for low-rank approximation: ranks are some tens, where BLAS's calls cost more than their
// work.

#include <cmath>
#include <complex>
#include <cstddef>

namespace stretto::columns {

// As long as the processor's: GCC 12 keeps longer vectors in memory.
#ifdef __AVX512F__
constexpr std::size_t width = 8;
#else
constexpr std::size_t width = 4;
#endif
typedef double Lanes __attribute__((vector_size(8 * width), aligned(8), may_alias));
typedef double Four __attribute__((vector_size(32)));

inline double sum_of_lanes(const Lanes& v) {
#ifdef __AVX512F__
    const Four sums = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
    const Four sums = v;
#endif
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

inline const Lanes& lanes(const double* from) { return *reinterpret_cast<const Lanes*>(from); }

inline double sum_of_products(const double* a, const double* b, std::size_t n) {
    constexpr std::size_t chains = 4;  // sums that do not wait for each other
    Lanes sums[chains] = {};
    std::size_t i = 0;
    for (; i + width * chains <= n; i += width * chains)
        for (std::size_t c = 0; c < chains; ++c) sums[c] += lanes(a + i + width * c) * lanes(b + i + width * c);
    for (; i + width <= n; i += width) sums[0] += lanes(a + i) * lanes(b + i);
    double sum = sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/// aᴴ b.
inline double inner(const double* a, const double* b, std::size_t n) { return sum_of_products(a, b, n); }
inline std::complex<double> inner(const std::complex<double>* a, const std::complex<double>* b, std::size_t n) {
    double real = 0, imaginary = 0;
#pragma omp simd reduction(+ : real, imaginary)
    for (std::size_t i = 0; i < n; ++i) {
        real += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
        imaginary += a[i].real() * b[i].imag() - a[i].imag() * b[i].real();
    }
    return {real, imaginary};
}
/// ‖a‖².
inline double squared_norm(const double* a, std::size_t n) { return sum_of_products(a, a, n); }
inline double squared_norm(const std::complex<double>* a, std::size_t n) {
    return squared_norm(reinterpret_cast<const double*>(a), 2 * n);
}
/// a b, without the search for infinities that std::complex has.
inline double product(double a, double b) { return a * b; }
inline std::complex<double> product(std::complex<double> a, std::complex<double> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

inline constexpr std::size_t together = 4;  // columns that one pass over another takes

template <std::size_t count, class T>
void subtract_some(const T* A, std::size_t ld, const T* factors, std::size_t step, T* from, std::size_t n) {
    T f[count];
    for (std::size_t c = 0; c < count; ++c) f[c] = factors[c * step];
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        T value = from[i];
        for (std::size_t c = 0; c < count; ++c) value -= product(f[c], A[c * ld + i]);
        from[i] = value;
    }
}

/// from −= Σ factors[l · step] A(:, l) over k columns, of n rows, which lie `ld` apart.
template <class T>
void subtract(const T* A, std::size_t ld, std::size_t k, const T* factors, std::size_t step, T* from, std::size_t n) {
    std::size_t l = 0;
    for (; l + together <= k; l += together) subtract_some<together>(A + l * ld, ld, factors + l * step, step, from, n);
    for (; l < k; ++l) subtract_some<1>(A + l * ld, ld, factors + l * step, step, from, n);
}
template <class T>
void subtract(T factor, const T* a, T* from, std::size_t n) {
    subtract(a, n, 1, &factor, 1, from, n);
}

}  // namespace stretto::columns
