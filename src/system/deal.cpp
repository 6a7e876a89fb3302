// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/deal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "renumber.hpp"
#include "stretto/system/ordering.hpp"

namespace stretto {
namespace {

/// Collective. New numbers for the local rows, those of a rank in the order of the old ones, and who has them.
std::vector<Global> number(const Comm& comm, const std::vector<int>& parts, std::vector<Global>& first) {
    const auto ranks = static_cast<std::size_t>(comm.size()), me = static_cast<std::size_t>(comm.rank());
    std::vector<Global> counts(ranks * ranks);  // rows from rank p to rank q at p * ranks + q
    for (const int part : parts) ++counts[me * ranks + static_cast<std::size_t>(part)];
    MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_INT64_T, MPI_SUM, comm.mpi());
    first.assign(ranks + 1, 0);
    std::vector<Global> next(ranks), numbers;
    for (std::size_t q = 0; q < ranks; ++q) {
        next[q] = first[q];
        for (std::size_t p = 0; p < ranks; ++p) {
            if (p < me) next[q] += counts[p * ranks + q];
            first[q + 1] += counts[p * ranks + q];
        }
        first[q + 1] += first[q];
    }
    for (const int part : parts) numbers.push_back(next[static_cast<std::size_t>(part)]++);
    return numbers;
}

template <class Matrix>
PartitionQuality quality_of(const Comm& comm, const Matrix& matrix) {
    const Global first = matrix.partition.first(comm.rank()), last = matrix.partition.first(comm.rank() + 1);
    PartitionQuality result;
    result.edge_cut = all_sum(comm, static_cast<Global>(std::ranges::count_if(
                                        matrix.rows.columns, [&](Global j) { return j < first || j >= last; })));
    result.halo = all_sum(comm, static_cast<Global>(columns_elsewhere(comm, matrix).size()));
    const auto mine = static_cast<Global>(matrix.rows.columns.size());
    const Global most = all_max(comm, mine), all = all_sum(comm, mine);
    result.imbalance = all > 0 ? static_cast<double>(most) * comm.size() / static_cast<double>(all) : 1;
    return result;
}

}  // namespace

PartitionQuality quality(const Comm& comm, const DistributedRows& matrix) { return quality_of(comm, matrix); }
PartitionQuality quality(const Comm& comm, const DistributedGivenRows& matrix) { return quality_of(comm, matrix); }

Dealt deal(const Comm& comm, DistributedRows& matrix, Dealing dealing) {
    const std::string name = dealing == Dealing::metis ? "metis" : "nonzeros";
    if (comm.size() == 1) return {false, {}, fmt::format("{}: one rank, nothing to deal", name)};
    const auto before = quality(comm, matrix);
    const auto parts = dealing == Dealing::metis ? metis_parts(comm, matrix) : balanced_parts(comm, matrix.rows);
    std::vector<Global> first;
    auto numbers = number(comm, parts, first);
    auto dealt = renumber(comm, matrix, numbers, Partition(std::move(first)));
    const auto after = quality(comm, dealt);
    // A matrix in a good order already, or a small one, can be cut worse than into contiguous rows.
    constexpr double noticeable = 0.05;
    const bool keep = dealing == Dealing::nonzeros || after.edge_cut < before.edge_cut || after.halo < before.halo ||
                      after.imbalance < before.imbalance - noticeable;
    auto remark = fmt::format("{}: edge cut {} → {}, halo {} → {} rows, imbalance {:.3f} → {:.3f}{}", name,
                              before.edge_cut, after.edge_cut, before.halo, after.halo, before.imbalance,
                              after.imbalance, keep ? "" : ": left as it was");
    if (!keep) return {false, {}, std::move(remark)};
    matrix = std::move(dealt);
    return {true, std::move(numbers), std::move(remark)};
}

}  // namespace stretto
