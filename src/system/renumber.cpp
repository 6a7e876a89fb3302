// SPDX-License-Identifier: BSD-3-Clause
#include "renumber.hpp"

namespace stretto {

DistributedRows renumber(const Comm& comm, DistributedRows problem, const std::vector<Global>& numbers,
                         Partition target) {
    std::vector<Entry<double>> entries;
    {
        const ColumnValues<Global> columns(comm, problem, numbers);
        entries.reserve(problem.rows.columns.size());
        for (Index i = 0; i < problem.rows.rows(); ++i)
            for (Global k = problem.rows.start[i]; k < problem.rows.start[i + 1]; ++k)
                entries.push_back(
                    {numbers[static_cast<std::size_t>(i)], columns[problem.rows.columns[k]], problem.rows.values[k]});
    }
    problem.rows = {};
    auto rows = assemble(comm, target, std::move(entries));
    return {std::move(target), std::move(rows)};
}

}  // namespace stretto
