// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What an executor does with whole vectors of a device, and with columns of them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "stretto/core/random.hpp"
#include "stretto/execute/device/sums.hpp"

namespace stretto {

/// Calls work(block, i) for i = 0 … size − 1, in any order.
template <class D, class Work>
struct ForEachKernel {
    static constexpr std::string_view name = kernel_name<Work>();
    std::size_t size;
    Work work;

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        block.each([&](int t) {
            const std::size_t i = static_cast<std::size_t>(block.index()) * static_cast<std::size_t>(block.threads()) +
                                  static_cast<std::size_t>(t);
            if (i < size) work(block, i);
        });
    }
};
template <class D, class Work>
void for_each_on_device(std::size_t size, const Work& work) {
    if (size == 0) return;
    D::launch(ForEachKernel<D, Work>{size, work}, {blocks_of(size, most_threads), most_threads});
}

/// Where the value of a row and a column of so many stands.
template <class Columns>
STRETTO_KERNEL std::ptrdiff_t place_of(Index row, int column, Columns columns) {
    return static_cast<std::ptrdiff_t>(row) * static_cast<int>(columns) + column;
}

/// `width` neighbouring values, in pairs where there are several.
template <int width, class X, class Block, class Value>
STRETTO_KERNEL void load(Block& block, const Value* from, X (&to)[width]) {
    if constexpr (width == 1) {
        to[0] = block.at(from);
    } else {
        STRETTO_UNROLL
        for (int k = 0; k < width; k += 2) block.load_pair(from + k, to + k);
    }
}
template <int width, class X, class Block, class Value>
STRETTO_KERNEL void store(Block& block, Value* to, const X (&from)[width]) {
    if constexpr (width == 1) {
        block.at(to) = from[0];
    } else {
        STRETTO_UNROLL
        for (int k = 0; k < width; k += 2) block.store_pair(to + k, from + k);
    }
}
/// Calls work.operator() of 4, 2 or 1: the most neighbours that all columns can be had in.
template <class Work>
void with_neighbours(int columns, Work&& work) {
    if (columns % 4 == 0)
        work.template operator()<4>();
    else if (columns % 2 == 0)
        work.template operator()<2>();
    else
        work.template operator()<1>();
}

/// Columns that a work has at a time: Work::width, or one.
template <class Work>
constexpr int width_of() {
    if constexpr (requires { Work::width; })
        return Work::width;
    else
        return 1;
}
using OneColumn = std::integral_constant<int, 1>;

/// Calls work(block, row, column, columns) for all rows, and for every column or the first of every `width`, in any
/// order: threads that are neighbours have columns that are. One column is known when compiling: nobody multiplies.
template <class D, class Work, class Columns>
struct ForEachRowKernel {
    static constexpr std::string_view name = kernel_name<Work>();
    static constexpr int blocks_together = width_of<Work>() == 1 ? 8 : 4;
    Index rows;
    Columns columns;
    int parts, of_a_block;  // threads of a row, rows of a block
    Work work;

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        block.each([&](int t) {
            const int line = columns == 1 ? t : t / parts;
            const std::int64_t row = static_cast<std::int64_t>(block.index()) * of_a_block + line;
            if (row < rows) work(block, static_cast<Index>(row), (t - line * parts) * width_of<Work>(), columns);
        });
    }
};
template <class D, class Work>
void for_each_row_on_device(std::size_t rows, int columns, const Work& work) {
    if (rows == 0) return;
    const int parts = columns / width_of<Work>(), threads = threads_of_columns(parts, 1), of_a_block = threads / parts;
    const int blocks = blocks_of(rows, static_cast<std::size_t>(of_a_block));
    const auto launch = [&](auto known) {
        D::launch(ForEachRowKernel<D, Work, decltype(known)>{static_cast<Index>(rows), known, parts, of_a_block, work},
                  {blocks, threads});
    };
    if constexpr (width_of<Work>() == 1) {
        if (columns == 1) return launch(OneColumn{});
    }
    launch(columns);
}

template <class X, class D>
struct ClearElement {
    static constexpr std::string_view name = "clear";
    OnDevice<X, D>* v;
    std::size_t stride;
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        block.at(v + i * stride) = X{};
    }
};
template <class X, class D>
struct CopyElement {
    static constexpr std::string_view name = "copy";
    const OnDevice<X, D>* from;
    OnDevice<X, D>* to;
    std::size_t stride;
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        block.at(to + i * stride) = block.at(from + i * stride);
    }
};

/// splitmix64 and uniform of random.hpp, where only device code may run.
template <class X, class D>
struct RandomElement {
    static constexpr std::string_view name = "random";
    OnDevice<X, D>* v;
    std::uint64_t key;  // splitmix64(seed)
    Global first_row;
    STRETTO_KERNEL static std::uint64_t mix(std::uint64_t value) {
        value += 0x9e3779b97f4a7c15u;
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
        value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
        return value ^ (value >> 31);
    }
    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index i, int column, Columns columns) const {
        const std::uint64_t row = static_cast<std::uint64_t>(first_row + i);
        const std::uint64_t bits = mix(mix(key ^ row) ^ static_cast<std::uint64_t>(column)) >> 11;
        block.at(v + place_of(i, column, columns)) = static_cast<X>(static_cast<double>(bits) * 0x1p-52 - 1);
    }
};

/// The largest |v| of each column in the rows of each thread, infinite where a value is not finite: most[i], i the
/// number of the thread in all blocks, a multiple of m in each.
template <class X, class D>
struct LargestKernel {
    static constexpr std::string_view name = "largest";
    const OnDevice<X, D>* v;
    OnDevice<X, D>* most;
    std::size_t elements;
    int columns;

    /// What the host looks at is little beside what a thread has.
    Launch launch() const {
        constexpr std::size_t of_a_thread = 64;
        const int threads = threads_of_columns(columns, 1);
        return {std::min(D::most_blocks, blocks_of(elements, of_a_thread * static_cast<std::size_t>(threads))),
                threads};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        block.each([&](int t) {
            X mine{};
            const int all = block.threads() * block.blocks(), i = block.index() * block.threads() + t;
            for (auto e = static_cast<std::size_t>(i); e < elements; e += static_cast<std::size_t>(all)) {
                const X value = block.at(v + e), size = value < X{} ? -value : value;
                if (!(size <= mine)) mine = size == size ? size : static_cast<X>(HUGE_VAL);
            }
            block.at(most + i) = mine;
        });
    }
};

}  // namespace stretto
