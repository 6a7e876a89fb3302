// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "values.hpp"

namespace stretto {

/// Where compressed rows begin. There may be more entries than 32 bits can count.
struct RowStarts {
    std::vector<std::int64_t> start{0};
    template <class LengthOf>
    RowStarts(const std::vector<Index>& rows, const LengthOf& length_of) {
        start.reserve(rows.size() + 1);
        for (const Index row : rows) start.push_back(start.back() + length_of(row));
    }
};

/// What is multiplied in compressed rows: columns from `rows` on are the halo's.
template <class X, class D, class Values>
struct CompressedFactors {
    const OnDevice<std::int64_t, D>* start;
    const OnDevice<Index, D>*row, *entry_columns;
    Values values;
    const OnDevice<X, D>*x, *halo;
    Index rows;

    /// The factor of an entry in column j of x.
    template <class Block, class Columns>
    STRETTO_KERNEL const OnDevice<X, D>* factor(Block& block, std::int64_t entry, int j, Columns columns) const {
        const Index column = block.at(entry_columns + entry);
        return column < rows ? x + place_of(column, j, columns) : halo + place_of(column - rows, j, columns);
    }
    template <class Block>
    STRETTO_KERNEL X value(Block& block, std::int64_t entry) const {
        return values.at(block, static_cast<std::size_t>(entry));
    }
};

/// A x in compressed rows, each for Work (row_work.hpp): threads beside each other have the columns of one row, so that
/// they share its entries.
template <class X, class D, class Values, class Work, int neighbours>
struct CompressedRowsElement {
    static constexpr std::string_view name = "product, compressed rows";
    static constexpr int width = neighbours;
    CompressedFactors<X, D, Values> of;
    Work work;

    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index place, int j, Columns columns) const {
        const std::int64_t end = block.at(of.start + place + 1);
        X sums[width] = {};
        for (std::int64_t k = block.at(of.start + place); k < end; ++k) {
            const X value = of.value(block, k);
            X factors[width];
            load(block, of.factor(block, k, j, columns), factors);
            STRETTO_UNROLL
            for (int q = 0; q < width; ++q) sums[q] += value * factors[q];
        }
        work(block, block.at(of.row + place), j, columns, sums);
    }
};

/// The same where rows are few and long: some lanes of a warp share the entries of a row and column.
template <class X, class D, class Values, class Work>
struct SharedRowsKernel {
    static constexpr std::string_view name = "product, rows that lanes share";
    static constexpr int lanes_of_warp = 32;
    CompressedFactors<X, D, Values> of;
    Work work;
    int columns, lines, lanes;  // lines: rows and columns together; lanes: of each

    Launch launch() const {
        return {blocks_of(static_cast<std::size_t>(lines) * static_cast<std::size_t>(lanes), most_threads),
                most_threads};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        struct Sum {
            X of[1];
        };
        typename Block::template PerThread<Sum> kept(block);
        const int apart = lanes_of_warp / lanes;
        const auto line_of = [&](int t) {
            const int warp = block.index() * (block.threads() / lanes_of_warp) + t / lanes_of_warp;
            return warp * apart + t % apart;
        };
        block.each([&](int t) {
            const int line = line_of(t);
            X sum{};
            if (line < lines) {
                const int place = line / columns, column = line - place * columns;
                const std::int64_t end = block.at(of.start + place + 1);
                for (std::int64_t k = block.at(of.start + place) + t % lanes_of_warp / apart; k < end; k += lanes)
                    sum += of.value(block, k) * block.at(of.factor(block, k, column, columns));
            }
            kept[t].of[0] = sum;
        });
        block.share_sums(kept, [&](int) { return apart; });
        block.each([&](int t) {
            const int line = line_of(t), place = line / columns;
            if (t % lanes_of_warp < apart && line < lines)
                work(block, block.at(of.row + place), line - place * columns, columns, kept[t].of);
        });
    }
};

/// Some rows of a rank, compressed: for many right-hand sides, or few and long rows. row_of(i) gives the columns and
/// values of local row i.
template <class X, class D>
class DeviceCompressed {
public:
    static constexpr int fewest_columns = 8;  ///< from so many on it is used

    /// How many lanes should share each row and column of such rows: as leave none of the device idle, and two entries
    /// or more for each of them; 1: a thread has rows of its own.
    static int lanes_for(std::size_t rows, std::size_t entries, int columns) {
        constexpr std::size_t fewest = 4, most = 32, threads = std::size_t{D::many_blocks} * most_threads;
        const std::size_t lines = rows * static_cast<std::size_t>(columns);
        if (lines == 0) return 1;
        const std::size_t lanes = std::min({most, std::bit_floor(threads / lines), std::bit_floor(entries / rows / 2)});
        return lanes < fewest ? 1 : static_cast<int>(lanes);
    }

    DeviceCompressed() = default;
    template <class RowOf>
    DeviceCompressed(const RowOf& row_of, const std::vector<Index>& rows, int lanes) : lanes_(lanes), row_(rows) {
        const RowStarts starts(rows, [&](Index row) { return static_cast<Index>(row_of(row).columns.size()); });
        typename DeviceValues<X, D>::Survey survey;
        for (const Index row : rows)
            for (const X value : row_of(row).values) survey.see(value);
        const auto entries = static_cast<std::size_t>(starts.start.back());
        start_ = DeviceArray<std::int64_t, D>(starts.start);
        columns_ = DeviceArray<Index, D>(entries);
        values_ = DeviceValues<X, D>(survey, entries);
        std::vector<Index> columns;
        std::vector<X> values;
        std::size_t at = 0;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const auto row = row_of(rows[k]);
            columns.insert(columns.end(), row.columns.begin(), row.columns.end());
            values.insert(values.end(), row.values.begin(), row.values.end());
            if (values.size() < piece_entries && k + 1 < rows.size()) continue;
            D::upload(columns_.data() + at, columns.data(), columns.size() * sizeof(Index));
            values_.put(survey, at, values);
            at += values.size();
            columns.clear();
            values.clear();
        }
    }

    template <class Work>
    void multiply(const OnDevice<X, D>* x, const OnDevice<X, D>* halo, const Work& work, Index rows, int m) const {
        if (row_.size() == 0) return;
        values_.visit([&]<class Values>(const Values& values) {
            const CompressedFactors<X, D, Values> of{start_.data(), row_.data(), columns_.data(), values, x,
                                                     halo,          rows};
            if (lanes_ > 1) {
                const int lines = static_cast<int>(row_.size()) * m;
                const SharedRowsKernel<X, D, Values, Work> kernel{of, work, m, lines, lanes_};
                return D::launch(kernel, kernel.launch());
            }
            with_neighbours(m, [&]<int width>() {
                for_each_row_on_device<D>(row_.size(), m, CompressedRowsElement<X, D, Values, Work, width>{of, work});
            });
        });
    }
    double bytes() const {
        return values_.bytes() + static_cast<double>((columns_.size() + row_.size()) * sizeof(Index) +
                                                     start_.size() * sizeof(std::int64_t));
    }

private:
    static constexpr std::size_t piece_entries = std::size_t{1} << 20;  // that are brought together

    int lanes_ = 1;
    DeviceArray<Index, D> row_, columns_;
    DeviceArray<std::int64_t, D> start_;
    DeviceValues<X, D> values_;
};

}  // namespace stretto
