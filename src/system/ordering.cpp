// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/ordering.hpp"

#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

std::vector<Global> nonzeros_by_row(const LocalRows<double>& rows) {
    std::vector<Global> result;
    for (Index i = 0; i < rows.rows(); ++i) result.push_back(rows.start[i + 1] - rows.start[i]);
    return result;
}

/// Everything on rank 0; every rank's piece in order.
template <class T>
std::vector<T> gather(const Comm& comm, const std::vector<T>& mine) {
    std::vector<std::vector<T>> pieces(static_cast<std::size_t>(comm.size()));
    pieces[0] = mine;
    std::vector<T> all;
    for (const auto& piece : all_to_all(comm, pieces)) all.insert(all.end(), piece.begin(), piece.end());
    return all;
}

}  // namespace

std::vector<int> metis_parts(const Comm& comm, const DistributedRows& problem) {
    const auto& partition = problem.partition;
    const auto& rows = problem.rows;
    const auto sizes = gather(comm, nonzeros_by_row(rows)), columns = gather(comm, rows.columns);
    std::vector<std::vector<int>> to_rank(static_cast<std::size_t>(comm.size()));
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        const auto n = sizes.size();
        if (2 * columns.size() > static_cast<std::size_t>(std::numeric_limits<idx_t>::max()))
            throw InputError(
                fmt::format("--prepare metis: {} nonzeros are more than METIS can number", columns.size()));
        std::vector<std::pair<idx_t, idx_t>> edges;
        edges.reserve(2 * columns.size());
        for (std::size_t i = 0, k = 0; i < n; ++i)
            for (const std::size_t end = k + static_cast<std::size_t>(sizes[i]); k < end; ++k)
                if (const auto j = static_cast<idx_t>(columns[k]); j != static_cast<idx_t>(i)) {
                    edges.emplace_back(static_cast<idx_t>(i), j);
                    edges.emplace_back(j, static_cast<idx_t>(i));
                }
        std::ranges::sort(edges);
        edges.erase(std::ranges::unique(edges).begin(), edges.end());
        std::vector<idx_t> start(n + 1), neighbours, weights(n), part(n);
        for (const auto& [i, j] : edges) {
            ++start[static_cast<std::size_t>(i) + 1];
            neighbours.push_back(j);
        }
        std::inclusive_scan(start.begin(), start.end(), start.begin());
        for (std::size_t i = 0; i < n; ++i) weights[i] = static_cast<idx_t>(std::max<Global>(1, sizes[i]));
        auto count = static_cast<idx_t>(n);
        idx_t constraints = 1, parts = comm.size(), cut = 0, options[METIS_NOPTIONS];
        METIS_SetDefaultOptions(options);
        options[METIS_OPTION_SEED] = 1;
        const int status = METIS_PartGraphKway(&count, &constraints, start.data(), neighbours.data(), weights.data(),
                                               nullptr, nullptr, &parts, nullptr, nullptr, options, &cut, part.data());
        if (status == METIS_ERROR_MEMORY) throw std::bad_alloc();
        // METIS calls memory that its coarsest partition lacks an error like any other.
        if (status != METIS_OK)
            throw InputError("--prepare metis: METIS is out of memory, or failed; --prepare nonzeros does without it");
        for (int p = 0; p < comm.size(); ++p)
            to_rank[static_cast<std::size_t>(p)].assign(part.begin() + partition.first(p),
                                                        part.begin() + partition.first(p + 1));
    });
    return all_to_all(comm, to_rank).front();
}

std::vector<int> balanced_parts(const Comm& comm, const LocalRows<double>& rows) {
    const auto sizes = nonzeros_by_row(rows);
    const auto mine = static_cast<Global>(rows.columns.size());
    Global before = 0;
    const auto all = all_gather(comm, mine);
    for (int p = 0; p < comm.rank(); ++p) before += all[static_cast<std::size_t>(p)];
    const auto total = static_cast<double>(std::accumulate(all.begin(), all.end(), Global{0}));
    std::vector<int> parts;
    for (const Global size : sizes) {
        const double middle = static_cast<double>(before) + static_cast<double>(size) / 2;
        parts.push_back(total > 0 ? std::min(comm.size() - 1, static_cast<int>(middle / total * comm.size()))
                                  : comm.rank());
        before += size;
    }
    return parts;
}

std::vector<Index> reverse_cuthill_mckee(const Comm& comm, const DistributedRows& problem) {
    const auto& rows = problem.rows;
    const Global first = problem.partition.first(comm.rank());
    const auto n = static_cast<std::size_t>(rows.rows());
    std::vector<std::vector<Index>> neighbours(n);
    for (std::size_t i = 0; i < n; ++i)
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) {
            const Global j = rows.columns[k] - first;
            if (j < 0 || j >= static_cast<Global>(n) || j == static_cast<Global>(i)) continue;
            neighbours[i].push_back(static_cast<Index>(j));
            neighbours[static_cast<std::size_t>(j)].push_back(static_cast<Index>(i));
        }
    const auto degree = [&](Index i) { return neighbours[static_cast<std::size_t>(i)].size(); };
    for (auto& row : neighbours) {
        std::ranges::sort(row);
        row.erase(std::ranges::unique(row).begin(), row.end());
    }
    for (auto& row : neighbours) std::ranges::stable_sort(row, {}, degree);

    std::vector<Index> order, visit(n, -1);
    Index round = 0;
    // Appends the component of a row, breadth first; returns how many layers it has.
    const auto walk = [&](Index start, std::vector<Index>& found) {
        const std::size_t begin = found.size();
        ++round;
        found.push_back(start);
        visit[static_cast<std::size_t>(start)] = round;
        int layers = 0;
        for (std::size_t at = begin, end = found.size(); at < found.size(); end = found.size(), ++layers)
            for (; at < end; ++at)
                for (const Index next : neighbours[static_cast<std::size_t>(found[at])])
                    if (visit[static_cast<std::size_t>(next)] != round) {
                        visit[static_cast<std::size_t>(next)] = round;
                        found.push_back(next);
                    }
        return layers;
    };
    std::vector<Index> by_degree(n);
    std::iota(by_degree.begin(), by_degree.end(), 0);
    std::ranges::stable_sort(by_degree, {}, degree);
    std::vector<char> done(n);
    for (const Index start : by_degree) {
        if (done[static_cast<std::size_t>(start)]) continue;
        Index end = start;
        int layers = 0;
        for (std::vector<Index> found;; found.clear()) {  // to a row as far as can be from all others
            const int now = walk(end, found);
            if (now <= layers) break;
            layers = now;
            end = found.back();
        }
        const std::size_t begin = order.size();
        walk(end, order);
        for (std::size_t k = begin; k < order.size(); ++k) done[static_cast<std::size_t>(order[k])] = 1;
    }
    std::ranges::reverse(order);
    return order;
}

}  // namespace stretto
