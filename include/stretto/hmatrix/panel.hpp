// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/core/types.hpp"
#include "stretto/hmatrix/cluster_tree.hpp"

namespace stretto {

/// How many columns of a panel are in which kind of number, those of the first kind first. Integers are multiplied by a
/// scale of their column, a float.
struct PanelColumns {
    Index in_double = 0, in_single = 0, in_16_bits = 0, in_8_bits = 0;

    Index all() const { return in_double + in_single + scaled(); }
    Index scaled() const { return in_16_bits + in_8_bits; }
    /// Of a slab. Floating-point numbers begin at multiples of 16 bytes.
    std::size_t slab_bytes() const {
        const auto bytes = static_cast<std::size_t>(panel_rows) *
                           (8 * static_cast<std::size_t>(in_double) + 4 * static_cast<std::size_t>(in_single) +
                            2 * static_cast<std::size_t>(in_16_bits) + static_cast<std::size_t>(in_8_bits));
        return in_double + in_single > 0 ? round_up(bytes, std::size_t{16}) : bytes;
    }
    std::size_t slabs_bytes(Index rows) const {
        return static_cast<std::size_t>(round_up(rows, panel_rows) / panel_rows) * slab_bytes();
    }
    /// Of the scales, which stand before the slabs.
    std::size_t scales_bytes() const {
        return round_up(sizeof(float) * static_cast<std::size_t>(scaled()), std::size_t{16});
    }
    /// Of a panel.
    std::size_t bytes(Index rows) const { return scales_bytes() + round_up(slabs_bytes(rows), std::size_t{16}); }

    bool operator==(const PanelColumns&) const = default;
};

/// Calls work.operator() of each kind of number S that there is, with (first, count, offset): its columns, which begin
/// `offset` bytes after a slab does.
template <class Work>
void each_kind(const PanelColumns& columns, Work&& work) {
    Index first = 0;
    std::size_t offset = 0;
    const auto kind = [&]<class S>(Index count) {
        if (count > 0) work.template operator()<S>(first, count, offset);
        first += count;
        offset += sizeof(S) * static_cast<std::size_t>(panel_rows) * static_cast<std::size_t>(count);
    };
    kind.template operator()<double>(columns.in_double);
    kind.template operator()<float>(columns.in_single);
    kind.template operator()<std::int16_t>(columns.in_16_bits);
    kind.template operator()<std::int8_t>(columns.in_8_bits);
}

/// A panel, or some rows of one, as a product uses it: values of `rows` × `cols()` in slabs of panel_rows rows, each
/// column after column; the last slab is filled up with zeros. So any number of slabs is contiguous.
struct HMatrixPanel {
    std::size_t at;      ///< byte where the values begin
    std::size_t scales;  ///< byte where the scales of its integers do
    Index row, rows;     ///< of the longer side: of y in y += P t, of x in t = Pᵀ x
    Index col;           ///< of the other: of x or t
    PanelColumns columns;

    Index cols() const { return columns.all(); }
};

}  // namespace stretto
