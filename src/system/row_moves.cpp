// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/row_moves.hpp"

#include <algorithm>

#include "stretto/comm/collective.hpp"

namespace stretto {
RowMoves::RowMoves(const Comm& comm, const std::vector<Global>& numbers, const Partition& target) {
    std::vector<std::vector<Index>> leave(static_cast<std::size_t>(comm.size())), arrive(leave.size());
    std::vector<std::vector<Global>> there(leave.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto p = static_cast<std::size_t>(target.owner(numbers[i]));
        leave[p].push_back(static_cast<Index>(i));
        there[p].push_back(numbers[i]);
    }
    const auto received = all_to_all(comm, there);
    for (std::size_t p = 0; p < received.size(); ++p)
        for (const Global place : received[p])
            arrive[p].push_back(static_cast<Index>(place - target.first(comm.rank())));
    leave_ = places(leave);
    arrive_ = places(arrive);
}

RowMoves::Places RowMoves::places(const std::vector<std::vector<Index>>& of_rank) {
    Places all;
    for (const auto& rows : of_rank) {
        all.first.push_back(static_cast<int>(all.rows.size()));
        all.count.push_back(static_cast<int>(rows.size()));
        all.rows.insert(all.rows.end(), rows.begin(), rows.end());
    }
    return all;
}

void RowMoves::move(const Comm& comm, std::span<const double> values, int columns, const Places& from, const Places& to,
                    std::span<double> result, Packed& packed) {
    const auto m = static_cast<std::size_t>(columns);
    packed.leaving.resize(from.rows.size() * m);
    packed.arriving.resize(to.rows.size() * m);
    for (std::size_t k = 0; k < from.rows.size(); ++k)
        std::copy_n(values.data() + static_cast<std::size_t>(from.rows[k]) * m, m, packed.leaving.data() + k * m);
    MPI_Datatype row;  // so that counts are those of rows, which an int holds
    MPI_Type_contiguous(columns, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    MPI_Alltoallv(packed.leaving.data(), from.count.data(), from.first.data(), row, packed.arriving.data(),
                  to.count.data(), to.first.data(), row, comm.mpi());
    MPI_Type_free(&row);
    for (std::size_t k = 0; k < to.rows.size(); ++k)
        std::copy_n(packed.arriving.data() + k * m, m, result.data() + static_cast<std::size_t>(to.rows[k]) * m);
}

void RowMoves::forward(const Comm& comm, std::span<const double> b, int columns, std::span<double> to,
                       Packed& packed) const {
    if (any())
        move(comm, b, columns, leave_, arrive_, to, packed);
    else
        std::ranges::copy(b, to.begin());
}

void RowMoves::back(const Comm& comm, std::span<const double> x, int columns, std::span<double> to,
                    Packed& packed) const {
    if (any())
        move(comm, x, columns, arrive_, leave_, to, packed);
    else
        std::ranges::copy(x, to.begin());
}

}  // namespace stretto
