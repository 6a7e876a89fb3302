// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stretto/execute/device/on_device.hpp"

namespace stretto {

/// The most threads of a block, and of them as many as make every one keep its column, where m columns are neighbours
/// and each thread has `lanes` neighbours in a row.
inline constexpr int most_threads = 256;
inline int threads_of_columns(int columns, int lanes, int most = most_threads) {
    const int unit = lanes == 2 && columns % 2 == 0 ? columns / 2 : columns;
    return std::max(1, most / unit) * unit;
}

/// As many blocks as there is work for, where no sums depend on their number.
inline int blocks_of(std::size_t size, std::size_t of_a_block) {
    return static_cast<int>(std::max<std::size_t>(1, (size + of_a_block - 1) / of_a_block));
}

/// Adds up, for `count` sums, `rows` rows of m numbers each in shared memory, into the first row. Sum k begins at
/// k · stride. In the same order every time.
template <class X, class Block>
STRETTO_KERNEL void add_rows(Block& block, X* sums, int count, int stride, int rows, int columns) {
    for (int height = rows; height > 1;) {
        const int half = (height + 1) / 2, added = (height - half) * columns;
        block.each([&](int t) {
            for (int i = t; i < count * added; i += block.threads()) {
                X* const sum = sums + i / added * stride + i % added;
                *sum += sum[half * columns];
            }
        });
        height = half;
    }
}

/// What one block has of a sum that many have parts of: the `tile`-th of `tiles` sets of sums, of which this is part
/// `index` of `parts`.
struct PartOfSums {
    int tile, tiles, index, parts;
};

/// Where sums go. Each block leaves its part of them; the last one that does adds them up, in a fixed order, and the
/// last of all tells the host, which waits for the number `turn`.
template <class X, class D>
struct SumsForHost {
    static constexpr int together = 8;              // parts that a thread asks for before it waits for one
    OnDevice<X, D>* partials = nullptr;             // [tile][part][sum]
    OnDevice<X, D>* results = nullptr;              // on the host
    OnDevice<std::uint32_t, D>* arrived = nullptr;  // blocks, of each tile and of all
    OnDevice<std::uint32_t, D>* raised = nullptr;   // on the host
    std::uint32_t turn = 0;

    /// Where a block leaves its part of sum c of `count`.
    STRETTO_KERNEL OnDevice<X, D>* partial(const PartOfSums& part, int count, int c) const {
        return partials + (static_cast<std::size_t>(part.tile * part.parts + part.index) * count + c);
    }
    /// For all threads of a block that has left its part. place(c): which of the results sum c is, −1 none. `room`: a
    /// value a thread of shared memory.
    template <class Block, class Place>
    STRETTO_KERNEL void finish(Block& block, X* room, const PartOfSums& part, int count, const Place& place) const {
        if (!block.last_of(arrived + part.tile, part.parts)) return;
        const int width = count < block.threads() ? count : block.threads(), rows = block.threads() / width;
        for (int first = 0; first < count; first += width) {
            block.each([&](int t) {
                const int c = first + t % width;
                X sums[together] = {};
                if (t < rows * width && c < count)
                    for (int k = t / width; k < part.parts; k += together * rows) {
                        STRETTO_UNROLL
                        for (int q = 0; q < together; ++q)
                            if (const int index = k + q * rows; index < part.parts)
                                sums[q] += block.at(partial({part.tile, part.tiles, index, part.parts}, count, c));
                    }
                STRETTO_UNROLL
                for (int q = 1; q < together; ++q) sums[0] += sums[q];
                room[t] = sums[0];
            });
            add_rows(block, room, 1, 0, rows, width);
            block.each([&](int t) {
                const int c = first + t;
                if (t < width && c < count && place(c) >= 0) block.tell(results + place(c), room[t]);
            });
        }
        if (part.tiles == 1 || block.last_of(arrived + part.tiles, part.tiles)) block.raise(raised, turn);
    }
};

}  // namespace stretto
