// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What kernels read of the panels of a hierarchical matrix, and of the vectors that they multiply.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "plan.hpp"
#include "stretto/execute/device/on_device.hpp"

namespace stretto {

/// Rows of a column of a panel, as they are loaded: floating-point numbers here, 16 bytes at once.
template <class S, int rows>
struct alignas(16) PanelValues {
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

/// Addresses as bytes from another one, which may be of another array.
template <class X, class Y, class D>
STRETTO_KERNEL std::int64_t bytes_between(const OnDevice<X, D>* from, const OnDevice<Y, D>* to) {
    return reinterpret_cast<const OnDevice<std::byte, D>*>(to) - reinterpret_cast<const OnDevice<std::byte, D>*>(from);
}
template <class X, class D>
STRETTO_KERNEL const OnDevice<X, D>* bytes_later(const OnDevice<X, D>* from, std::int64_t bytes) {
    return reinterpret_cast<const OnDevice<X, D>*>(reinterpret_cast<const OnDevice<std::byte, D>*>(from) + bytes);
}

/// Bytes from a slab of a column to the next.
STRETTO_KERNEL std::uint32_t slab_bytes_of(std::int64_t place) {
    return (static_cast<std::uint32_t>(place) & ((1U << PanelColumn::bits) - 1)) * 8;
}
/// The values of a column in the first slab of a block of threads.
template <class D>
STRETTO_KERNEL const OnDevice<std::byte, D>* first_values(const OnDevice<std::byte, D>* values, std::int64_t place) {
    return values + (place >> PanelColumn::bits) * 8;
}
/// The values of a column some slabs later.
template <class Loaded, class D>
STRETTO_KERNEL const OnDevice<Loaded, D>* slabs_later(const OnDevice<std::byte, D>* from, std::uint32_t slab_bytes,
                                                      int slabs) {
    return reinterpret_cast<const OnDevice<Loaded, D>*>(from +
                                                        std::uint64_t{slab_bytes} * static_cast<std::uint32_t>(slabs));
}
/// The values of a column in a slab of a block of threads.
template <class Loaded, class D>
STRETTO_KERNEL const OnDevice<Loaded, D>* values_at(const OnDevice<std::byte, D>* values, std::int64_t place,
                                                    int slab) {
    return slabs_later<Loaded>(first_values(values, place), slab_bytes_of(place), slab);
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
