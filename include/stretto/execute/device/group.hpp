// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "stretto/execute/device/kind.hpp"
#include "stretto/execute/device/sums.hpp"

namespace stretto {

/// A group of statements in one pass over memory: each vector is loaded once and stored once. A thread has two
/// neighbouring elements at a time, in slots of shared memory that are its own, and keeps their columns; its dot
/// products stay in registers until the end, and are added up by blocks then, in a fixed order. Where there are such,
/// and threads therefore have many elements, the next ones travel meanwhile, as far as there is room.
template <class X, class D, class... S>
struct GroupKernel {
    static constexpr std::string_view name = "vectors";
    using Statements = DeviceGroup<S...>;
    static constexpr int dots_at_most = Statements::dots;
    static constexpr int blocks_together = dots_at_most > 0 ? 3 : 1;  // as many as there are of those with sums

    GroupVectors<X, D> vectors;
    GroupCoefficients<X, Statements::coefficients> coefficients;
    GroupDots<dots_at_most> dots;
    Statements statements;
    std::size_t elements;
    int columns;
    SumsForHost<X, D> sums{};
    bool travel = false;  // the next elements do, meanwhile

    GroupKernel(std::size_t rows, int width, const S&... said)
        : statements(*this, 0, said...), elements(rows * static_cast<std::size_t>(width)), columns(width) {}

    /// How it is launched; it is in that shape then.
    Launch take_shape() {
        const int unit = threads_of_columns(columns, 2, 1);
        int threads = threads_of_columns(columns, 2);
        travel = dots.count > 0 && shared(threads, 2) <= D::most_shared / blocks_together;
        const int tiles = ahead() ? 2 : 1;
        while (shared(threads, tiles) > D::most_shared && threads > unit) threads -= unit;
        const int blocks = blocks_of((elements + 1) / 2, static_cast<std::size_t>(threads));
        return {dots.count > 0 ? std::min(blocks, D::most_blocks) : blocks, threads, shared(threads, tiles)};
    }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const int threads = block.threads(), stride = 2 * threads, spread = coefficients.count * columns;
        X* const spread_values = block.template shared<X>(0, static_cast<std::size_t>(spread));
        const std::size_t size = tile_size(threads);
        X* const tile = block.template shared<X>(tile_begin(), (ahead() ? 2 : 1) * size);
        block.each([&](int t) {
            for (int i = t; i < spread; i += threads) spread_values[i] = coefficients.values[i];
        });
        typename Block::template PerThread<Sums> kept(block);
        block.each([&](int t) {
            Sums& mine = kept[t];
            for (auto& lane : mine.of)
                for (X& sum : lane) sum = X{};
            X* const own = tile + 2 * t;
            const std::size_t step = static_cast<std::size_t>(stride) * static_cast<std::size_t>(block.blocks());
            std::size_t e = static_cast<std::size_t>(stride) * static_cast<std::size_t>(block.index()) +
                            static_cast<std::size_t>(2 * t);
            if (ahead()) load(block, e, own, stride);
            for (std::size_t at = 0; e < elements; e += step) {
                const std::size_t next = ahead() ? size - at : 0;
                load(block, ahead() ? e + step : e, own + next, stride);
                if (ahead())
                    block.template wait_copies<1>();
                else
                    block.template wait_copies<0>();
                X* const here = own + at;
                const Lane<X> lanes[2] = {{here, spread_values + 2 * t % columns, stride, columns},
                                          {here + 1, spread_values + (2 * t + 1) % columns, stride, columns}};
                pass(block, e, here, lanes, mine);
                at = next;
            }
        });
        if constexpr (dots_at_most > 0) reduce(block, tile, kept);
    }

private:
    /// What is known when compiling costs nothing: without sums a thread has no next elements.
    STRETTO_KERNEL_AND_HOST bool ahead() const {
        if constexpr (dots_at_most > 0)
            return travel;
        else
            return false;
    }
    /// Of a thread, for the columns of its two elements.
    struct Sums {
        X of[2][dots_at_most > 0 ? dots_at_most : 1];
    };

    /// In bytes; the tile after the coefficients, on a boundary of two values.
    STRETTO_KERNEL_AND_HOST std::size_t tile_begin() const {
        return (static_cast<std::size_t>(coefficients.count * columns) + 1) / 2 * 2 * sizeof(X);
    }
    /// In values. Sums take its place in the end.
    STRETTO_KERNEL_AND_HOST std::size_t tile_size(int threads) const {
        const int rows = vectors.count > dots_at_most ? vectors.count : dots_at_most;
        return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(threads);
    }
    std::size_t shared(int threads, std::size_t tiles) const {
        return tile_begin() + tiles * tile_size(threads) * sizeof(X);
    }

    /// Starts to.
    template <class Block>
    STRETTO_KERNEL void load(Block& block, std::size_t e, X* own, int stride) const {
        if (e < elements)
            for (int k = 0; k < vectors.count; ++k)
                if (vectors.loaded >> k & 1) block.copy_pair(own + k * stride, vectors.address[k] + e);
        block.end_copies();
    }
    template <class Block>
    STRETTO_KERNEL void pass(Block& block, std::size_t e, X* own, const Lane<X>* lanes, Sums& mine) const {
        const bool pair = e + 1 < elements;
        statements.run(lanes[0], mine.of[0]);
        if (pair) statements.run(lanes[1], mine.of[1]);
        for (int k = 0; k < vectors.count; ++k) {
            if (!(vectors.stored >> k & 1)) continue;
            if (pair)
                block.store_pair(vectors.address[k] + e, own + k * lanes->stride);
            else
                block.at(vectors.address[k] + e) = own[k * lanes->stride];
        }
    }

    template <class Block, class PerThread>
    STRETTO_KERNEL void reduce(Block& block, X* tile, PerThread& kept) const {
        const int stride = 2 * block.threads(), count = dots.count * columns;
        const PartOfSums part{0, 1, block.index(), block.blocks()};
        block.each([&](int t) {
            STRETTO_UNROLL
            for (int k = 0; k < dots_at_most; ++k)
                for (int lane = 0; lane < 2; ++lane) tile[k * stride + 2 * t + lane] = kept[t].of[lane][k];
        });
        add_rows(block, tile, dots_at_most, stride, stride / columns, columns);
        block.each([&](int t) {
            for (int i = t; i < dots_at_most * columns; i += block.threads()) {
                const int k = i / columns, j = i % columns;
                if (dots.place[k] >= 0)
                    block.at(sums.partial(part, count, dots.place[k] * columns + j)) = tile[k * stride + j];
            }
        });
        if (count > 0) sums.finish(block, tile, part, count, [](int c) { return c; });
    }
};

}  // namespace stretto
