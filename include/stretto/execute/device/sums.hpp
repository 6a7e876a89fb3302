// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "stretto/execute/device/on_device.hpp"

namespace stretto {

/// The most threads of a block, and of them as many as make every one keep its column, where m columns are neighbours
/// and each thread has `lanes` neighbours in a row.
inline constexpr int most_threads = 256;
inline int threads_of_columns(int columns, int lanes, int most = most_threads) {
    const int unit = lanes == 2 && columns % 2 == 0 ? columns / 2 : columns;
    return std::max(1, most / unit) * unit;
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

/// Sum k of column j over what the blocks before left of it, partials[(k · parts + part) · m + j], in a fixed order: a
/// block for each k.
template <class X, class D>
struct FoldKernel {
    static constexpr std::string_view name = "sums";
    const OnDevice<X, D>* partials;
    OnDevice<X, D>* result;
    int parts, columns;

    static Launch launch(int count, int columns) {
        const int threads = threads_of_columns(columns, 1);
        return {count, threads, static_cast<std::size_t>(threads) * sizeof(X)};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const int rows = block.threads() / columns;
        X* const sums = block.template shared<X>(0, static_cast<std::size_t>(block.threads()));
        const auto* const mine =
            partials + static_cast<std::size_t>(block.index()) * static_cast<std::size_t>(parts * columns);
        block.each([&](int t) {
            X sum{};
            for (int part = t / columns; part < parts; part += rows)
                sum += block.at(mine + part * columns + t % columns);
            sums[t] = sum;
        });
        add_rows(block, sums, 1, 0, rows, columns);
        block.each([&](int t) {
            if (t < columns) block.at(result + block.index() * columns + t) = sums[t];
        });
    }
};

}  // namespace stretto
