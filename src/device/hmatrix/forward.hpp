// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// y = P v by the panels of a hierarchical matrix on a device. In place of what lies beyond the end the last is read,
// and multiplied by zero or left out: a branch would wait for its load.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stored.hpp"

namespace stretto {

/// Adds to a value that other blocks may add to.
template <class Block, class D>
STRETTO_KERNEL void add_atomically(Block& block, OnDevice<double, D>* p, double value) {
#ifdef __CUDA_ARCH__
    atomicAdd(&block.at(p), value);
#else
    block.at(p) += value;
#endif
}

/// What the sums of y = P v do there.
enum class Ends { store, add, add_atomically };
template <class Block, class D>
STRETTO_KERNEL void end_sum(Block& block, Ends ends, OnDevice<double, D>* to, double sum) {
    if (ends == Ends::add_atomically)
        add_atomically(block, to, sum);
    else
        block.at(to) = ends == Ends::store ? sum : block.at(to) + sum;
}

/// Where the columns of chunks are.
template <class D>
struct DeviceChunks {
    const OnDevice<PanelChunk, D>* chunks;
    const OnDevice<PanelRun, D>* runs;
    const OnDevice<PanelRange, D>* ranges;
    const OnDevice<PanelColumn, D>* columns;

    /// What thread t of so many brings of a chunk: put(j, column).
    template <class Block, class Put>
    STRETTO_KERNEL void bring(Block& block, const PanelChunk& chunk, int t, int threads, Put&& put) const {
        constexpr int lanes_of_range = 8;
        for (int k = t / lanes_of_range; k < chunk.ranges; k += threads / lanes_of_range) {
            const PanelRange range = block.at(ranges + (chunk.range + k));
            STRETTO_UNROLL_BY_4
            for (int j = t % lanes_of_range; j < range.count; j += lanes_of_range) put(range.to + j, range.at(j));
        }
        STRETTO_UNROLL_BY_4
        for (int j = chunk.in_ranges + t; j < chunk.columns; j += threads)
            put(j, block.at(columns + (chunk.column + j - chunk.in_ranges)));
    }
};

/// y = P v, or y += P v, for the panels of some blocks and vectors of one column. A block first brings where columns of
/// panels are, and their factors, to shared memory; then its warps, a slab each, read nothing but values, columns
/// beside one another, which are contiguous. A lane has half of a slab, four rows, and the lane beside it the other
/// half.
template <class D>
struct ForwardKernel {
    static constexpr std::string_view name = "panels";
    static constexpr int blocks_together = 4;
    const OnDevice<PanelRows, D>* tasks;
    DeviceChunks<D> lists;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x, products;
    OnDevice<double, D>* y;
    Index rows;
    Ends ends;
    int room;  // columns of the largest chunk

    static constexpr int threads = warps_of_block * lanes_of_warp;
    Launch launch(int count) const {
        return {count, threads, runs_bytes + static_cast<std::size_t>(room) * (sizeof(std::int64_t) + sizeof(double))};
    }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const PanelRows task = block.at(tasks + block.index());
        const auto at_hand = static_cast<std::size_t>(room);
        const Hand hand{block.template shared<PanelRun>(0, runs_of_chunk),
                        block.template shared<std::int64_t>(runs_bytes, at_hand),
                        block.template shared<double>(runs_bytes + at_hand * sizeof(std::int64_t), at_hand)};
        typename Block::template PerThread<Sums> kept(block);
        block.each([&](int t) { kept[t] = {}; });
        for (int c = task.first; c < task.last; ++c) {
            const PanelChunk chunk = block.at(lists.chunks + c);
            block.each([&](int t) {
                if (t < chunk.runs) hand.runs[t] = block.at(lists.runs + (chunk.run + t));
                lists.bring(block, chunk, t, threads, [&](int j, const PanelColumn& column) {
                    const bool of_x = column.vector >= 0;
                    hand.places[j] = column.place;
                    hand.factors[j] =
                        column.scale * (of_x ? x : products).at(block, of_x ? column.vector : ~column.vector);
                });
            });
            block.each([&](int t) {
                const int slab = t / lanes_of_warp;
                for (int k = 0; k < chunk.runs; ++k) {
                    const PanelRun run = hand.runs[k];
                    if (slab < run.slab || slab >= run.slab + run.slabs) continue;
                    const auto stored = static_cast<Stored>(run.stored);
                    if (stored == Stored::nowhere)
                        add_products(block, run, hand, t, kept[t].of);
                    else
                        with_stored(stored, [&]<class S>() { add_values<S>(block, run, hand, t, kept[t].of); });
                }
            });
        }
        block.share_sums(kept, [](int) { return lanes_of_column; });
        block.each([&](int t) {
            const int slab = t / lanes_of_warp, half = t % lanes_of_column, part = t % lanes_of_warp / lanes_of_column;
            // Every fourth lane of those of a column has the sum of one of their four rows.
            if (slab >= task.slabs || part * rows_of_lane % columns_at_once != 0) return;
            const Index row =
                task.row + slab * panel_rows + half * rows_of_lane + part * rows_of_lane / columns_at_once;
            if (row < rows) end_sum(block, ends, y + row, kept[t].of[0]);
        });
    }

private:
    static constexpr int rows_of_lane = 4, lanes_of_column = panel_rows / rows_of_lane, loads = 8;
    static constexpr int columns_at_once = lanes_of_warp / lanes_of_column;
    static constexpr std::size_t runs_bytes = runs_of_chunk * sizeof(PanelRun);
    struct Sums {
        double of[rows_of_lane];
    };
    /// A chunk, in shared memory.
    struct Hand {
        PanelRun* runs;
        std::int64_t* places;  // PanelColumn::place
        double* factors;
    };

    template <class S, class Block>
    STRETTO_KERNEL void add_values(Block& block, const PanelRun& run, const Hand& hand, int t,
                                   double (&sums)[rows_of_lane]) const {
        using Loaded = PanelValues<S, rows_of_lane>;
        const int slab = t / lanes_of_warp, half = t % lanes_of_column, last = run.last - 1;
        for (int j = run.first + t % lanes_of_warp / lanes_of_column; j <= last; j += loads * columns_at_once) {
            Loaded left[loads];
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                const int k = j + q * columns_at_once;
                left[q] = block.at(values_at<Loaded>(values, hand.places[k < last ? k : last], slab) + half);
            }
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                const int k = j + q * columns_at_once;
                const double of_last = hand.factors[k < last ? k : last], factor = k <= last ? of_last : 0;
                STRETTO_UNROLL
                for (int r = 0; r < rows_of_lane; ++r) sums[r] += left[q].number(r) * factor;
            }
        }
    }
    template <class Block>
    STRETTO_KERNEL void add_products(Block& block, const PanelRun& run, const Hand& hand, int t,
                                     double (&sums)[rows_of_lane]) const {
        const Index own = t / lanes_of_warp * panel_rows + t % lanes_of_column * rows_of_lane;
        for (int j = run.first + t % lanes_of_warp / lanes_of_column; j < run.last; j += columns_at_once) {
            const Index row = static_cast<Index>(hand.places[j]) + own;
            STRETTO_UNROLL
            for (int r = 0; r < rows_of_lane; ++r) sums[r] += products.at(block, row + r);
        }
    }
};

/// The same for vectors of several columns, 8 · tiles at once, by products of small matrices. Four slabs of a block and
/// a fourth of its columns of panels are a warp's: lane 4 i + k has of column k the half slab i. In the end the block
/// adds up what its warps have.
template <class D, int tiles>
struct ForwardTileKernel {
    static constexpr std::string_view name = "panels, several columns";
    static constexpr int blocks_together = 2;
    const OnDevice<PanelRows, D>* tasks;
    DeviceChunks<D> lists;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x, products;
    OnDevice<double, D>* y;
    Index rows;
    Ends ends;
    int room;  // columns of the largest chunk

    static constexpr int threads = warps_of_block * lanes_of_warp, width = 8 * tiles;
    Launch launch(int count) const {
        const std::size_t chunk = runs_bytes + static_cast<std::size_t>(room) * sizeof(AtHand);
        return {count * ((x.columns + width - 1) / width), threads, std::max(chunk, sums_bytes)};
    }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        // Columns of the same rows are neighbours, so that they find values in cache.
        const int all = (x.columns + width - 1) / width, first = block.index() % all * width;
        const PanelRows task = block.at(tasks + block.index() / all);
        auto* const runs_here = block.template shared<PanelRun>(0, runs_of_chunk);
        auto* const here = block.template shared<AtHand>(runs_bytes, static_cast<std::size_t>(room));
        typename Block::template PerThread<Sums<Block>> kept(block);
        block.each([&](int t) { kept[t] = {}; });
        for (int c = task.first; c < task.last; ++c) {
            const PanelChunk chunk = block.at(lists.chunks + c);
            block.each([&](int t) {
                if (t < chunk.runs) runs_here[t] = block.at(lists.runs + (chunk.run + t));
                lists.bring(block, chunk, t, threads, [&](int j, const PanelColumn& column) {
                    const bool of_x = column.vector >= 0;
                    const auto row = static_cast<std::ptrdiff_t>(of_x ? column.vector : ~column.vector);
                    here[j] = {bytes_between(values, first_values(values, column.place)),
                               bytes_between(x.data, (of_x ? x : products).data + row * x.columns),
                               slab_bytes_of(column.place), column.scale};
                });
            });
            block.each([&](int t) {
                for (int k = 0; k < chunk.runs; ++k)
                    with_stored(static_cast<Stored>(runs_here[k].stored),
                                [&]<class S>() { add<S>(block, runs_here[k], here, first, t, kept[t]); });
            });
        }
        block.end_products(kept);
        auto* const sums = block.template shared<double>(0, sums_bytes / sizeof(double));
        block.each([&](int t) {
            const int lane = t % lanes_of_warp;
            STRETTO_UNROLL
            for (int r = 0; r < rows_of_lane; ++r) {
                STRETTO_UNROLL
                for (int s = 0; s < tiles; ++s) {
                    double* const to =
                        sums + ((t / lanes_of_warp * rows_of_warp + lane / 4 * rows_of_lane + r) * width + s * 8 +
                                lane % 4 * 2);
                    to[0] = kept[t].of[s][r / 2][r % 2].of[0];
                    to[1] = kept[t].of[s][r / 2][r % 2].of[1];
                }
            }
        });
        block.each([&](int t) {
            for (int i = t; i < task.slabs * panel_rows * width; i += threads) {
                const int own = i / width, column = first + i % width;
                if (task.row + own >= rows || column >= x.columns) continue;
                double sum = 0;
                for (int w = own / rows_of_warp; w < warps_of_block; w += warps_of_block / shares)
                    sum += sums[(w * rows_of_warp + own % rows_of_warp) * width + i % width];
                for (int c = task.first; c < task.last; ++c)
                    sum += without_values(block, block.at(lists.chunks + c), own, column);
                end_sum(block, ends, y + (static_cast<std::ptrdiff_t>(task.row + own) * x.columns + column), sum);
            }
        });
    }

private:
    static constexpr int loads = 4, rows_of_lane = 4, slabs_of_warp = 4, rows_of_warp = slabs_of_warp * panel_rows,
                         shares = 4;
    static constexpr std::size_t runs_bytes = runs_of_chunk * sizeof(PanelRun);
    static constexpr std::size_t sums_bytes = sizeof(double) * warps_of_block * rows_of_warp * width;
    /// A column of a chunk, in shared memory.
    struct AtHand {
        std::int64_t values;   // byte of those in the block's first slab
        std::int64_t factors;  // the row of x or t, in bytes from where x begins
        std::uint32_t slab_bytes;
        float scale;
    };
    template <class Block>
    struct Sums {
        typename Block::Product of[tiles][rows_of_lane / 2][2];
    };

    template <class S, class Block>
    STRETTO_KERNEL void add(Block& block, const PanelRun& run, const AtHand* here, int first, int t,
                            Sums<Block>& sums) const {
        using Loaded = PanelValues<S, rows_of_lane>;
        const int warp = t / lanes_of_warp, i = t % lanes_of_warp / 4, k = t % 4, last = run.last - 1;
        const int begin = warp % 2 * slabs_of_warp, slab = begin + i / 2, end = run.slab + run.slabs;
        if (end <= begin || run.slab >= begin + slabs_of_warp) return;
        const bool inside = run.slab <= slab && slab < end;
        for (int j = run.first + warp / 2 * loads * 4; j <= last; j += shares * loads * 4) {
            Loaded left[loads];
            typename Block::Operand right[loads][tiles];
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                const int own = j + q * 4 + k;
                const AtHand column = here[own < last ? own : last];
                left[q] = {};
                if (inside)  // lanes whose slab the run has not load nothing
                    left[q] = block.at(slabs_later<Loaded>(values + column.values, column.slab_bytes, slab) + i % 2);
                const double scale = own <= last ? column.scale : 0;
                STRETTO_UNROLL
                for (int s = 0; s < tiles; ++s)
                    right[q][s] = block.operand([&](int n) {
                        const int of = first + s * 8 + n;
                        return scale *
                               block.at(bytes_later(x.data + (of < x.columns ? of : x.columns - 1), column.factors));
                    });
            }
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                STRETTO_UNROLL
                for (int r = 0; r < rows_of_lane; r += 2) {
                    const double one = left[q].number(r), two = left[q].number(r + 1);
                    STRETTO_UNROLL
                    for (int s = 0; s < tiles; ++s) block.add_products(sums.of[s][r / 2], one, two, right[q][s]);
                }
            }
        }
    }
    /// What products without values add to a row of the block: their runs are the last of a chunk.
    template <class Block>
    STRETTO_KERNEL double without_values(Block& block, const PanelChunk& chunk, int row, int column) const {
        double sum = 0;
        for (int k = chunk.runs - 1; k >= 0; --k) {
            const PanelRun run = block.at(lists.runs + (chunk.run + k));
            if (static_cast<Stored>(run.stored) != Stored::nowhere) break;
            if (row / panel_rows < run.slab || row / panel_rows >= run.slab + run.slabs) continue;
            for (int j = run.first; j < run.last; ++j) {
                const PanelColumn at = block.at(lists.columns + (chunk.column + j - chunk.in_ranges));
                sum += products.at(block, static_cast<Index>(at.place) + row, column);
            }
        }
        return sum;
    }
};

/// Calls work.operator()<Kernel>() for the kernel that multiplies m columns of x.
template <class D, class Work>
void with_forward_kernel(int m, Work&& work) {
    if (m == 1)
        work.template operator()<ForwardKernel<D>>();
    else if (m <= 8)
        work.template operator()<ForwardTileKernel<D, 1>>();
    else
        work.template operator()<ForwardTileKernel<D, 2>>();
}

}  // namespace stretto
