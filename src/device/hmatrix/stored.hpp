// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What kernels read of the panels of a hierarchical matrix, and of the vectors that they multiply.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plan.hpp"
#include "stretto/execute/device/on_device.hpp"

namespace stretto {

/// Rows of a column of a panel, as they are loaded.
template <class S, int rows>
struct alignas(std::is_floating_point_v<S> ? 16
               : rows * sizeof(S) < 8      ? rows * sizeof(S)
                                           : 8) PanelValues {
    S of[rows];
    STRETTO_KERNEL double number(int r) const { return static_cast<double>(of[r]); }
};
/// Integers become doubles by way of the bits of 2^52 + n: conversions are slow.
template <std::signed_integral S, int rows>
struct alignas(rows * sizeof(S) < 8 ? 4 : 8) PanelValues<S, rows> {
    static constexpr int bits = 8 * sizeof(S), in_word = 4 / sizeof(S);
    std::uint32_t words[rows / in_word];
    STRETTO_KERNEL double number(int r) const {
        constexpr std::uint32_t middle = 1U << (bits - 1), all = 2 * middle - 1, signs = ~0U / all * middle;
        const std::uint32_t n = (words[r / in_word] ^ signs) >> r % in_word * bits & all;
        return std::bit_cast<double>(std::uint64_t{0x43300000} << 32 | n) - (4503599627370496.0 + middle);
    }
};

/// Calls work.operator()<S>() for the numbers S that values are stored as.
template <class Work>
STRETTO_KERNEL void with_stored(Stored stored, Work&& work) {
    switch (stored) {
        case Stored::in_double: return work.template operator()<double>();
        case Stored::in_single: return work.template operator()<float>();
        case Stored::in_16_bits: return work.template operator()<std::int16_t>();
        case Stored::in_8_bits: return work.template operator()<std::int8_t>();
        case Stored::nowhere: return;
    }
}

/// The values of a column some slabs later.
template <class Loaded, class D>
STRETTO_KERNEL const OnDevice<Loaded, D>* slabs_later(const OnDevice<Loaded, D>* from, std::int64_t place, int slabs) {
    constexpr std::uint32_t all = (1U << PanelColumn::bits) - 1;
    const std::uint32_t apart = (static_cast<std::uint32_t>(place) & all) * 8;
    return reinterpret_cast<const OnDevice<Loaded, D>*>(reinterpret_cast<const OnDevice<std::byte, D>*>(from) +
                                                        std::uint64_t{apart} * static_cast<std::uint32_t>(slabs));
}
/// The values of a column in a slab of a block of threads.
template <class Loaded, class D>
STRETTO_KERNEL const OnDevice<Loaded, D>* values_at(const OnDevice<std::byte, D>* values, std::int64_t place,
                                                    int slab) {
    return slabs_later(reinterpret_cast<const OnDevice<Loaded, D>*>(values + (place >> PanelColumn::bits) * 8), place,
                       slab);
}

/// Columns of a vector on a device that a kernel reads: n × m values, row by row.
template <class D>
struct DeviceColumns {
    const OnDevice<double, D>* data;
    Index rows;
    int columns;

    /// The last row, and the last column, stand for those beyond.
    template <class Block>
    STRETTO_KERNEL double at(Block& block, Index row, int column = 0) const {
        const auto before = static_cast<std::ptrdiff_t>(row < rows ? row : rows - 1) * columns;
        return block.at(data + (before + (column < columns ? column : columns - 1)));
    }
};

}  // namespace stretto
