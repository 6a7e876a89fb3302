// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Products with the panels of a hierarchical matrix. Vectors are in panels too: row i of column c of n × m values is at
// (i / 8 · m + c) · 8 + i mod 8, so that the rows of a slab are neighbours whatever m is.

#include <span>
#include <vector>

#include "stretto/comm/messages.hpp"
#include "stretto/hmatrix/panel.hpp"

namespace stretto::panels {

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

/// y += P x for m columns.
void multiply(const HMatrixPanel& p, const std::byte* values, const double* x, double* y, int m);
/// t = Pᵀ x for m columns.
void multiply_transposed(const HMatrixPanel& p, const std::byte* values, const double* x, double* t, int m);

/// Of complex numbers, column 2c and 2c + 1 of a vector are the real and the imaginary part of its column c, and a
/// panel has the two parts of a column as two. So Pᵀ x has four real products where P x needs, for each column of P,
/// its factor as two rows: (re, im) for the real parts, (−im, re) for the imaginary ones.

/// Makes those two rows of the four products, in rows begin … begin + rows − 1 of t, for m real columns.
void complete_pairs(double* t, Index begin, Index rows, int m);
/// Rows begin … end − 1 of x as such rows, two for each.
void expand_pairs(const double* x, Index begin, Index end, double* to, int m);

}  // namespace stretto::panels
