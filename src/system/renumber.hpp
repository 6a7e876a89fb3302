// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/sparse/distributed_rows.hpp"

namespace stretto {

/// Global columns of other ranks, increasing, each once.
template <class Problem>
std::vector<Global> columns_elsewhere(const Comm& comm, const Problem& problem) {
    const Global first = problem.partition.first(comm.rank()), last = problem.partition.first(comm.rank() + 1);
    std::vector<Global> result;
    for (const Global column : problem.rows.columns)
        if (column < first || column >= last) result.push_back(column);
    std::ranges::sort(result);
    result.erase(std::ranges::unique(result).begin(), result.end());
    return result;
}

/// Collective. What the owners hold for rows of a partition: mine[i] for local row i, asked for by global number.
template <class T>
std::vector<T> look_up(const Comm& comm, const Partition& partition, const std::vector<T>& mine,
                       const std::vector<Global>& wanted) {
    std::vector<std::vector<Global>> ask(static_cast<std::size_t>(comm.size()));
    for (const Global row : wanted) ask[static_cast<std::size_t>(partition.owner(row))].push_back(row);
    std::vector<std::vector<T>> answers(ask.size());
    const auto asked = all_to_all(comm, ask);
    for (std::size_t p = 0; p < asked.size(); ++p)
        for (const Global row : asked[p])
            answers[p].push_back(mine[static_cast<std::size_t>(row - partition.first(comm.rank()))]);
    const auto told = all_to_all(comm, answers);
    std::vector<std::size_t> next(told.size());
    std::vector<T> result;
    result.reserve(wanted.size());
    for (const Global row : wanted) {
        const auto p = static_cast<std::size_t>(partition.owner(row));
        result.push_back(told[p][next[p]++]);
    }
    return result;
}

/// A value for every column that occurs on this rank, from a value for every row of its owner.
template <class T>
class ColumnValues {
public:
    /// Collective. `mine`, for the local rows, must outlive it.
    ColumnValues(const Comm& comm, const DistributedRows& problem, const std::vector<T>& mine)
        : mine_(mine),
          first_(problem.partition.first(comm.rank())),
          elsewhere_(columns_elsewhere(comm, problem)),
          others_(look_up(comm, problem.partition, mine, elsewhere_)) {}

    T operator[](Global column) const {
        if (column >= first_ && column < first_ + static_cast<Global>(mine_.size()))
            return mine_[static_cast<std::size_t>(column - first_)];
        return others_[static_cast<std::size_t>(std::ranges::lower_bound(elsewhere_, column) - elsewhere_.begin())];
    }

private:
    const std::vector<T>& mine_;
    Global first_;
    std::vector<Global> elsewhere_;
    std::vector<T> others_;
};

/// Collective. The same matrix with rows and columns numbered anew, its rows moved to where their numbers belong.
DistributedRows renumber(const Comm& comm, DistributedRows problem, const std::vector<Global>& numbers,
                         Partition target);

}  // namespace stretto
