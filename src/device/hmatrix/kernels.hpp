// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Products with the panels of a hierarchical matrix on a device. A lane of a warp has half a slab of a column, four
// rows, and the lane beside it the other half. It keeps its rows, or its columns, and `width` columns of the vectors in
// registers; lanes add up in a fixed order what belongs together. In place of what lies beyond the end the last is
// read, and multiplied by zero or left out: a branch would wait for its load.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plan.hpp"
#include "stretto/execute/device/vectors.hpp"

namespace stretto {

inline constexpr int rows_of_lane = 4, lanes_of_column = panel_rows / rows_of_lane;

/// What a lane has of a column of a panel. No more of it is aligned.
template <class S>
struct alignas(rows_of_lane * sizeof(S) < 8 ? rows_of_lane * sizeof(S) : 8) LaneRows {
    S of[rows_of_lane];
};

/// The scale of a column of integers.
template <class Block, class D>
STRETTO_KERNEL double scale_of(Block& block, const OnDevice<std::byte, D>* scales, Index column) {
    return static_cast<double>(block.at(reinterpret_cast<const OnDevice<float, D>*>(scales) + column));
}

/// Adds to a value that other blocks may add to.
template <class Block, class D>
STRETTO_KERNEL void add_atomically(Block& block, OnDevice<double, D>* p, double value) {
#ifdef __CUDA_ARCH__
    atomicAdd(&block.at(p), value);
#else
    block.at(p) += value;
#endif
}

/// Columns of a vector on a device that a kernel reads: n × m values, row by row.
template <class D>
struct DeviceColumns {
    const OnDevice<double, D>* data;
    Index rows;
    int columns;

    /// Row `row` of columns first … first + width − 1. The last row, and the last column, stand for those beyond.
    template <int width, class Block>
    STRETTO_KERNEL void load(Block& block, Index row, int first, double* to) const {
        const Index last = rows - 1;
        const auto* const from = data + static_cast<std::ptrdiff_t>(row < last ? row : last) * columns;
        if (width > 1 && columns % 2 == 0 && first + width <= columns) {
            STRETTO_UNROLL
            for (int c = 0; c + 1 < width; c += 2) block.load_pair(from + (first + c), to + c);
        } else {
            STRETTO_UNROLL
            for (int c = 0; c < width; ++c) to[c] = block.at(from + (first + c < columns ? first + c : columns - 1));
        }
    }
};

/// y = P v, or y += P v, for the panels of some blocks, `width` columns at once. A block first brings what it has to
/// know of up to a thousand columns, and their factors, to shared memory; then its warps, a slab each, read nothing but
/// values, columns beside one another, which are contiguous.
template <class D, int width>
struct ForwardKernel {
    static constexpr std::string_view name = "panels";
    static constexpr int blocks_together = width == 1 ? 5 : width == 4 ? 3 : 2;
    enum class Ends { store, add, add_atomically };
    const OnDevice<PanelRows, D>* tasks;
    const OnDevice<PanelChunk, D>* chunks;
    const OnDevice<PanelSegment, D>* segments;
    const OnDevice<std::uint16_t, D>* columns;
    const OnDevice<PanelRun, D>* runs;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x, products;
    OnDevice<double, D>* y;
    Index rows;
    Ends ends;

    static constexpr int threads = warps_of_block * lanes_of_warp;
    int tiles() const { return (x.columns + width - 1) / width; }
    Launch launch(int count) const { return {count * tiles(), threads, sizeof(Hand)}; }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        // Tiles of the same rows are neighbours, so that they find values in cache.
        const int all = (x.columns + width - 1) / width, first = block.index() % all * width;
        const PanelRows task = block.at(tasks + block.index() / all);
        Hand& hand = *block.template shared<Hand>(0, 1);
        typename Block::template PerThread<Sums> kept(block);
        block.each([&](int t) {
            for (double& sum : kept[t].of) sum = 0;
        });
        for (int c = task.first; c < task.last; ++c) {
            const PanelChunk chunk = block.at(chunks + c);
            block.each([&](int t) {
                if (t < chunk.runs) hand.run[t] = block.at(runs + (chunk.run + t));
                for (int j = t; j < chunk.columns; j += threads) bring(block, chunk, j, first, hand);
            });
            block.each([&](int t) {
                const int slab = t / lanes_of_warp;
                for (int k = 0; k < chunk.runs; ++k)
                    if (const PanelRun run = hand.run[k]; run.slab <= slab && slab < run.slab + run.slabs)
                        add(block, run, hand, first, t, kept[t].of);
            });
        }
        block.share_sums(kept, [](int) { return lanes_of_column; });
        block.each([&](int t) {
            const int slab = t / lanes_of_warp, half = t % lanes_of_column, part = t % lanes_of_warp / lanes_of_column;
            // Of the sums of its rows each lane of a column has its share, or some lanes have one.
            constexpr int sums = rows_of_lane * width, share = sums > columns_at_once ? sums / columns_at_once : 1;
            const int begin = part * sums / columns_at_once;
            if (slab >= task.slabs || part * sums % columns_at_once != 0) return;
            STRETTO_UNROLL
            for (int k = 0; k < share; ++k) {
                const Index row = task.row + slab * panel_rows + half * rows_of_lane + (begin + k) / width;
                const int column = first + (begin + k) % width;
                if (row < rows && column < x.columns)
                    end(block, y + (static_cast<std::ptrdiff_t>(row) * x.columns + column), kept[t].of[k]);
            }
        });
    }

private:
    static constexpr int columns_at_once = lanes_of_warp / lanes_of_column;
    static constexpr int loads = width == 1 ? 4 : 2;  // that a thread asks for before it waits for one
    struct Sums {
        double of[rows_of_lane * width];
    };
    /// Where a column of a panel is: byte of the block's first slab, which the panel may not reach.
    struct alignas(16) Column {
        std::int64_t at;
        std::int32_t slab_bytes;
    };
    /// A chunk.
    struct Hand {
        static constexpr int stride = width == 1 ? 1 : width + 2;  // so that columns lie in different banks
        Column columns[columns_of_chunk];
        double factors[columns_of_chunk * stride];
        PanelRun run[runs_of_chunk];
    };

    /// Where column j of a chunk is, and what it is multiplied by.
    template <class Block>
    STRETTO_KERNEL void bring(Block& block, const PanelChunk& chunk, int j, int first, Hand& hand) const {
        const PanelSegment s = block.at(segments + (chunk.segment + block.at(columns + (chunk.column + j))));
        const int own = j - s.place;
        if (static_cast<Stored>(s.stored) == Stored::nowhere) {
            hand.columns[j] = {s.col, 0};
            return;
        }
        const bool scaled = static_cast<Stored>(s.stored) >= Stored::in_16_bits;
        const double scale = scaled ? scale_of(block, values + s.scales, own) : 1;
        double factors[width];
        (s.products != 0 ? products : x).template load<width>(block, s.col + own, first, factors);
        hand.columns[j] = {s.at + own * (panel_rows * 8 >> s.stored), s.slab_bytes};
        STRETTO_UNROLL
        for (int c = 0; c < width; ++c) hand.factors[j * Hand::stride + c] = scale * factors[c];
    }
    template <class Block>
    STRETTO_KERNEL void add(Block& block, const PanelRun& run, const Hand& hand, int first, int t,
                            double (&sums)[rows_of_lane * width]) const {
        switch (static_cast<Stored>(run.stored)) {
            case Stored::in_double: return add_values<double>(block, run, hand, t, sums);
            case Stored::in_single: return add_values<float>(block, run, hand, t, sums);
            case Stored::in_16_bits: return add_values<std::int16_t>(block, run, hand, t, sums);
            case Stored::in_8_bits: return add_values<std::int8_t>(block, run, hand, t, sums);
            case Stored::nowhere: return add_products(block, run, hand, first, t, sums);
        }
    }
    template <class S, class Block>
    STRETTO_KERNEL void add_values(Block& block, const PanelRun& run, const Hand& hand, int t,
                                   double (&sums)[rows_of_lane * width]) const {
        const int slab = t / lanes_of_warp, half = t % lanes_of_column, last = run.last - 1;
        for (int j = run.first + t % lanes_of_warp / lanes_of_column; j <= last; j += loads * columns_at_once) {
            LaneRows<S> left[loads];
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                const int k = j + q * columns_at_once;
                const Column column = hand.columns[k < last ? k : last];
                const auto* const from = values + (column.at + static_cast<std::int64_t>(slab) * column.slab_bytes);
                left[q] = block.at(reinterpret_cast<const OnDevice<LaneRows<S>, D>*>(from) + half);
            }
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                const int k = j + q * columns_at_once;
                const double* const factors = hand.factors + (k < last ? k : last) * Hand::stride;
                STRETTO_UNROLL
                for (int c = 0; c < width; ++c) {
                    const double factor = k <= last ? factors[c] : 0;
                    STRETTO_UNROLL
                    for (int r = 0; r < rows_of_lane; ++r)
                        sums[r * width + c] += static_cast<double>(left[q].of[r]) * factor;
                }
            }
        }
    }
    template <class Block>
    STRETTO_KERNEL void add_products(Block& block, const PanelRun& run, const Hand& hand, int first, int t,
                                     double (&sums)[rows_of_lane * width]) const {
        const Index own = t / lanes_of_warp * panel_rows + t % lanes_of_column * rows_of_lane;
        for (int j = run.first + t % lanes_of_warp / lanes_of_column; j < run.last; j += columns_at_once) {
            STRETTO_UNROLL
            for (int r = 0; r < rows_of_lane; ++r) {
                double of[width];
                products.template load<width>(block, static_cast<Index>(hand.columns[j].at) + own + r, first, of);
                STRETTO_UNROLL
                for (int c = 0; c < width; ++c) sums[r * width + c] += of[c];
            }
        }
    }
    template <class Block>
    STRETTO_KERNEL void end(Block& block, OnDevice<double, D>* to, double sum) const {
        if (ends == Ends::add_atomically)
            add_atomically(block, to, sum);
        else
            block.at(to) = ends == Ends::store ? sum : block.at(to) + sum;
    }
};

/// What a lane loads of a column of a panel, and the numbers in it, where all columns are of one kind S …
template <class D, class S>
struct ColumnsOfOneKind {
    using Loaded = LaneRows<S>;
    template <class Block>
    STRETTO_KERNEL Loaded load(Block& block, const OnDevice<std::byte, D>* slab, int j, int half) const {
        return block.at(reinterpret_cast<const OnDevice<Loaded, D>*>(slab) + (j * lanes_of_column + half));
    }
    STRETTO_KERNEL double number(const Loaded& loaded, int r) const { return static_cast<double>(loaded.of[r]); }
};
/// … and where the first are integers of 16 bits and the others of 8, which become the upper half of 16.
template <class D>
struct ColumnsOfIntegers {
    using Loaded = std::uint64_t;
    int in_16_bits;
    template <class Block>
    STRETTO_KERNEL Loaded load(Block& block, const OnDevice<std::byte, D>* slab, int j, int half) const {
        const int place = j * lanes_of_column + half;
        if (j < in_16_bits) return block.at(reinterpret_cast<const OnDevice<std::uint64_t, D>*>(slab) + place);
        const std::uint32_t bytes = block.at(reinterpret_cast<const OnDevice<std::uint32_t, D>*>(slab) +
                                             (place + in_16_bits * lanes_of_column));
        const std::uint32_t upper = bytes >> 16;
        return std::uint64_t{(upper & 0xff) << 8 | (upper & 0xff00) << 16} << 32 | (bytes & 0xff) << 8 |
               (bytes & 0xff00) << 16;
    }
    STRETTO_KERNEL double number(Loaded loaded, int r) const { return static_cast<std::int16_t>(loaded >> 16 * r); }
    STRETTO_KERNEL double scale(int j) const { return j < in_16_bits ? 1 : 1. / 256; }
};

/// t = Pᵀ x for the panels of some blocks, `width` columns at once. A lane of a warp has its rows of `wide` columns of
/// the panel, the warp sixteen slabs.
template <class D, int width>
struct AdjointKernel {
    static constexpr std::string_view name = "transposed panels";
    static constexpr int blocks_together = width == 1 ? 4 : 2;
    const OnDevice<PanelAdjoint, D>* warps;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x;
    OnDevice<double, D>* products;

    static constexpr int threads = warps_of_block * lanes_of_warp;
    int tiles() const { return (x.columns + width - 1) / width; }
    Launch launch(int count) const {
        return {count * tiles(), threads, sizeof(double) * warps_of_block * sums_of_warp};
    }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const int all = (x.columns + width - 1) / width, first = block.index() % all * width;
        const auto* const own = warps + static_cast<std::ptrdiff_t>(block.index() / all) * warps_of_block;
        const int shares = block.at(own).shares, most = block.at(own).most;
        double* const of_warps =
            block.template shared<double>(0, static_cast<std::size_t>(warps_of_block * sums_of_warp));
        typename Block::template PerThread<Sums> kept(block);
        for (int begin = 0; begin < most; begin += wide) {
            block.each([&](int t) {
                const PanelAdjoint p = block.at(own + t / lanes_of_warp);
                for (double& sum : kept[t].of) sum = 0;
                with_columns(p, [&](const auto& columns) { add(block, p, columns, begin, first, t, kept[t].of); });
            });
            block.share_sums(kept, [](int) { return 1; });  // a lane, or some, has one of them then
            block.each([&](int t) {
                const int warp = t / lanes_of_warp, lane = t % lanes_of_warp, sum = lane * sums_of_warp / lanes_of_warp;
                if (lane * sums_of_warp % lanes_of_warp != 0) return;
                if (shares == 1)
                    put(block, block.at(own + warp), begin, sum, first, kept[t].of[0]);
                else
                    of_warps[warp * sums_of_warp + sum] = kept[t].of[0];
            });
            if (shares > 1)
                block.each([&](int t) {
                    const int warp = t / lanes_of_warp, sum = t % lanes_of_warp;
                    if (warp % shares != 0 || sum >= sums_of_warp) return;
                    double all_warps = 0;
                    for (int k = 0; k < shares; ++k) all_warps += of_warps[(warp + k) * sums_of_warp + sum];
                    put(block, block.at(own + warp), begin, sum, first, all_warps);
                });
        }
    }

private:
    static constexpr int wide = width == 1 ? 8 : 4, sums_of_warp = wide * width;
    static constexpr int loads = 4;  // columns that a thread asks for before it waits for one
    static_assert(sums_of_warp <= lanes_of_warp);
    struct Sums {
        double of[sums_of_warp];  // column by column of the panel
    };

    template <class Work>
    STRETTO_KERNEL static void with_columns(const PanelAdjoint& p, Work&& work) {
        switch (p.kind) {
            case PanelAdjoint::doubles: return work(ColumnsOfOneKind<D, double>{});
            case PanelAdjoint::singles: return work(ColumnsOfOneKind<D, float>{});
            case PanelAdjoint::integers: return work(ColumnsOfIntegers<D>{p.in_16_bits});
        }
    }
    template <class Columns, class Block>
    STRETTO_KERNEL void add(Block& block, const PanelAdjoint& p, const Columns& columns, int begin, int first, int t,
                            double (&sums)[sums_of_warp]) const {
        constexpr int at_once = lanes_of_warp / lanes_of_column;
        const int slabs = (p.rows + panel_rows - 1) / panel_rows, half = t % lanes_of_column, last = p.cols - 1;
        int slab = (t / lanes_of_warp & (p.shares - 1)) * at_once + t % lanes_of_warp / lanes_of_column;
        for (; slab < slabs; slab += at_once * p.shares) {
            const auto* const from = values + (p.at + static_cast<std::int64_t>(slab) * p.slab_bytes);
            STRETTO_UNROLL
            for (int some = 0; some < wide; some += loads) {
                if (begin + some > last) continue;
                typename Columns::Loaded left[loads];
                STRETTO_UNROLL
                for (int q = 0; q < loads; ++q) {
                    const int j = begin + some + q;
                    left[q] = columns.load(block, from, j < last ? j : last, half);
                }
                STRETTO_UNROLL
                for (int r = 0; r < rows_of_lane; ++r) {
                    double right[width];
                    x.template load<width>(block, p.row + slab * panel_rows + half * rows_of_lane + r, first, right);
                    STRETTO_UNROLL
                    for (int q = 0; q < loads; ++q) {
                        const double of = columns.number(left[q], r);
                        STRETTO_UNROLL
                        for (int c = 0; c < width; ++c) sums[(some + q) * width + c] += of * right[c];
                    }
                }
            }
        }
    }
    /// What is t for one of the sums of a panel.
    template <class Block>
    STRETTO_KERNEL void put(Block& block, const PanelAdjoint& p, int begin, int sum, int first, double value) const {
        const int j = begin + sum / width, column = first + sum % width;
        if (j >= p.cols || column >= x.columns) return;
        if (p.kind == PanelAdjoint::integers)
            value *= scale_of(block, values + p.scales, j) * ColumnsOfIntegers<D>{p.in_16_bits}.scale(j);
        block.at(products + (static_cast<std::ptrdiff_t>(p.product + j) * x.columns + column)) = value;
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
