// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>

#include "stretto/core/types.hpp"
#include "stretto/statements/scalar_traits.hpp"

// Products of sparse rows with m columns: groups of columns, of widths known at compile time, so that their
// sums stay in registers and their loops vectorise.

namespace stretto {

/// Width neighbouring columns of one row of y, held in registers.
template <int Width, class T>
struct RowSums {
    T sum[Width] = {};

    template <class V>
    void add(const V* values, const Index* columns, Index begin, Index end, const T* x, std::size_t stride,
             Index first_column = 0) {
        for (Index k = begin; k < end; ++k) {
            const T value = static_cast<T>(values[k]);
            const T* const row = x + static_cast<std::size_t>(columns[k] - first_column) * stride;
            for (int c = 0; c < Width; ++c) sum[c] += value * row[c];
        }
    }
    void store(T* y) const {
        for (int c = 0; c < Width; ++c) y[c] = sum[c];
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
