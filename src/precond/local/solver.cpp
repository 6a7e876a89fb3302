// SPDX-License-Identifier: BSD-3-Clause
#include "solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "stretto/core/error.hpp"

namespace stretto {

void Block::end_row() {
    if (columns.size() > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
        throw InputError(
            "a block or factor has more entries than a local 32-bit index can count: use more ranks or blocks");
    start.push_back(static_cast<Index>(columns.size()));
}

Block Block::transposed() const {
    Block result;
    result.start.assign(start.size(), 0);
    for (const Index column : columns) ++result.start[column + 1];
    std::inclusive_scan(result.start.begin(), result.start.end(), result.start.begin());
    result.columns.resize(columns.size());
    result.values.resize(values.size());
    std::vector<Index> next(result.start.begin(), result.start.end() - 1);
    for (Index i = 0; i < rows(); ++i)
        for (Index k = start[i]; k < start[i + 1]; ++k) {
            const Index at = next[columns[k]]++;
            result.columns[at] = i;
            result.values[at] = values[k];
        }
    return result;
}

double Block::largest(Index row) const {
    double result = 0;
    for (Index k = start[row]; k < start[row + 1]; ++k) result = std::max(result, std::abs(values[k]));
    return result;
}

bool Block::symmetric() const {
    std::vector<double> scale;
    for (Index i = 0; i < rows(); ++i) scale.push_back(std::sqrt(largest(i)));
    const auto at = [&](Index row, Index column) {
        const auto begin = columns.begin() + start[row], end = columns.begin() + start[row + 1];
        const auto found = std::lower_bound(begin, end, column);
        return found != end && *found == column ? values[static_cast<std::size_t>(found - columns.begin())] : 0.0;
    };
    for (Index i = 0; i < rows(); ++i)
        for (Index k = start[i]; k < start[i + 1]; ++k)
            if (std::abs(values[k] - at(columns[k], i)) > 1e-12 * scale[i] * scale[columns[k]]) return false;
    return true;
}

bool bounded(const LocalSolver& solver, const Block& block) {
    double smallest = 1;  // of the largest entries of rows: solutions of sound blocks are up to one over it
    for (Index i = 0; i < block.rows(); ++i)
        if (const double largest = block.largest(i); largest > 0) smallest = std::min(smallest, largest);
    const double limit = 1e100 / smallest;
    const std::vector<double> ones(static_cast<std::size_t>(block.rows()), 1.0);
    std::vector<double> solution(ones.size());
    solver.solve(ones.data(), solution.data(), 1, Pieces(nullptr, 0, 1));
    return std::ranges::all_of(solution, [limit](double value) { return std::abs(value) < limit; });
}

constexpr std::string_view local_solver_names[6] = {"ilu0", "ic0", "ilut", "sai", "lu", "cholesky"};

const LocalSolverKind& local_solver(std::string_view name) {
    static constexpr LocalSolverKind kinds[] = {
        {"ilu0", true, false, make_ilu0}, {"ic0", true, true, make_ic0}, {"ilut", false, false, make_ilut},
        {"sai", false, false, make_sai},  {"lu", true, false, make_lu},  {"cholesky", true, true, make_cholesky},
    };
    return *std::ranges::find(kinds, name, &LocalSolverKind::name);
}

}  // namespace stretto
