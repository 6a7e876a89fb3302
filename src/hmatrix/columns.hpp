// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Loops over dense columns, for low-rank approximation: ranks are some tens, where BLAS's calls cost more than their
// work.

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

inline double sum_of(const Lanes& v) {
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
    double sum = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

inline constexpr std::size_t together = 4;  // columns that one pass over another takes

template <std::size_t count>
void subtract_some(const double* A, std::size_t ld, const double* factors, std::size_t step, double* from,
                   std::size_t n) {
    double f[count];
    for (std::size_t c = 0; c < count; ++c) f[c] = factors[c * step];
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        double value = from[i];
        for (std::size_t c = 0; c < count; ++c) value -= f[c] * A[c * ld + i];
        from[i] = value;
    }
}

/// from −= Σ factors[l · step] A(:, l) over k columns, of n rows, which lie `ld` apart.
inline void subtract(const double* A, std::size_t ld, std::size_t k, const double* factors, std::size_t step,
                     double* from, std::size_t n) {
    std::size_t l = 0;
    for (; l + together <= k; l += together) subtract_some<together>(A + l * ld, ld, factors + l * step, step, from, n);
    for (; l < k; ++l) subtract_some<1>(A + l * ld, ld, factors + l * step, step, from, n);
}
inline void subtract(double factor, const double* a, double* from, std::size_t n) {
    subtract(a, n, 1, &factor, 1, from, n);
}

}  // namespace stretto::columns
