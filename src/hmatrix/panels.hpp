// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Products with the panels of a hierarchical matrix. Vectors are in panels too: row i of column c of n × m values is at
// (i / 8 · m + c) · 8 + i mod 8, so that the rows of a slab are neighbours whatever m is.

#include <algorithm>

#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto::panels {

typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef float Singles __attribute__((vector_size(32), aligned(4), may_alias));

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
    to = __builtin_convertvector(*reinterpret_cast<const Singles*>(from), Lanes);
}

/// y += P x for `slabs` slabs of a panel and `width` columns.
template <int slabs, int width, bool one, class S>
inline void forward(const HMatrixPanel& p, const S* values, Index row, const double* x, double* y, int m, int first) {
    Lanes sum[slabs][width];
    for (int s = 0; s < slabs; ++s)
        for (int c = 0; c < width; ++c)
            sum[s][c] = *reinterpret_cast<const Lanes*>(y + place<one>(row + s * panel_rows, first + c, m));
    const auto stride = static_cast<std::size_t>(p.cols) * panel_rows;
    for (Index j = 0; j < p.cols; ++j) {
        const S* const column = values + static_cast<std::size_t>(j) * panel_rows;
        double right[width];
        for (int c = 0; c < width; ++c) right[c] = x[place<one>(p.col + j, first + c, m)];
        for (int s = 0; s < slabs; ++s) {
            Lanes left;
            load(column + static_cast<std::size_t>(s) * stride, left);
            for (int c = 0; c < width; ++c) sum[s][c] += left * right[c];
        }
    }
    for (int s = 0; s < slabs; ++s)
        for (int c = 0; c < width; ++c)
            *reinterpret_cast<Lanes*>(y + place<one>(row + s * panel_rows, first + c, m)) = sum[s][c];
}

/// t = Pᵀ x for `count` columns of a panel from column j on, and `width` of x.
template <int count, int width, bool one, class S>
inline void adjoint(const HMatrixPanel& p, const S* values, Index j, const double* x, double* t, int m, int first) {
    Lanes sum[count][width] = {};
    const auto stride = static_cast<std::size_t>(p.cols) * panel_rows;
    const S* slab = values + static_cast<std::size_t>(j) * panel_rows;
    for (Index row = p.row; row < p.row + p.rows; row += panel_rows, slab += stride) {
        Lanes right[width];
        for (int c = 0; c < width; ++c) load(x + place<one>(row, first + c, m), right[c]);
        for (int k = 0; k < count; ++k) {
            Lanes left;
            load(slab + k * panel_rows, left);
            for (int c = 0; c < width; ++c) sum[k][c] += left * right[c];
        }
    }
    for (int k = 0; k < count; ++k)
        for (int c = 0; c < width; ++c) {
            const Lanes& v = sum[k][c];
            t[place<one>(p.col + j + k, first + c, m)] =
                ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
        }
}

template <int width, bool one, class S>
void forward_panel(const HMatrixPanel& p, const S* values, const double* x, double* y, int m, int first) {
    constexpr int tall = 4;
    Index row = p.row;
    const Index end = p.row + p.rows;
    const auto slab = static_cast<std::size_t>(p.cols) * panel_rows;
    for (; row + (tall - 1) * panel_rows < end; row += tall * panel_rows, values += tall * slab)
        forward<tall, width, one>(p, values, row, x, y, m, first);
    switch ((end - row + panel_rows - 1) / panel_rows) {
        case 3: return forward<3, width, one>(p, values, row, x, y, m, first);
        case 2: return forward<2, width, one>(p, values, row, x, y, m, first);
        case 1: return forward<1, width, one>(p, values, row, x, y, m, first);
        default: return;
    }
}

template <int width, bool one, class S>
void adjoint_panel(const HMatrixPanel& p, const S* values, const double* x, double* t, int m, int first) {
    constexpr int most = width == 1 ? 16 : 4;
    Index j = 0;
    for (; j + most <= p.cols; j += most) adjoint<most, width, one>(p, values, j, x, t, m, first);
    const auto some = [&]<int count>() {
        if (p.cols - j < count) return;
        adjoint<count, width, one>(p, values, j, x, t, m, first);
        j += count;
    };
    if constexpr (most == 16) some.template operator()<8>();
    if constexpr (most == 16) some.template operator()<4>();
    some.template operator()<3>();
    some.template operator()<2>();
    some.template operator()<1>();
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
