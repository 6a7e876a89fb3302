// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

/// y = A x in compressed rows: threads beside each other have the columns of one row, so that they share its entries.
template <class X, class D, class Values, int neighbours>
struct CompressedRowsElement {
    static constexpr std::string_view name = "product, compressed rows";
    static constexpr int width = neighbours;
    const OnDevice<std::int64_t, D>* start;
    const OnDevice<Index, D>*row, *entry_columns;
    Values values;
    const OnDevice<X, D>*x, *halo;
    OnDevice<X, D>* y;
    Index rows;

    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index place, int j, Columns columns) const {
        const std::int64_t end = block.at(start + place + 1);
        X sums[width] = {};
        for (std::int64_t k = block.at(start + place); k < end; ++k) {
            const Index column = block.at(entry_columns + k);
            const X value = values.at(block, static_cast<std::size_t>(k));
            X factors[width];
            load(block, column < rows ? x + place_of(column, j, columns) : halo + place_of(column - rows, j, columns),
                 factors);
            STRETTO_UNROLL
            for (int q = 0; q < width; ++q) sums[q] += value * factors[q];
        }
        store(block, y + place_of(block.at(row + place), j, columns), sums);
    }
};

/// Some rows of a rank, compressed: for many right-hand sides. row_of(i) gives the columns and values of local row i.
template <class X, class D>
class DeviceCompressed {
public:
    static constexpr int fewest_columns = 8;  ///< from so many on it is used

    DeviceCompressed() = default;
    template <class RowOf>
    DeviceCompressed(const RowOf& row_of, const std::vector<Index>& rows) : row_(rows) {
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

    void multiply(const OnDevice<X, D>* x, const OnDevice<X, D>* halo, OnDevice<X, D>* y, Index rows, int m) const {
        values_.visit([&]<class Values>(const Values& values) {
            with_neighbours(m, [&]<int width>() {
                for_each_row_on_device<D>(row_.size(), m,
                                          CompressedRowsElement<X, D, Values, width>{
                                              start_.data(), row_.data(), columns_.data(), values, x, halo, y, rows});
            });
        });
    }
    double bytes() const {
        return values_.bytes() + static_cast<double>((columns_.size() + row_.size()) * sizeof(Index) +
                                                     start_.size() * sizeof(std::int64_t));
    }

private:
    static constexpr std::size_t piece_entries = std::size_t{1} << 20;  // that are brought together

    DeviceArray<Index, D> row_, columns_;
    DeviceArray<std::int64_t, D> start_;
    DeviceValues<X, D> values_;
};

}  // namespace stretto
