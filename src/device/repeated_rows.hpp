// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/execute/device/vectors.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// A table of different rows.
template <class X, class D>
struct DifferentRows {
    static constexpr std::uint16_t none = 0xffff;  // the number of a row that is not among them
    static constexpr std::size_t most_entries = 2048;
    const OnDevice<std::uint16_t, D>* number;  // of each row
    const OnDevice<int, D>* start;             // of each number, in what follows
    const OnDevice<Index, D>* offsets;         // of columns, from the diagonal
    const OnDevice<X, D>* values;
    int numbers, entries;
    Index farthest;  // the largest offset of the row that most rows are
};

/// Rows of which there are few different ones, but for where they stand: A x in those whose number is known, each for
/// Work (row_work.hpp). A
/// block has the table at hand, and neighbouring rows, which share values of x; a thread has `high` of them at a time,
/// which mostly are alike. Of several columns, the next rows of a block are as far on as the farthest value of x that
/// most rows have, so that it finds in its cache what it had read for those before: from one plane of a grid to the
/// next. Of one, all blocks are near one another, which measured faster.
template <class X, class D, class Work, int high, class Columns>
struct RepeatedRowsKernel {
    static constexpr std::string_view name = "product, repeated rows";
    static constexpr int blocks_together = 8;
    static constexpr std::uint16_t none = DifferentRows<X, D>::none;
    DifferentRows<X, D> table;
    const OnDevice<X, D>* x;
    Work work;
    Index rows;
    Columns columns;
    int apart;           // rows between those of a thread
    Index layer, strip;  // rows from those of a block to its next, and of a block in a layer
    int strips, layers;  // blocks that share a layer; layers of a block

    RepeatedRowsKernel(const DifferentRows<X, D>& of, const OnDevice<X, D>* from, const Work& with, Index size,
                       Columns m)
        : table(of), x(from), work(with), rows(size), columns(m), apart(threads() / m) {
        const Index at_once = turns * high * apart;
        layer = m == 1 ? at_once * D::many_blocks : std::max(table.farthest, at_once);
        strips = (layer + at_once - 1) / at_once;
        constexpr Index together = 32;
        strip = round_up((layer + strips - 1) / strips, together);
        strips = (layer + strip - 1) / strip;
        // As many layers for a block as leave hardly any of the device without work in the last round of blocks.
        for (int rounds = 1; rounds == 1 || (layers > 1 && busy() < 0.85); ++rounds)
            layers = blocks_of(static_cast<std::size_t>(strips) * static_cast<std::size_t>(all_layers()),
                               static_cast<std::size_t>(rounds) * static_cast<std::size_t>(D::many_blocks));
    }

    Launch launch() const {
        return {blocks(), threads(),
                offsets_begin() + static_cast<std::size_t>(table.entries + table.numbers + 1) * sizeof(Index)};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        X* const values = block.template shared<X>(0, static_cast<std::size_t>(table.entries));
        Index* const offsets =
            block.template shared<Index>(offsets_begin(), static_cast<std::size_t>(table.entries + table.numbers + 1));
        int* const starts = offsets + table.entries;
        block.each([&](int t) {
            for (int k = t; k < table.entries; k += block.threads()) {
                values[k] = block.at(table.values + k);
                offsets[k] = block.at(table.offsets + k);
            }
            for (int k = t; k <= table.numbers; k += block.threads()) starts[k] = block.at(table.start + k);
        });
        block.each([&](int t) {
            const int line = columns == 1 ? t : t / columns, column = t - line * columns;
            const std::int64_t all = rows, first = block.index() / strips * layers;
            for (std::int64_t k = first; k < first + layers; ++k) {
                const std::int64_t top = k * layer, bottom = top + layer < all ? top + layer : all,
                                   begin = top + block.index() % strips * static_cast<std::int64_t>(strip),
                                   end = begin + strip < bottom ? begin + strip : bottom;
                for (std::int64_t row = begin + line; row < end; row += high * apart) {
                    int number[high];
                    bool same = true;
                    STRETTO_UNROLL
                    for (int q = 0; q < high; ++q) {
                        number[q] = row + q * apart < end ? block.at(table.number + (row + q * apart)) : none;
                        same = same && number[q] == number[0];
                    }
                    const auto multiply = [&]<int count>(int q) {
                        if (number[q] == none) return;
                        rows_alike<count>(block, values, offsets, starts[number[q]], starts[number[q] + 1],
                                          static_cast<Index>(row + q * apart), column);
                    };
                    if (same) {
                        multiply.template operator()<high>(0);
                    } else {
                        STRETTO_UNROLL
                        for (int q = 0; q < high; ++q) multiply.template operator()<1>(q);
                    }
                }
            }
        });
    }

private:
    static constexpr int turns = 2;  // of a block in a layer

    int all_layers() const { return blocks_of(static_cast<std::size_t>(rows), static_cast<std::size_t>(layer)); }
    int blocks() const { return strips * ((all_layers() + layers - 1) / layers); }
    /// The part of the device that has work, from beginning to end.
    double busy() const {
        return blocks() / (std::ceil(static_cast<double>(blocks()) / D::many_blocks) * D::many_blocks);
    }
    int threads() const { return threads_of_columns(columns, 1); }
    STRETTO_KERNEL_AND_HOST std::size_t offsets_begin() const {
        return static_cast<std::size_t>(table.entries) * sizeof(X);
    }
    /// `count` rows that are alike, from entry k on.
    template <int count, class Block>
    STRETTO_KERNEL void rows_alike(Block& block, const X* values, const Index* offsets, int k, int end, Index row,
                                   int column) const {
        const std::ptrdiff_t place = place_of(row, column, columns),
                             further = static_cast<std::ptrdiff_t>(apart) * static_cast<int>(columns);
        X sums[count][1] = {};
        for (; k < end; ++k) {
            const X value = values[k];
            const auto* const from = x + (place + static_cast<std::ptrdiff_t>(offsets[k]) * static_cast<int>(columns));
            STRETTO_UNROLL
            for (int q = 0; q < count; ++q) sums[q][0] += value * block.at(from + q * further);
        }
        STRETTO_UNROLL
        for (int q = 0; q < count; ++q) work(block, row + q * apart, column, columns, sums[q]);
    }
};

/// Rows of which there are few different ones.
template <class X, class D>
class DeviceRepeatedRows {
public:
    /// Takes these rows where that is so; false: it is not.
    bool take(const CsrMatrix<X>& A, std::span<const Index> rows) {
        constexpr std::uint16_t none = DifferentRows<X, D>::none;
        std::map<std::vector<std::pair<Index, X>>, std::uint16_t> known;
        std::vector<std::uint16_t> number(static_cast<std::size_t>(A.local_rows()), none);
        std::vector<int> start{0}, rows_of;
        std::vector<Index> offsets;
        std::vector<X> values;
        std::vector<std::pair<Index, X>> content, last;
        for (const Index row : rows) {
            const auto [columns, of] = A.row(row);
            content.clear();
            for (std::size_t k = 0; k < columns.size(); ++k) content.emplace_back(columns[k] - row, of[k]);
            if (start.size() > 1 && content == last) {
                number[static_cast<std::size_t>(row)] = last_;
                ++rows_of[last_];
                continue;
            }
            last = content;
            const auto [found, fresh] = known.try_emplace(content, static_cast<std::uint16_t>(start.size() - 1));
            number[static_cast<std::size_t>(row)] = last_ = found->second;
            if (fresh) rows_of.push_back(0);
            ++rows_of[last_];
            if (!fresh) continue;
            if (values.size() + content.size() > DifferentRows<X, D>::most_entries) return false;
            for (const auto& [offset, value] : content) {
                offsets.push_back(offset);
                values.push_back(value);
            }
            start.push_back(static_cast<int>(values.size()));
        }
        if (!rows_of.empty()) {
            const auto most = std::ranges::max_element(rows_of) - rows_of.begin();
            for (int k = start[static_cast<std::size_t>(most)]; k < start[static_cast<std::size_t>(most) + 1]; ++k)
                farthest_ = std::max(farthest_, offsets[static_cast<std::size_t>(k)]);
        }
        number_ = Array<std::uint16_t>(number);
        start_ = Array<int>(start);
        offsets_ = Array<Index>(offsets);
        values_ = Array<X>(values);
        return true;
    }
    template <class Work>
    void multiply(const OnDevice<X, D>* x, const Work& work, int m) const {
        if (number_.size() == 0) return;
        const auto rows = static_cast<Index>(number_.size());
        const auto launch = [&]<int high>(auto columns) {
            const DifferentRows<X, D> table{number_.data(),
                                            start_.data(),
                                            offsets_.data(),
                                            values_.data(),
                                            static_cast<int>(start_.size()) - 1,
                                            static_cast<int>(values_.size()),
                                            farthest_};
            const RepeatedRowsKernel<X, D, Work, high, decltype(columns)> kernel(table, x, work, rows, columns);
            D::launch(kernel, kernel.launch());
        };
        if (m > 1)
            launch.template operator()<2>(m);
        else if (rows < enough_for_pairs)
            launch.template operator()<1>(OneColumn{});
        else
            launch.template operator()<2>(OneColumn{});
    }
    double bytes() const { return static_cast<double>(number_.size() * sizeof(std::uint16_t)); }

private:
    static constexpr Index enough_for_pairs =
        4 * D::many_blocks * most_threads;  // that the device has work nevertheless
    template <class Y>
    using Array = DeviceArray<Y, D>;
    std::uint16_t last_ = 0;
    Index farthest_ = 0;
    Array<std::uint16_t> number_;
    Array<int> start_;
    Array<Index> offsets_;
    Array<X> values_;
};

}  // namespace stretto
