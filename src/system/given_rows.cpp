// SPDX-License-Identifier: BSD-3-Clause
#include "given_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "../sparse/assemble.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {

void check_entry(Global rows, Global row, Global column, double value) {
    if (row < 0 || row >= rows || column < 0 || column >= rows)
        throw InputError(fmt::format("row {}, column {}: outside the {} × {} matrix", row + 1, column + 1, rows, rows));
    if (!std::isfinite(value))
        throw InputError(fmt::format("row {}, column {}: the value is {}", row + 1, column + 1, value));
}

void check_count(std::span<const double> values, std::size_t entries) {
    if (values.size() != entries) throw InputError(fmt::format("{} values for {} entries", values.size(), entries));
}

namespace {

template <class Rows>
void check(const Comm& comm, const Partition& partition, const Rows& rows) {
    agree(comm, [&] {
        if (partition.ranks() != comm.size())
            throw InputError(
                fmt::format("the partition is for {} ranks, the communicator has {}", partition.ranks(), comm.size()));
        const int rank = comm.rank();
        if (rows.start.size() != static_cast<std::size_t>(partition.rows(rank)) + 1)
            throw InputError(fmt::format("rank {} was given {} rows, its partition has {}", rank,
                                         static_cast<Global>(rows.start.size()) - 1, partition.rows(rank)));
        if (rows.start.front() != 0 || !std::ranges::is_sorted(rows.start) ||
            rows.start.back() != static_cast<Global>(rows.columns.size()))
            throw InputError(
                fmt::format("row offsets of rank {} must start at 0, never fall, and end at its {} columns", rank,
                            rows.columns.size()));
        check_count(rows.values, rows.columns.size());
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i)
            for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k)
                check_entry(partition.rows(), partition.first(rank) + static_cast<Global>(i), rows.columns[k],
                            rows.values[k]);
    });
}

template <class Rows>
bool increase(const Rows& rows) {
    for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
        const auto begin = rows.columns.begin() + rows.start[i], end = rows.columns.begin() + rows.start[i + 1];
        if (std::adjacent_find(begin, end, std::greater_equal{}) != end) return false;
    }
    return true;
}

}  // namespace

void check_rows(const Comm& comm, const Partition& partition, const LocalRows<double>& rows) {
    check(comm, partition, rows);
}
void check_rows(const Comm& comm, const Partition& partition, const GivenRows<double>& rows) {
    check(comm, partition, rows);
}
bool columns_increase(const LocalRows<double>& rows) { return increase(rows); }
bool columns_increase(const GivenRows<double>& rows) { return increase(rows); }

LocalRows<double> copy_of(const GivenRows<double>& rows) {
    return {{rows.start.begin(), rows.start.end()},
            {rows.columns.begin(), rows.columns.end()},
            {rows.values.begin(), rows.values.end()}};
}

LocalRows<double> sorted(Global first, const LocalRows<double>& rows) {
    std::vector<std::vector<Entry<double>>> entries(1);
    entries[0].reserve(rows.columns.size());
    for (std::size_t i = 0; i + 1 < rows.start.size(); ++i)
        for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k)
            entries[0].push_back({first + static_cast<Global>(i), rows.columns[k], rows.values[k]});
    return compress(first, rows.rows(), std::move(entries));
}

Partition partition_of(const Comm& comm, std::size_t offsets) {
    agree(comm, [&] {
        if (offsets == 0)
            throw InputError(fmt::format("rank {} was given no row offsets: no rows have the offset 0", comm.rank()));
    });
    std::vector<Global> first{0};
    for (const Global rows : all_gather(comm, static_cast<Global>(offsets) - 1)) first.push_back(first.back() + rows);
    std::optional<Partition> partition;
    agree(comm, [&] { partition.emplace(std::move(first)); });
    return std::move(*partition);
}

}  // namespace stretto
