// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// t = Pᵀ x by the panels of a hierarchical matrix on a device. In place of what lies beyond the end the last is read,
// and multiplied by zero or left out: a branch would wait for its load.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stored.hpp"
#include "stretto/execute/device/sums.hpp"

namespace stretto {

/// t = Pᵀ x for the panels of some blocks and x of one column. A block has its rows of x in shared memory; a lane has a
/// column of a panel, eight rows after eight.
template <class D>
struct AdjointKernel {
    static constexpr std::string_view name = "transposed panels";
    static constexpr int blocks_together = 4;
    const OnDevice<PanelRows, D>* tasks;
    const OnDevice<PanelGroup, D>* groups;
    const OnDevice<PanelColumn, D>* columns;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x;
    OnDevice<double, D>*products, *parts;

    static constexpr int threads = warps_of_block * lanes_of_warp;
    Launch launch(int count) const { return {count, threads, most_slabs_adjoint * sizeof(Right)}; }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const PanelRows task = block.at(tasks + block.index());
        Right* const right = block.template shared<Right>(0, most_slabs_adjoint);
        block.each([&](int t) {
            for (Index r = t; r < task.slabs * panel_rows; r += threads)
                right[r / panel_rows].of[r % panel_rows] = x.at(block, task.row + r);
        });
        block.each([&](int t) {
            const int lane = t % lanes_of_warp;
            int g = task.first + t / lanes_of_warp;
            if (g >= task.last) return;
            PanelGroup group = block.at(groups + g);
            PanelColumn column = block.at(columns + (g * lanes_of_warp + lane));
            while (true) {
                // What comes next is asked for before it is needed.
                g += warps_of_block;
                const int next = g < task.last ? g : task.last - 1;
                const PanelGroup next_group = block.at(groups + next);
                const PanelColumn next_column = block.at(columns + (next * lanes_of_warp + lane));
                double sum = 0;
                with_stored(group.stored(), [&]<class S>() { sum = product<S>(block, group, column.place, right); });
                if (lane < group.columns()) {
                    auto* const to = column.vector >= 0 ? products : parts;
                    block.at(to + (column.vector >= 0 ? column.vector : ~column.vector)) = column.scale * sum;
                }
                if (g >= task.last) return;
                group = next_group;
                column = next_column;
            }
        });
    }

private:
    /// x in a slab.
    struct alignas(16) Right {
        double of[panel_rows];
    };

    template <class S, class Block>
    STRETTO_KERNEL double product(Block& block, const PanelGroup& group, std::int64_t place, const Right* right) const {
        using Loaded = PanelValues<S, panel_rows>;
        constexpr int loads = sizeof(S) == 1 ? 8 : sizeof(S) == 2 ? 4 : 8 / static_cast<int>(sizeof(S));
        const int last = group.slab() + group.slabs() - 1;
        double sum = 0;
        for (int slab = group.slab(); slab <= last; slab += loads) {
            Loaded left[loads];
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q)
                left[q] = block.at(values_at<Loaded>(values, place, slab + q < last ? slab + q : last));
            STRETTO_UNROLL
            for (int q = 0; q < loads; ++q) {
                const Right& of_slab = right[slab + q < last ? slab + q : last];
                if (slab + q > last) left[q] = {};
                STRETTO_UNROLL
                for (int r = 0; r < panel_rows; ++r) sum += left[q].number(r) * of_slab.of[r];
            }
        }
        return sum;
    }
};

/// The same for x of several columns, 8 · tiles at once, by products of small matrices: a warp has the columns of a
/// group and two slabs at a time, lane 4 i + k of columns i, i + 8, … the half slab k.
template <class D, int tiles>
struct AdjointTileKernel {
    static constexpr std::string_view name = "transposed panels, several columns";
    static constexpr int blocks_together = 2;
    const OnDevice<PanelRows, D>* tasks;
    const OnDevice<PanelGroup, D>* groups;
    const OnDevice<PanelColumn, D>* columns;
    const OnDevice<std::byte, D>* values;
    DeviceColumns<D> x;
    OnDevice<double, D>*products, *parts;

    static constexpr int threads = warps_of_block * lanes_of_warp, width = 8 * tiles;
    Launch launch(int count) const {
        return {count * ((x.columns + width - 1) / width), threads, sizeof(double) * rows_here * stride};
    }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const int all = (x.columns + width - 1) / width, first = block.index() % all * width;
        const PanelRows task = block.at(tasks + block.index() / all);
        double* const right = block.template shared<double>(0, rows_here * stride);
        block.each([&](int t) {
            for (int i = t; i < task.slabs * panel_rows * width; i += threads)
                right[i / width * stride + i % width] = x.at(block, task.row + i / width, first + i % width);
        });
        typename Block::template PerThread<Sums<Block>> kept(block);
        for (int g = task.first; g < task.last; g += warps_of_block) {
            block.each_apart([&](int t) {
                kept[t] = {};
                if (g + t / lanes_of_warp >= task.last) return;
                const PanelGroup group = block.at(groups + (g + t / lanes_of_warp));
                with_stored(group.stored(), [&]<class S>() { add<S>(block, group, g, right, t, kept[t]); });
            });
            block.end_products(kept);
            block.each_apart([&](int t) {
                const int own = g + t / lanes_of_warp, lane = t % lanes_of_warp;
                if (own >= task.last) return;
                STRETTO_UNROLL
                for (int q = 0; q < columns_of_lane; ++q) {
                    const int j = q * 8 + lane / 4;
                    if (j >= block.at(groups + own).columns()) continue;
                    const PanelColumn column = block.at(columns + (own * lanes_of_warp + j));
                    auto* const to = column.vector >= 0 ? products : parts;
                    const auto row = static_cast<std::ptrdiff_t>(column.vector >= 0 ? column.vector : ~column.vector);
                    STRETTO_UNROLL
                    for (int s = 0; s < tiles; ++s) {
                        STRETTO_UNROLL
                        for (int e = 0; e < 2; ++e)
                            if (const int c = first + s * 8 + lane % 4 * 2 + e; c < x.columns)
                                block.at(to + (row * x.columns + c)) = column.scale * kept[t].of[s][q / 2][q % 2].of[e];
                    }
                }
            });
        }
    }

private:
    static constexpr int columns_of_lane = lanes_of_warp / 8, rows_of_lane = 4;
    static constexpr std::size_t rows_here = most_slabs_adjoint * panel_rows;
    static constexpr int stride = width + 1;  // so that rows lie in different banks
    template <class Block>
    struct Sums {
        typename Block::Product of[tiles][columns_of_lane / 2][2];
    };

    template <class S, class Block>
    STRETTO_KERNEL void add(Block& block, const PanelGroup& group, int g, const double* right, int t,
                            Sums<Block>& sums) const {
        using Loaded = PanelValues<S, rows_of_lane>;
        constexpr int loads = 2;
        const int i = t % lanes_of_warp / 4, k = t % 4, last = group.slab() + group.slabs() - 1;
        std::int64_t places[columns_of_lane];
        STRETTO_UNROLL
        for (int q = 0; q < columns_of_lane; ++q)
            places[q] = block.at(columns + ((g + t / lanes_of_warp) * lanes_of_warp + q * 8 + i)).place;
        for (int begin = group.slab(); begin <= last; begin += 2 * loads) {
            Loaded left[loads][columns_of_lane];
            STRETTO_UNROLL
            for (int p = 0; p < loads; ++p) {
                const int slab = begin + 2 * p + k / 2, near = slab < last ? slab : last;
                STRETTO_UNROLL
                for (int q = 0; q < columns_of_lane; ++q)
                    left[p][q] = block.at(values_at<Loaded>(values, places[q], near) + k % 2);
            }
            STRETTO_UNROLL
            for (int p = 0; p < loads; ++p) {
                const int slab = begin + 2 * p + k / 2, near = slab < last ? slab : last;
                STRETTO_UNROLL
                for (int r = 0; r < rows_of_lane; ++r) {
                    const double* const row = right + (near * panel_rows + k % 2 * rows_of_lane + r) * stride;
                    STRETTO_UNROLL
                    for (int s = 0; s < tiles; ++s) {
                        const auto of_row = block.operand([&](int n) { return slab <= last ? row[s * 8 + n] : 0; });
                        STRETTO_UNROLL
                        for (int q = 0; q < columns_of_lane; q += 2)
                            block.add_products(sums.of[s][q / 2], left[p][q].number(r), left[p][q + 1].number(r),
                                               of_row);
                    }
                }
            }
        }
    }
};

/// Adds up the parts of t that blocks have: four lanes share a sum.
template <class D>
struct AddParts {
    static constexpr std::string_view name = "parts of products";
    const OnDevice<PanelSum, D>* sums;
    std::size_t count;
    const OnDevice<double, D>* parts;
    OnDevice<double, D>* products;
    int columns;

    static constexpr int threads = warps_of_block * lanes_of_warp, lanes_of_sum = 4;
    static constexpr int at_once = lanes_of_warp / lanes_of_sum;  // sums of a warp
    Launch launch() const { return {blocks_of(size() * lanes_of_sum, threads), threads}; }

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const std::size_t first = static_cast<std::size_t>(block.index()) * (threads / lanes_of_sum), all = size();
        const auto own = [&](int t) {
            return first + static_cast<std::size_t>(t / lanes_of_warp * at_once + t % at_once);
        };
        typename Block::template PerThread<Sum> kept(block);
        block.each([&](int t) {
            kept[t] = {};
            if (own(t) >= all) return;
            const PanelSum sum = block.at(sums + own(t) / static_cast<std::size_t>(columns));
            const auto* const from = parts + own(t) % static_cast<std::size_t>(columns);
            for (int k = t % lanes_of_warp / at_once; k < sum.count; k += lanes_of_sum)
                kept[t].of[0] += block.at(from + static_cast<std::ptrdiff_t>(sum.first + k * sum.apart) * columns);
        });
        block.share_sums(kept, [](int) { return at_once; });
        block.each([&](int t) {
            if (own(t) >= all || t % lanes_of_warp >= at_once) return;
            const Index row = block.at(sums + own(t) / static_cast<std::size_t>(columns)).product;
            block.at(products + (static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                                 own(t) % static_cast<std::size_t>(columns))) = kept[t].of[0];
        });
    }

private:
    struct Sum {
        double of[1];
    };
    STRETTO_KERNEL_AND_HOST std::size_t size() const { return count * static_cast<std::size_t>(columns); }
};

/// Calls work.operator()<Kernel>() for the kernel that multiplies m columns of x.
template <class D, class Work>
void with_adjoint_kernel(int m, Work&& work) {
    if (m == 1)
        work.template operator()<AdjointKernel<D>>();
    else if (m <= 8)
        work.template operator()<AdjointTileKernel<D, 1>>();
    else
        work.template operator()<AdjointTileKernel<D, 2>>();
}

}  // namespace stretto
