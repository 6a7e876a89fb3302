// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "preconditioner_cases.hpp"
#include "stretto/system/linear_system.hpp"

// Singular matrices, and what is asked of their solutions.

namespace stretto {

inline constexpr Global width = 6, size = 5 * width;
/// 5 × 6 cells without flow through the boundary.
inline double neumann(Global i, Global j) {
    const auto neighbours = [](Global a, Global b) {
        const auto [low, high] = std::minmax(a, b);
        return high == low + width || (high == low + 1 && high % width != 0);
    };
    if (i != j) return neighbours(i, j) ? -1 : 0;
    double count = 0;
    for (Global k = 0; k < size; ++k) count += neighbours(i, k);
    return count;
}
/// The same for two unknowns in each cell, which do not know of each other.
inline double neumann_twice(Global i, Global j) { return i % 2 == j % 2 ? neumann(i / 2, j / 2) : 0; }
/// Two grids that are not connected, one after the other.
inline double two_grids(Global i, Global j) { return i / size == j / size ? neumann(i % size, j % size) : 0; }
/// A wind around a ring: the sums of all rows and columns are zero.
inline double ring(Global i, Global j) {
    const Global step = (j - i + size) % size;
    return step == 0 ? 3 : step == 1 ? -1 : step == size - 1 ? -2 : 0;
}
/// The same with rows of different weight: the sums of rows are zero, those of columns are not.
inline double weighted_ring(Global i, Global j) { return (1 + static_cast<double>(i % 4)) * ring(i, j); }

inline LinearSystem system_of(Comm& comm, Global rows, const Formula& entry, SystemOptions options = {}) {
    return {comm, rows_of(comm, rows, entry), std::move(options)};
}

/// Of a vector given by a function of row and column, this rank's rows.
inline std::vector<double> local(const LinearSystem& system, int columns, const std::function<double(Global, int)>& f) {
    std::vector<double> v;
    const Global first = system.partition().first(system.comm().rank());
    for (Index i = 0; i < system.local_rows(); ++i)
        for (int j = 0; j < columns; ++j) v.push_back(f(first + i, j));
    return v;
}
inline Result solved(LinearSystem& system, const std::vector<double>& b, std::vector<double>& x, int columns,
                     const SolveOptions& options) {
    return system.solve({b.data(), system.local_rows(), columns}, {x.data(), system.local_rows(), columns}, options);
}
inline double largest_difference(const Comm& comm, const std::vector<double>& x, const std::vector<double>& y) {
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
    return all_max(comm, most);
}

/// Random numbers without a mean.
inline double in_range(Global row, int column) {
    double mean = 0;
    for (Global i = 0; i < size; ++i) mean += uniform(5, i, column) / static_cast<double>(size);
    return uniform(5, row, column) - mean;
}
/// The shortest solution of neumann · x = in_range(·, column) for each row and column.
inline std::vector<std::vector<double>> shortest_solutions(int columns) {
    const auto inverse = dense(size, [](Global i, Global j) { return neumann(i, j) + 1; }).inverse();
    std::vector<std::vector<double>> x(static_cast<std::size_t>(size));
    for (Global i = 0; i < size; ++i)
        for (int c = 0; c < columns; ++c) {
            double sum = 0;
            for (Global j = 0; j < size; ++j)
                sum += inverse.values[static_cast<std::size_t>(i * size + j)] * in_range(j, c);
            x[static_cast<std::size_t>(i)].push_back(sum);
        }
    return x;
}

}  // namespace stretto
