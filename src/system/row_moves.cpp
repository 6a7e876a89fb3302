// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/row_moves.hpp"

#include <algorithm>

#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

using Places = std::vector<std::vector<Index>>;

/// Collective. Rows of m values on their way: from[p] says which local rows go to rank p, to[p] where those of rank p
/// go.
std::vector<double> moved(const Comm& comm, std::span<const double> values, int columns, const Places& from,
                          const Places& to, Index rows) {
    const auto m = static_cast<std::size_t>(columns);
    std::vector<std::vector<double>> packed(from.size());
    for (std::size_t p = 0; p < from.size(); ++p)
        for (const Index row : from[p]) {
            const auto at = values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * m);
            packed[p].insert(packed[p].end(), at, at + columns);
        }
    std::vector<double> result(static_cast<std::size_t>(rows) * m);
    const auto received = all_to_all(comm, packed);
    for (std::size_t p = 0; p < to.size(); ++p)
        for (std::size_t k = 0; k < to[p].size(); ++k)
            std::copy_n(received[p].data() + k * m, m, result.data() + static_cast<std::size_t>(to[p][k]) * m);
    return result;
}

}  // namespace

RowMoves::RowMoves(const Comm& comm, const std::vector<Global>& numbers, const Partition& target)
    : old_rows_(static_cast<Index>(numbers.size())),
      new_rows_(target.rows(comm.rank())),
      leave_(static_cast<std::size_t>(comm.size())),
      arrive_(leave_.size()) {
    std::vector<std::vector<Global>> places(leave_.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto p = static_cast<std::size_t>(target.owner(numbers[i]));
        leave_[p].push_back(static_cast<Index>(i));
        places[p].push_back(numbers[i]);
    }
    const auto received = all_to_all(comm, places);
    for (std::size_t p = 0; p < received.size(); ++p)
        for (const Global place : received[p])
            arrive_[p].push_back(static_cast<Index>(place - target.first(comm.rank())));
}

std::vector<double> RowMoves::forward(const Comm& comm, std::span<const double> b, int columns) const {
    if (!any()) return {b.begin(), b.end()};
    return moved(comm, b, columns, leave_, arrive_, new_rows_);
}

std::vector<double> RowMoves::back(const Comm& comm, std::span<const double> x, int columns) const {
    if (!any()) return {x.begin(), x.end()};
    return moved(comm, x, columns, arrive_, leave_, old_rows_);
}

}  // namespace stretto
