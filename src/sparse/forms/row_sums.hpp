// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numeric>
#include <type_traits>
#include <utility>

#include "stretto/core/types.hpp"
#include "stretto/execute/cpu/panel_kernels.hpp"
#include "stretto/sparse/forms/packed_values.hpp"
#include "stretto/statements/scalar_traits.hpp"

// Products of sparse rows with m columns: groups of columns, of widths known at compile time, so that their
// sums stay in registers and their loops vectorise.

namespace stretto {

/// a b + c, fused wherever processors are that can, and not where a compiler thinks it quick: all storages round alike.
template <class T>
T multiply_add(T a, T b, T c) {
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
}

/// Sums of products, side by side in registers. `values` can be indexed, and may be in single precision.
template <std::size_t width, class T>
struct ProductSums {
    T sum[width] = {};

    template <class V>
    void add(T factor, V values) {
#pragma omp simd
        for (std::size_t i = 0; i < width; ++i) sum[i] = multiply_add(factor, static_cast<T>(values[i]), sum[i]);
    }
    /// One value with each entry of x.
    template <bool conjugated = false, class V>
    void add_each(V values, const T* x) {
#pragma omp simd
        for (std::size_t i = 0; i < width; ++i) sum[i] = multiply_add(static_cast<T>(values[i]), x[i], sum[i]);
    }
    T operator[](std::size_t i) const { return sum[i]; }
    void store(T* y) const { std::copy_n(sum, width, y); }
};

/// Σ Re(a) b and Σ Im(a) b apart, so that no number changes its place in a register before the end, where the second
/// is turned by i.
template <std::size_t width, class X>
struct ProductSums<width, std::complex<X>> {
    using T = std::complex<X>;

    template <class V>
    void add(T factor, V values) {
        for (std::size_t r = 0; r < registers; ++r) {
            const Register b = load(values + r * lanes);
            by_real_[r] += factor.real() * b;
            by_imaginary_[r] += factor.imag() * b;
        }
    }
    /// One value, or its conjugate, with each entry of x.
    template <bool conjugated = false, class V>
    void add_each(V values, const T* x) {
        for (std::size_t r = 0; r < registers; ++r) {
            const Register a = load(values + r * lanes), b = load(x + r * lanes);
            const Register im = odd(a, in_register{}) * b;
            by_real_[r] += even(a, in_register{}) * b;
            by_imaginary_[r] += conjugated ? -im : im;
        }
    }
    T operator[](std::size_t i) const {
        const auto &re = by_real_[i / lanes], &im = by_imaginary_[i / lanes];
        const std::size_t at = 2 * (i % lanes);
        return {re[at] - im[at + 1], re[at + 1] + im[at]};
    }
    void store(T* y) const {
        for (std::size_t i = 0; i < width; ++i) y[i] = (*this)[i];
    }

private:
    static constexpr std::size_t lanes = std::gcd(width, KernelRegister<double>::register_bytes / sizeof(T)),
                                 registers = width / lanes;
    typedef X Register __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(X)), may_alias));
    using in_register = std::make_integer_sequence<int, 2 * lanes>;

    static Register load(const T* values) { return *reinterpret_cast<const Register*>(values); }
    template <class V>
    static Register load(const V& values) {
        Register all{};
        for (std::size_t i = 0; i < lanes; ++i) {
            const auto value = static_cast<T>(values[i]);
            all[2 * i] = value.real();
            all[2 * i + 1] = value.imag();
        }
        return all;
    }
    template <int... k>
    static Register even(Register a, std::integer_sequence<int, k...>) {
        return __builtin_shufflevector(a, a, (k / 2 * 2)...);
    }
    template <int... k>
    static Register odd(Register a, std::integer_sequence<int, k...>) {
        return __builtin_shufflevector(a, a, (k / 2 * 2 + 1)...);
    }

    Register by_real_[registers] = {}, by_imaginary_[registers] = {};
};

/// Width neighbouring columns of one row of y, held in registers.
template <int Width, class T>
struct RowSums {
    ProductSums<static_cast<std::size_t>(Width), T> sums;

    template <class V>
    void add(const V* values, const Index* columns, Index begin, Index end, const T* x, std::size_t stride,
             Index first_column = 0) {
        for (Index k = begin; k < end; ++k) {
            const T value = static_cast<T>(values[k]);
            const T* const row = x + static_cast<std::size_t>(columns[k] - first_column) * stride;
            if constexpr (is_complex<T>)
                sums.add(value, row);
            else  // told to be a loop of vectors, it takes twice the instructions
                for (int c = 0; c < Width; ++c) sums.sum[c] = multiply_add(value, row[c], sums.sum[c]);
        }
    }
    void store(T* y) const {
        for (int c = 0; c < Width; ++c) y[c] = sums[static_cast<std::size_t>(c)];
    }
};

/// Columns of one group, at most: of complex values fewer, as each takes two registers' lanes.
template <class T>
inline constexpr int widest_sums = is_complex<T> ? 4 : 16;

/// Calls work<Width>(c) for groups that cover columns 0 … m − 1, the widest first.
template <int Width = 16, class Work>
void cover(int m, Work&& work, int c = 0) {
    for (; m - c >= Width; c += Width) work.template operator()<Width>(c);
    if constexpr (Width > 1) cover<Width / 2>(m, work, c);
}

/// Calls work(m), with m known at compile time where it is one group: strides are then constants. For complex values
/// that is done for a single column alone, which keeps what is compiled small.
template <class T = double, class Work>
void with_columns(int m, Work&& work) {
    if constexpr (is_complex<T>) return m == 1 ? work(std::integral_constant<int, 1>()) : work(m);
    switch (m) {
        case 1: return work(std::integral_constant<int, 1>());
        case 2: return work(std::integral_constant<int, 2>());
        case 4: return work(std::integral_constant<int, 4>());
        case 8: return work(std::integral_constant<int, 8>());
        case 16: return work(std::integral_constant<int, 16>());
        default: return work(m);
    }
}

}  // namespace stretto
