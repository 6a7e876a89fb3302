// SPDX-License-Identifier: BSD-3-Clause
#include "local.hpp"

#include <algorithm>
#include <numeric>

namespace stretto {

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

bool Block::symmetric() const {
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    const auto at = [&](Index row, Index column) {
        const auto begin = columns.begin() + start[row], end = columns.begin() + start[row + 1];
        const auto found = std::lower_bound(begin, end, column);
        return found != end && *found == column ? values[static_cast<std::size_t>(found - columns.begin())] : 0.0;
    };
    for (Index i = 0; i < rows(); ++i)
        for (Index k = start[i]; k < start[i + 1]; ++k)
            if (std::abs(values[k] - at(columns[k], i)) > 1e-12 * largest) return false;
    return true;
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
