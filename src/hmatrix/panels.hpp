// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Products with the panels of a hierarchical matrix. Vectors are in panels too: row i of column c of n × m values is at
// (i / 8 · m + c) · 8 + i mod 8, so that the rows of a slab are neighbours whatever m is.

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "stretto/comm/messages.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto::panels {

typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef float Singles __attribute__((vector_size(32), aligned(4), may_alias));

/// Appends the messages that these values take.
inline void add_messages(std::vector<Message>& to, int rank, std::span<double> values) {
    each_message(std::as_writable_bytes(values), [&](std::span<std::byte> data) { to.push_back({rank, data}); });
}

/// Where row `row` of column `column` of m is.
template <bool one>
inline std::size_t place(Index row, int column, int m) {
    if constexpr (one) return static_cast<std::size_t>(row);
    const auto i = static_cast<std::size_t>(row);
    return (i / panel_rows * static_cast<std::size_t>(m) + static_cast<std::size_t>(column)) * panel_rows +
           i % panel_rows;
}

inline void load(const double* from, Lanes& to) { to = *reinterpret_cast<const Lanes*>(from); }
inline void load(const float* from, Lanes& to) {
#ifdef __AVX512F__
    // g++ 12 makes six instructions of the other, and warns of what is inside the intrinsic without a mask.
    to = _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from));
#else
    to = __builtin_convertvector(*reinterpret_cast<const Singles*>(from), Lanes);
#endif
}

/// y += P x for `width` columns. Slab after slab, so that memory is read in one stream: the processor fetches that
/// ahead best by itself.
template <int width, bool one, class S>
inline void forward_panel(const HMatrixPanel& p, const S* values, const double* x, double* y, int m, int first) {
    constexpr Index chains = one ? 4 : 1;  // sums that do not wait for each other
    for (Index row = p.row; row < p.row + p.rows; row += panel_rows) {
        Lanes sum[chains][width] = {};
        const auto add = [&](Index j, Index chain) {
            Lanes left;
            load(values, left);
            values += panel_rows;
            for (int c = 0; c < width; ++c) sum[chain][c] += left * x[place<one>(p.col + j, first + c, m)];
        };
        Index j = 0;
        for (; j + chains <= p.cols; j += chains)
            for (Index chain = 0; chain < chains; ++chain) add(j + chain, chain);
        for (; j < p.cols; ++j) add(j, 0);
        for (int c = 0; c < width; ++c) {
            for (Index chain = 1; chain < chains; ++chain) sum[0][c] += sum[chain][c];
            *reinterpret_cast<Lanes*>(y + place<one>(row, first + c, m)) += sum[0][c];
        }
    }
}

/// The sums of the lanes of eight.
inline void add_lanes(const Lanes (&v)[8], Lanes& sums) {
    Lanes pair[4], four[2];
    for (int k = 0; k < 4; ++k)
        pair[k] = __builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                  __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int k = 0; k < 2; ++k)
        four[k] = __builtin_shufflevector(pair[2 * k], pair[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                  __builtin_shufflevector(pair[2 * k], pair[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    sums = __builtin_shufflevector(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

/// t = Pᵀ x for `count` columns of a panel from column j on, and `width` of x.
template <int count, int width, bool one, class S>
inline void adjoint(const HMatrixPanel& p, const S* values, Index j, const double* x, double* t, int m, int first) {
    constexpr int eights = (count * width + 7) / 8;
    Lanes sum[eights][8] = {};  // column k for column c of x: number k · width + c
    const auto slab = static_cast<std::size_t>(p.cols) * panel_rows;
    values += static_cast<std::size_t>(j) * panel_rows;
    for (Index row = p.row; row < p.row + p.rows; row += panel_rows, values += slab) {
        Lanes right[width];
        for (int c = 0; c < width; ++c) load(x + place<one>(row, first + c, m), right[c]);
        for (int k = 0; k < count; ++k) {
            Lanes left;
            load(values + k * panel_rows, left);
            for (int c = 0; c < width; ++c) sum[(k * width + c) / 8][(k * width + c) % 8] += left * right[c];
        }
    }
    for (int e = 0; e < eights; ++e) {
        Lanes sums;
        add_lanes(sum[e], sums);
        for (int i = 0; i < 8 && e * 8 + i < count * width; ++i)
            t[place<one>(p.col + j + (e * 8 + i) / width, first + (e * 8 + i) % width, m)] = sums[i];
    }
}

template <int width, bool one, class S>
void adjoint_panel(const HMatrixPanel& p, const S* values, const double* x, double* t, int m, int first) {
    constexpr int most = one ? 16 : 4;
    Index j = 0;
    const auto some = [&]<int count>() {
        for (; p.cols - j >= count; j += count) adjoint<count, width, one>(p, values, j, x, t, m, first);
    };
    some.template operator()<most>();
    if constexpr (one) some.template operator()<8>();
    const auto rest = [&]<int... count>(std::integer_sequence<int, count...>) {
        (void)((p.cols - j == count + 1 ? (adjoint<count + 1, width, one>(p, values, j, x, t, m, first), true)
                                        : false) ||
               ...);
    };
    rest(std::make_integer_sequence<int, one ? 7 : 3>());
}

/// Calls work(panel, values) with the values as what they are.
template <class Work>
void with_values(const HMatrixPanel& p, const std::byte* all, Work&& work) {
    if (p.single)
        work(p, reinterpret_cast<const float*>(all + p.at));
    else
        work(p, reinterpret_cast<const double*>(all + p.at));
}

/// Calls work.operator()<width, one>(first) for groups of the columns 0 … m − 1.
template <class Work>
void each_width(int m, Work&& work) {
    if (m == 1) return work.template operator()<1, true>(0);
    int first = 0;
    for (; first + 4 <= m; first += 4) work.template operator()<4, false>(first);
    for (; first + 2 <= m; first += 2) work.template operator()<2, false>(first);
    if (first < m) work.template operator()<1, false>(first);
}

}  // namespace stretto::panels
