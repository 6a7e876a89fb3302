// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/scale.hpp"

#include <algorithm>
#include <cmath>

#include "renumber.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

double power_of_two(double value) { return std::exp2(std::round(std::log2(value))); }

/// What brings numbers of these sizes to about 1: their power −`power`, multiplied into `total` too.
std::vector<double> scales_of(const std::vector<double>& largest, double power, std::vector<double>& total) {
    std::vector<double> by;
    for (std::size_t i = 0; i < largest.size(); ++i) {
        by.push_back(largest[i] > 0 ? power_of_two(std::pow(largest[i], -power)) : 1);
        total[i] *= by[i];
    }
    return by;
}

std::vector<double> largest_of_rows(const LocalRows<double>& rows) {
    std::vector<double> largest(static_cast<std::size_t>(rows.rows()), 0);
    for (std::size_t i = 0; i < largest.size(); ++i)
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
            largest[i] = std::max(largest[i], std::abs(rows.values[static_cast<std::size_t>(k)]));
    return largest;
}

std::vector<double> largest_of_columns(const Comm& comm, const DistributedRows& matrix) {
    struct Largest {
        Global column;
        double value;
    };
    const auto& [partition, rows] = matrix;
    const Global first = partition.first(comm.rank()), last = partition.first(comm.rank() + 1);
    std::vector<std::vector<Largest>> elsewhere(static_cast<std::size_t>(comm.size()));
    std::vector<double> largest(static_cast<std::size_t>(last - first), 0);
    const auto see = [&](Global column, double value) {
        auto& most = largest[static_cast<std::size_t>(column - first)];
        most = std::max(most, value);
    };
    for (std::size_t k = 0; k < rows.values.size(); ++k) {
        const Global j = rows.columns[k];
        if (j >= first && j < last)
            see(j, std::abs(rows.values[k]));
        else
            elsewhere[static_cast<std::size_t>(partition.owner(j))].push_back({j, std::abs(rows.values[k])});
    }
    for (const auto& part : all_to_all(comm, elsewhere))
        for (const auto& [column, value] : part) see(column, value);
    return largest;
}

void scale_rows(LocalRows<double>& rows, const std::vector<double>& by) {
    for (std::size_t i = 0; i < by.size(); ++i)
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) rows.values[static_cast<std::size_t>(k)] *= by[i];
}

void scale_columns(const Comm& comm, DistributedRows& matrix, const std::vector<double>& by) {
    const ColumnValues<double> all(comm, matrix, by);
    auto& rows = matrix.rows;
    for (std::size_t k = 0; k < rows.values.size(); ++k) rows.values[k] *= all[rows.columns[k]];
}

}  // namespace

Scales equilibrate(const Comm& comm, DistributedRows& matrix, bool symmetric) {
    auto& rows = matrix.rows;
    const auto n = static_cast<std::size_t>(rows.rows());
    Scales scales;
    scales.rows.assign(n, 1);
    scales.symmetric = symmetric;
    if (symmetric) {
        constexpr int most_rounds = 20;  // each takes the root of what is left
        for (int round = 0; round < most_rounds; ++round) {
            const auto by = scales_of(largest_of_rows(rows), 0.5, scales.rows);
            if (all_of(comm, std::ranges::all_of(by, [](double each) { return each == 1; }))) break;
            scale_rows(rows, by);
            scale_columns(comm, matrix, by);
        }
    } else {
        scale_rows(rows, scales_of(largest_of_rows(rows), 1, scales.rows));
        scales.columns.assign(n, 1);
        scale_columns(comm, matrix, scales_of(largest_of_columns(comm, matrix), 1, scales.columns));
    }
    const auto [low, high] = std::ranges::minmax_element(scales.rows);
    scales.smallest = all_min(comm, n > 0 ? *low : INFINITY);
    scales.largest = all_max(comm, n > 0 ? *high : 0);
    return scales;
}

}  // namespace stretto
