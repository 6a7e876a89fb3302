// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Products with the panels of a hierarchical matrix on a device. Four neighbouring lanes of a warp have a column of a
// slab, two rows each, eight columns at once: what a warp reads of a panel is contiguous. A thread keeps its rows, or
// its column, and `width` columns of the vectors in registers; sums of threads meet in shared memory in a fixed order.

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "plan.hpp"
#include "stretto/execute/device/vectors.hpp"

namespace stretto {

/// Two neighbouring rows of a slab.
template <class S>
struct alignas(2 * sizeof(S)) RowPair {
    S first, second;
};

/// The scale of a column of integers.
template <class Block, class D>
STRETTO_KERNEL double scale_of(Block& block, const OnDevice<std::byte, D>* scales, Index column) {
    return static_cast<double>(block.at(reinterpret_cast<const OnDevice<float, D>*>(scales) + column));
}

inline constexpr int lanes_of_column = panel_rows / 2, columns_at_once = lanes_of_warp / lanes_of_column;

/// Adds to a value that other blocks may add to.
template <class Block, class D>
STRETTO_KERNEL void add_atomically(Block& block, OnDevice<double, D>* p, double value) {
#ifdef __CUDA_ARCH__
    atomicAdd(&block.at(p), value);
#else
    block.at(p) += value;
#endif
}

/// Columns of a vector on a device that a kernel reads: n × m values, row by row. Rows beyond are zeros.
template <class D>
struct DeviceColumns {
    const OnDevice<double, D>* data;
    Index rows;
    int columns;

    /// Row `row` of columns first … first + width − 1.
    template <int width, class Block>
    STRETTO_KERNEL void load(Block& block, Index row, int first, double (&to)[width]) const {
        const auto* const from = data + (static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                                         static_cast<std::size_t>(first));
        STRETTO_UNROLL
        for (int c = 0; c < width; ++c) to[c] = row < rows && first + c < columns ? block.at(from + c) : 0;
    }
};

/// Which lane of which warp of a block a thread is, and which rows and column of a slab it has.
struct PanelLane {
    int warp, pair, column;
    STRETTO_KERNEL explicit PanelLane(int t)
        : warp(t / lanes_of_warp), pair(t % lanes_of_column), column(t % lanes_of_warp / lanes_of_column) {}
};

/// y = P v, or y += P v, for the panels of some tasks, `width` columns at once.
template <class D, int width>
struct ForwardKernel {
    enum class Ends { store, add, add_atomically };
    const OnDevice<PanelRows, D>* tasks;
    const OnDevice<PanelSegment, D>* segments;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x, products;
    OnDevice<double, D>* y;
    Index rows;
    Ends ends;

    static constexpr int threads = warps_of_block * lanes_of_warp;
    Launch launch(int count) const {
        return {count, threads, sizeof(double) * warps_of_block * columns_at_once * panel_rows * width};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const PanelRows task = block.at(tasks + block.index());
        const int tiles = (x.columns + width - 1) / width, items = task.slabs * tiles;
        // Sum of eight columns of the panels, slab and tile of a warp: sums[warp][column][row][c].
        constexpr int of_warp = columns_at_once * panel_rows * width;
        double* const sums = block.template shared<double>(0, std::size_t{warps_of_block} * of_warp);
        // Tiles of a slab are neighbours, so that their warps find its values in cache.
        for (int item = 0; item < items; item += warps_of_block) {
            block.each([&](int t) {
                const PanelLane lane(t);
                double sum[2][width] = {};
                if (item + lane.warp < items) {
                    const int slab = (item + lane.warp) / tiles, first = (item + lane.warp) % tiles * width;
                    for (int s = task.first; s < task.last; ++s)
                        add(block, block.at(segments + s), slab, first, lane, sum);
                }
                double* const to = sums + lane.warp * of_warp + (lane.column * panel_rows + 2 * lane.pair) * width;
                STRETTO_UNROLL
                for (int c = 0; c < width; ++c) {
                    to[c] = sum[0][c];
                    to[width + c] = sum[1][c];
                }
            });
            block.each([&](int t) {
                for (int i = t; i < warps_of_block * panel_rows * width; i += threads) {
                    const int warp = i / (panel_rows * width), place = i % (panel_rows * width);
                    if (item + warp >= items) continue;
                    const Index row = task.row + (item + warp) / tiles * panel_rows + place / width;
                    const int column = (item + warp) % tiles * width + place % width;
                    if (row >= rows || column >= x.columns) continue;
                    double sum = 0;
                    for (int j = 0; j < columns_at_once; ++j)
                        sum += sums[warp * of_warp + j * panel_rows * width + place];
                    end(block,
                        y + (static_cast<std::size_t>(row) * static_cast<std::size_t>(x.columns) +
                             static_cast<std::size_t>(column)),
                        sum);
                }
            });
        }
    }

private:
    template <class Block>
    STRETTO_KERNEL void end(Block& block, OnDevice<double, D>* to, double sum) const {
        if (ends == Ends::add_atomically)
            add_atomically(block, to, sum);
        else
            block.at(to) = ends == Ends::store ? sum : block.at(to) + sum;
    }
    template <class Block>
    STRETTO_KERNEL void add(Block& block, const PanelSegment& s, int slab, int first, const PanelLane& lane,
                            double (&sum)[2][width]) const {
        const int own = slab - s.slab;
        if (own < 0 || own >= s.slabs) return;
        const DeviceColumns<D>& from = s.products != 0 ? products : x;
        switch (static_cast<Stored>(s.stored)) {
            case Stored::in_double: return add_values<double>(block, s, own, first, lane, from, sum);
            case Stored::in_single: return add_values<float>(block, s, own, first, lane, from, sum);
            case Stored::in_16_bits: return add_values<std::int16_t>(block, s, own, first, lane, from, sum);
            case Stored::in_8_bits: return add_values<std::int8_t>(block, s, own, first, lane, from, sum);
            case Stored::nowhere:
                if (lane.column != 0) return;
                for (int r = 0; r < 2; ++r) {
                    double right[width];
                    from.load(block, s.col + own * panel_rows + 2 * lane.pair + r, first, right);
                    STRETTO_UNROLL
                    for (int c = 0; c < width; ++c) sum[r][c] += right[c];
                }
        }
    }
    template <class S, class Block>
    STRETTO_KERNEL void add_values(Block& block, const PanelSegment& s, int own, int first, const PanelLane& lane,
                                   const DeviceColumns<D>& from, double (&sum)[2][width]) const {
        const auto* const panel =
            reinterpret_cast<const OnDevice<RowPair<S>, D>*>(
                values + s.at + static_cast<std::size_t>(own) * static_cast<std::size_t>(s.slab_bytes)) +
            lane.pair;
        for (int j = lane.column; j < s.cols; j += columns_at_once) {
            const RowPair<S> left = block.at(panel + static_cast<std::size_t>(j) * lanes_of_column);
            double right[width];
            from.load(block, s.col + j, first, right);
            if constexpr (std::integral<S>) {
                const double scale = scale_of(block, values + s.scales, j);
                STRETTO_UNROLL
                for (int c = 0; c < width; ++c) right[c] *= scale;
            }
            STRETTO_UNROLL
            for (int c = 0; c < width; ++c) {
                sum[0][c] += static_cast<double>(left.first) * right[c];
                sum[1][c] += static_cast<double>(left.second) * right[c];
            }
        }
    }
};

/// t = Pᵀ x for the panels of some teams, `width` columns at once.
template <class D, int width>
struct AdjointKernel {
    const OnDevice<AdjointTeam, D>* teams;
    const OnDevice<PanelAdjoint, D>* panels;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x;
    OnDevice<double, D>* products;

    static constexpr int threads = warps_of_block * lanes_of_warp;
    Launch launch(int count) const { return {count, threads, sizeof(double) * threads * width}; }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const AdjointTeam team = block.at(teams + block.index());
        const int warps = warps_of_block / team.count;  // of a panel
        double* const sums = block.template shared<double>(0, std::size_t{threads} * width);
        for (int pass = 0; pass < team.passes; ++pass)
            for (int first = 0; first < x.columns; first += width) {
                block.each([&](int t) {
                    double sum[width] = {};
                    const PanelLane lane(t);
                    const PanelAdjoint p = block.at(panels + team.first + lane.warp / warps);
                    switch (static_cast<Stored>(p.stored)) {
                        case Stored::in_double: add_values<double>(block, p, pass, first, lane, warps, sum); break;
                        case Stored::in_single: add_values<float>(block, p, pass, first, lane, warps, sum); break;
                        case Stored::in_16_bits:
                            add_values<std::int16_t>(block, p, pass, first, lane, warps, sum);
                            break;
                        default: add_values<std::int8_t>(block, p, pass, first, lane, warps, sum);
                    }
                    STRETTO_UNROLL
                    for (int c = 0; c < width; ++c) sums[t * width + c] = sum[c];
                });
                block.each([&](int t) {
                    const int own = t / (threads / team.count);
                    const PanelAdjoint p = block.at(panels + team.first + own);
                    const int columns = columns_of(p, pass);
                    for (int item = t % (threads / team.count); item < columns * width; item += threads / team.count) {
                        const int j = item / width, c = item % width;
                        if (pass * columns_at_once + j >= p.cols || first + c >= x.columns) continue;
                        double sum = 0;
                        for (int warp = own * warps; warp < (own + 1) * warps; ++warp)
                            for (int k = j; k < columns_at_once; k += columns)
                                for (int pair = 0; pair < lanes_of_column; ++pair)
                                    sum += sums[(warp * lanes_of_warp + k * lanes_of_column + pair) * width + c];
                        block.at(products + (static_cast<std::size_t>(p.product + pass * columns_at_once + j) *
                                                 static_cast<std::size_t>(x.columns) +
                                             static_cast<std::size_t>(first + c))) = sum;
                    }
                });
            }
    }

private:
    /// Columns that a warp takes in this pass: 8, or the power of two that covers what is left; slabs share the rest.
    STRETTO_KERNEL static int columns_of(const PanelAdjoint& p, int pass) {
        const int left = p.cols - pass * columns_at_once;
        return left > 4 ? 8 : left > 2 ? 4 : left > 1 ? 2 : 1;
    }
    template <class S, class Block>
    STRETTO_KERNEL void add_values(Block& block, const PanelAdjoint& p, int pass, int first, const PanelLane& lane,
                                   int warps, double (&sum)[width]) const {
        const int columns = columns_of(p, pass), j = pass * columns_at_once + lane.column % columns;
        if (j >= p.cols) return;
        const int slabs = (p.rows + panel_rows - 1) / panel_rows, at_once = columns_at_once / columns * warps;
        const auto* const column =
            values + p.at + static_cast<std::size_t>(j * lanes_of_column + lane.pair) * sizeof(RowPair<S>);
        for (int slab = lane.warp % warps * (columns_at_once / columns) + lane.column / columns; slab < slabs;
             slab += at_once) {
            const RowPair<S> left = block.at(reinterpret_cast<const OnDevice<RowPair<S>, D>*>(
                column + static_cast<std::size_t>(slab) * static_cast<std::size_t>(p.slab_bytes)));
            const Index row = p.row + slab * panel_rows + 2 * lane.pair;
            double above[width], below[width];
            x.load(block, row, first, above);
            x.load(block, row + 1, first, below);
            STRETTO_UNROLL
            for (int c = 0; c < width; ++c)
                sum[c] += static_cast<double>(left.first) * above[c] + static_cast<double>(left.second) * below[c];
        }
        if constexpr (std::integral<S>) {
            const double scale = scale_of(block, values + p.scales, j);
            STRETTO_UNROLL
            for (int c = 0; c < width; ++c) sum[c] *= scale;
        }
    }
};

/// Calls work.operator()<width>() for how many of m columns a thread takes at once.
template <class Work>
void with_width(int m, Work&& work) {
    if (m == 1)
        work.template operator()<1>();
    else if (m <= 4)
        work.template operator()<4>();
    else
        work.template operator()<8>();
}

}  // namespace stretto
