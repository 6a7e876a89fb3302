// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "stretto/execute/device/sums.hpp"
#include "stretto/statements/panel_statements.hpp"

namespace stretto {

/// The vectors of a panel, for a kernel.
template <class X, class D>
struct DevicePanel {
    OnDevice<X, D>* first = nullptr;
    std::size_t stride = 0;
    int count = 0;

    DevicePanel() = default;
    explicit DevicePanel(const Panel<OnDevice<X, D>>& panel)
        : first(panel.data()), stride(panel.stride()), count(panel.count()) {}
    STRETTO_KERNEL OnDevice<X, D>* at(int k, std::size_t e) const {
        return first + static_cast<std::size_t>(k) * stride + e;
    }
};

/// What a statement has for coefficients, and after them for its divisor, for PanelAssignKernel.
template <class X, class D>
std::vector<X> values_of(const PanelAssign<OnDevice<X, D>>& s, int columns) {
    std::vector<X> all;
    const int n = s.target.count();
    for (int i = 0; i < s.panel.count(); ++i)
        for (int c = 0; c < n; ++c)
            for (int j = 0; j < columns; ++j) all.push_back(s.sign * s.coefficients(i, c)[j]);
    for (int i = 0; s.divisor.data && i < n; ++i)
        for (int c = 0; c < n; ++c)
            for (int j = 0; j < columns; ++j) {
                const X value = c < i ? X{} : s.divisor(i, c)[j];
                all.push_back(i < c ? -value : value != X{} ? X{1} / value : X{});
            }
    return all;
}

/// target = (start ± panel · coefficients) · divisor⁻¹: a thread has two neighbouring elements of all vectors at a
/// time. `together` vectors of the target are made while a panel is read once.
template <class X, class D, int together>
struct PanelAssignKernel {
    static constexpr std::string_view name = "panel";
    DevicePanel<X, D> target, start, panel;
    const OnDevice<X, D>* coefficients;  // row by row, m numbers an entry
    const OnDevice<X, D>* divisor;       // null: none; negative above the diagonal, inverted on it
    std::size_t elements;
    int columns;

    Launch launch() const {
        const int threads = threads_of_columns(columns, 2);
        return {std::min(blocks_of((elements + 1) / 2, static_cast<std::size_t>(threads)), D::many_blocks), threads};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const auto step = 2 * static_cast<std::size_t>(block.threads()) * static_cast<std::size_t>(block.blocks());
        block.each([&](int t) {
            const int column[2] = {2 * t % columns, (2 * t + 1) % columns};
            for (auto e = 2 * static_cast<std::size_t>(block.index() * block.threads() + t); e < elements; e += step)
                for (int k = 0; k < target.count; k += together) make(block, e, column, k);
        });
    }

private:
    static constexpr int loads = 4;  // that a thread asks for before it waits for one

    /// Sums of vectors k … of the target, as far as there are so many, and what vectors `of` add to them.
    template <class Block>
    STRETTO_KERNEL void add(Block& block, const DevicePanel<X, D>& of, int count, const OnDevice<X, D>* matrix,
                            std::size_t e, const int (&column)[2], int k, X (&sums)[together][2]) const {
        for (int first = 0; first < count; first += loads) {
            X values[loads][2];
            STRETTO_UNROLL
            for (int i = 0; i < loads; ++i)
                if (first + i < count) block.load_pair(of.at(first + i, e), values[i]);
            STRETTO_UNROLL
            for (int i = 0; i < loads; ++i) {
                if (first + i >= count) continue;
                STRETTO_UNROLL
                for (int q = 0; q < together; ++q) {
                    if (k + q >= target.count) continue;
                    STRETTO_UNROLL
                    for (int lane = 0; lane < 2; ++lane)
                        sums[q][lane] += values[i][lane] * entry(block, matrix, first + i, k + q, column[lane]);
                }
            }
        }
    }
    template <class Block>
    STRETTO_KERNEL X entry(Block& block, const OnDevice<X, D>* matrix, int i, int c, int column) const {
        return block.at(matrix + (i * target.count + c) * columns + column);
    }
    template <class Block>
    STRETTO_KERNEL void make(Block& block, std::size_t e, const int (&column)[2], int k) const {
        X sums[together][2] = {};
        STRETTO_UNROLL
        for (int q = 0; q < together; ++q)
            if (start.count > 0 && k + q < target.count) block.load_pair(start.at(k + q, e), sums[q]);
        add(block, panel, panel.count, coefficients, e, column, k, sums);
        if (divisor) add(block, target, k, divisor, e, column, k, sums);
        STRETTO_UNROLL
        for (int q = 0; q < together; ++q) {
            if (k + q >= target.count) continue;
            if (divisor) {
                STRETTO_UNROLL
                for (int lane = 0; lane < 2; ++lane) {
                    STRETTO_UNROLL
                    for (int i = 0; i < q; ++i)
                        sums[q][lane] += sums[i][lane] * entry(block, divisor, k + i, k + q, column[lane]);
                    sums[q][lane] *= entry(block, divisor, k + q, k + q, column[lane]);
                }
            }
            if (e + 1 < elements)
                block.store_pair(target.at(k + q, e), sums[q]);
            else
                block.at(target.at(k + q, e)) = sums[q][0];
        }
    }
};

/// All products of a vector of `left` with one of `right`. A block has four of `left` and two of `right` along every
/// strip of rows that is its turn.
template <class X, class D>
struct PanelDotsKernel {
    static constexpr std::string_view name = "products of panels";
    DevicePanel<X, D> left, right;
    SumsForHost<X, D> sums;
    std::size_t elements;
    int columns;

    static constexpr int high = 4, wide = 2, most_strips = D::most_blocks;

    int across() const { return (right.count + wide - 1) / wide; }
    int tiles() const { return (left.count + high - 1) / high * across(); }
    int strips() const {
        const auto threads = static_cast<std::size_t>(threads_of_columns(columns, 1));
        return static_cast<int>(std::clamp<std::size_t>((elements + threads - 1) / threads, 1, most_strips));
    }
    /// Of all tiles, those at the edges as large as the others.
    std::size_t partials() const {
        return static_cast<std::size_t>(tiles() * strips()) * static_cast<std::size_t>(high * wide * columns);
    }
    Launch launch() const {
        const int threads = threads_of_columns(columns, 1);
        return {tiles() * strips(), threads, static_cast<std::size_t>(high * wide * threads) * sizeof(X)};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        const int threads = block.threads(), in_row = (right.count + wide - 1) / wide;
        const int all = (left.count + high - 1) / high * in_row, parts = block.blocks() / all;
        const int tile = block.index() % all, strip = block.index() / all;
        const int top = tile / in_row * high, side = tile % in_row * wide;
        X* const room = block.template shared<X>(0, static_cast<std::size_t>(high * wide * threads));
        block.each([&](int t) {
            X mine[high][wide] = {};
            const auto step = static_cast<std::size_t>(threads) * static_cast<std::size_t>(parts);
            for (std::size_t e = static_cast<std::size_t>(strip * threads + t); e < elements; e += step)
                multiply(block, e, top, side, mine);
            STRETTO_UNROLL
            for (int k = 0; k < high * wide; ++k) room[k * threads + t] = mine[k / wide][k % wide];
        });
        add_rows(block, room, high * wide, threads, threads / columns, columns);
        const PartOfSums part{tile, all, strip, parts};
        const int count = high * wide * columns;
        block.each([&](int t) {
            for (int i = t; i < count; i += threads)
                block.at(sums.partial(part, count, i)) = room[i / columns * threads + i % columns];
        });
        sums.finish(block, room, part, count, [&](int i) {
            const int k = i / columns, row = top + k / wide, col = side + k % wide;
            return row < left.count && col < right.count ? (row * right.count + col) * columns + i % columns : -1;
        });
    }

private:
    template <class Block>
    STRETTO_KERNEL void multiply(Block& block, std::size_t e, int top, int side, X (&mine)[high][wide]) const {
        X of_right[wide];
        STRETTO_UNROLL
        for (int c = 0; c < wide; ++c) of_right[c] = side + c < right.count ? block.at(right.at(side + c, e)) : X{};
        STRETTO_UNROLL
        for (int r = 0; r < high; ++r) {
            if (top + r >= left.count) continue;
            const X value = block.at(left.at(top + r, e));
            STRETTO_UNROLL
            for (int c = 0; c < wide; ++c) mine[r][c] += value * of_right[c];
        }
    }
};

}  // namespace stretto
