// SPDX-License-Identifier: BSD-3-Clause
#include "assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace stretto {
namespace {

/// Sorts one row by column and adds duplicates; returns the number of distinct columns, which come first.
template <class T>
Global sort_row(Global* columns, T* values, Global count, std::vector<std::pair<Global, T>>& scratch) {
    scratch.clear();
    for (Global k = 0; k < count; ++k) scratch.emplace_back(columns[k], values[k]);
    std::ranges::stable_sort(scratch, {}, &std::pair<Global, T>::first);
    Global kept = 0;
    for (const auto& [column, value] : scratch) {
        if (kept > 0 && columns[kept - 1] == column) {
            values[kept - 1] += value;
        } else {
            columns[kept] = column;
            values[kept++] = value;
        }
    }
    return kept;
}

}  // namespace

template <class T>
LocalRows<T> compress(Global first, Index rows, std::vector<std::vector<Entry<T>>> pieces) {
    LocalRows<T> result;
    auto& [start, columns, values] = result;
    start.assign(static_cast<std::size_t>(rows) + 1, 0);
    for (const auto& piece : pieces)
        for (const auto& entry : piece) ++start[static_cast<std::size_t>(entry.row - first) + 1];
    std::inclusive_scan(start.begin(), start.end(), start.begin());

    const auto count = static_cast<std::size_t>(start.back());
    columns.resize(count);
    values.resize(count);
    std::vector<Global> next(start.begin(), start.end() - 1);
    for (auto& piece : pieces) {
        for (const auto& [row, column, value] : piece) {
            const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(row - first)]++);
            columns[at] = column;
            values[at] = value;
        }
        piece = {};
    }

    std::vector<std::pair<Global, T>> scratch;
    Global kept = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        const Global begin = std::exchange(start[row], kept), end = start[row + 1];
        const auto row_columns = columns.begin() + begin;
        const auto row_values = values.begin() + begin;
        Global length = end - begin;
        if (std::adjacent_find(row_columns, columns.begin() + end, std::greater_equal{}) != columns.begin() + end)
            length = sort_row(&*row_columns, &*row_values, length, scratch);
        if (kept != begin) {
            std::copy_n(row_columns, length, columns.begin() + kept);
            std::copy_n(row_values, length, values.begin() + kept);
        }
        kept += length;
    }
    start.back() = kept;
    columns.resize(static_cast<std::size_t>(kept));
    values.resize(static_cast<std::size_t>(kept));
    return result;
}

template <class T>
LocalRows<T> assemble(const Comm& comm, const Partition& partition, std::vector<Entry<T>> entries) {
    std::vector<std::vector<Entry<T>>> to_rank(static_cast<std::size_t>(comm.size()));
    agree(comm, [&] {
        if (partition.ranks() != comm.size())
            throw InputError(fmt::format("a partition over {} ranks on {}", partition.ranks(), comm.size()));
        const Global n = partition.rows();
        for (const auto& [row, column, value] : entries)
            if (row < 0 || row >= n || column < 0 || column >= n)
                throw InputError(
                    fmt::format("entry ({}, {}) is outside the {} × {} matrix (counted from 0)", row, column, n, n));
        if (comm.size() == 1) {
            to_rank[0] = std::move(entries);
        } else {
            std::vector<std::size_t> counts(to_rank.size());
            for (const auto& entry : entries) ++counts[static_cast<std::size_t>(partition.owner(entry.row))];
            for (std::size_t p = 0; p < counts.size(); ++p) to_rank[p].reserve(counts[p]);
            for (const auto& entry : entries)
                to_rank[static_cast<std::size_t>(partition.owner(entry.row))].push_back(entry);
            entries = {};
        }
    });
    return compress(partition.first(comm.rank()), partition.rows(comm.rank()), exchange(comm, std::move(to_rank)));
}

template LocalRows<double> compress(Global, Index, std::vector<std::vector<Entry<double>>>);
template LocalRows<double> assemble(const Comm&, const Partition&, std::vector<Entry<double>>);
#if STRETTO_COMPLEX
template LocalRows<std::complex<double>> compress(Global, Index, std::vector<std::vector<Entry<std::complex<double>>>>);
template LocalRows<std::complex<double>> assemble(const Comm&, const Partition&,
                                                  std::vector<Entry<std::complex<double>>>);
#endif

}  // namespace stretto
