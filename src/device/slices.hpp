// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "values.hpp"

namespace stretto {

/// Rows in slices of 32, sorted by length within windows of 256 (SELL-C-σ: Kreutzer, Hager, Wellein, Fehske and Bishop
/// 2014). The k-th entries of the rows of a slice are its term k, 32 of them whatever the rows have.
struct Slices {
    static constexpr std::size_t high = 32, window = 256;

    std::vector<Index> row;           ///< that stands at a place
    std::vector<Index> length;        ///< of it
    std::vector<std::int64_t> start;  ///< the first term of each slice, and behind the last

    template <class LengthOf>
    Slices(std::vector<Index> rows, const LengthOf& length_of) : row(std::move(rows)), start{0} {
        for (std::size_t begin = 0; begin < row.size(); begin += window)
            std::stable_sort(row.begin() + static_cast<std::ptrdiff_t>(begin),
                             row.begin() + static_cast<std::ptrdiff_t>(std::min(row.size(), begin + window)),
                             [&](Index a, Index b) { return length_of(a) > length_of(b); });
        length.reserve(row.size());
        std::ranges::transform(row, std::back_inserter(length), length_of);
        start.reserve(row.size() / high + 2);
        for (std::size_t begin = 0; begin < row.size(); begin += high) {
            const auto end = std::min(row.size(), begin + high);
            start.push_back(start.back() + *std::max_element(length.begin() + static_cast<std::ptrdiff_t>(begin),
                                                             length.begin() + static_cast<std::ptrdiff_t>(end)));
        }
    }
    std::int64_t terms() const { return start.back(); }
    /// Where an entry stands. There may be more than 32 bits can count.
    static constexpr std::size_t entry(std::int64_t term, std::size_t lane) {
        return static_cast<std::size_t>(term) * 32 + lane;
    }
};

/// A x in such rows, each for Work (row_work.hpp). Columns from `rows` on are the halo's. Those of a term are 16-bit
/// distances from the smallest, or, where that is −1 − t, the t-th 32 of `wide`. `simple`: there are neither such nor a
/// halo.
template <class X, class D, class Values, class Work, int neighbours, bool simple>
struct SlicedRowsElement {
    static constexpr std::string_view name = "product, sliced rows";
    static constexpr int width = neighbours;
    const OnDevice<std::int64_t, D>* start;
    const OnDevice<Index, D>*row, *length, *smallest, *wide;
    const OnDevice<std::uint16_t, D>* distance;
    Values values;
    const OnDevice<X, D>*x, *halo;
    Work work;
    Index rows;

    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index place, int j, Columns columns) const {
        const auto lane = static_cast<std::size_t>(place % 32);
        const Index count = block.at(length + place);
        const std::int64_t term = block.at(start + place / 32);
        std::size_t at = Slices::entry(term, lane);
        const auto* const of_terms = smallest + term;
        X sums[width] = {};
        for (Index k = 0; k < count; ++k, at += Slices::high) {
            const Index first = block.at(of_terms + k), further = block.at(distance + at);
            const X value = values.at(block, at);
            Index column = first + further;
            if constexpr (!simple)
                if (first < 0) column = block.at(wide + Slices::entry(-1 - first, lane));
            const auto* from = x + place_of(column, j, columns);
            if constexpr (!simple)
                if (column >= rows) from = halo + place_of(column - rows, j, columns);
            X factors[width];
            load(block, from, factors);
            STRETTO_UNROLL
            for (int q = 0; q < width; ++q) sums[q] += value * factors[q];
        }
        work(block, block.at(row + place), j, columns, sums);
    }
};

/// Some rows of a rank, sliced. row_of(i) gives the columns and values of local row i.
template <class X, class D>
class DeviceSlices {
public:
    DeviceSlices() = default;
    template <class RowOf>
    DeviceSlices(const RowOf& row_of, std::vector<Index> rows) {
        const Slices slices(std::move(rows), [&](Index row) { return static_cast<Index>(row_of(row).columns.size()); });
        typename DeviceValues<X, D>::Survey survey;
        for (const Index row : slices.row)
            for (const X value : row_of(row).values) survey.see(value);
        const auto terms = static_cast<std::size_t>(slices.terms());
        start_ = Array<std::int64_t>(slices.start);
        row_ = Array<Index>(slices.row);
        length_ = Array<Index>(slices.length);
        smallest_ = Array<Index>(terms);
        distance_ = Array<std::uint16_t>(terms * Slices::high);
        values_ = DeviceValues<X, D>(survey, terms * Slices::high);
        std::vector<Index> wide;
        Piece piece;
        for (std::size_t s = 0; s + 1 < slices.start.size(); ++s) {
            piece.add(slices, s, row_of, wide);
            if (piece.values.size() < piece_entries && s + 2 < slices.start.size()) continue;
            bring(piece, survey);
        }
        wide_ = Array<Index>(wide);
    }

    template <class Work>
    void multiply(const OnDevice<X, D>* x, const OnDevice<X, D>* halo, const Work& work, Index rows, int m) const {
        values_.visit([&](const auto& values) {
            with_neighbours(m, [&]<int width>() {
                if (!halo && wide_.size() == 0)
                    launch<width, true>(values, x, halo, work, rows, m);
                else
                    launch<width, false>(values, x, halo, work, rows, m);
            });
        });
    }
    double bytes() const {
        return values_.bytes() +
               static_cast<double>((smallest_.size() + wide_.size() + 2 * row_.size()) * sizeof(Index) +
                                   distance_.size() * sizeof(std::uint16_t));
    }

private:
    template <class Y>
    using Array = DeviceArray<Y, D>;
    static constexpr std::size_t piece_entries = std::size_t{1} << 20;  // that are brought together

    template <int width, bool simple, class Values, class Work>
    void launch(const Values& values, const OnDevice<X, D>* x, const OnDevice<X, D>* halo, const Work& work, Index rows,
                int m) const {
        for_each_row_on_device<D>(row_.size(), m,
                                  SlicedRowsElement<X, D, Values, Work, width, simple>{
                                      start_.data(), row_.data(), length_.data(), smallest_.data(), wide_.data(),
                                      distance_.data(), values, x, halo, work, rows});
    }

    /// Some slices, on their way.
    struct Piece {
        std::size_t term = 0;  // its first
        std::vector<Index> smallest;
        std::vector<std::uint16_t> distance;
        std::vector<X> values;

        template <class RowOf>
        void add(const Slices& slices, std::size_t slice, const RowOf& row_of, std::vector<Index>& wide) {
            const std::size_t begin = slice * Slices::high, end = std::min(slices.row.size(), begin + Slices::high);
            const std::size_t before = smallest.size();
            const auto terms = static_cast<std::size_t>(slices.start[slice + 1] - slices.start[slice]);
            smallest.resize(before + terms, std::numeric_limits<Index>::max());
            distance.resize(smallest.size() * Slices::high);
            values.resize(distance.size());
            std::vector<Index> largest(terms, 0);
            for (std::size_t place = begin; place < end; ++place) {
                const auto columns = row_of(slices.row[place]).columns;
                for (std::size_t k = 0; k < columns.size(); ++k) {
                    smallest[before + k] = std::min(smallest[before + k], columns[k]);
                    largest[k] = std::max(largest[k], columns[k]);
                }
            }
            for (std::size_t k = 0; k < terms; ++k) {
                Index& first = smallest[before + k];
                if (largest[k] - first <= std::numeric_limits<std::uint16_t>::max()) continue;
                first = -1 - static_cast<Index>(wide.size() / Slices::high);
                wide.resize(wide.size() + Slices::high);
            }
            for (std::size_t place = begin; place < end; ++place) {
                const auto row = row_of(slices.row[place]);
                for (std::size_t k = 0; k < row.columns.size(); ++k) {
                    const Index first = smallest[before + k];
                    const std::size_t at = (before + k) * Slices::high + place - begin;
                    if (first < 0)
                        wide[Slices::entry(-1 - first, place - begin)] = row.columns[k];
                    else
                        distance[at] = static_cast<std::uint16_t>(row.columns[k] - first);
                    values[at] = row.values[k];
                }
            }
        }
    };
    void bring(Piece& piece, const typename DeviceValues<X, D>::Survey& survey) {
        const std::size_t entry = piece.term * Slices::high;
        D::upload(smallest_.data() + piece.term, piece.smallest.data(), piece.smallest.size() * sizeof(Index));
        D::upload(distance_.data() + entry, piece.distance.data(), piece.distance.size() * sizeof(std::uint16_t));
        values_.put(survey, entry, piece.values);
        piece.term += piece.smallest.size();
        piece.smallest.clear();
        piece.distance.clear();
        piece.values.clear();
    }

    Array<std::int64_t> start_;
    Array<Index> row_, length_, smallest_, wide_;
    Array<std::uint16_t> distance_;
    DeviceValues<X, D> values_;
};

}  // namespace stretto
