// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/structure.hpp"

#include <btf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// On every rank. Nothing where the pattern is too large for one rank, or the search too long.
std::optional<Global> structural_rank(const Comm& comm, const DistributedRows& problem) {
    const auto& rows = problem.rows;
    const Global n = problem.partition.rows(), nonzeros = all_sum(comm, static_cast<Global>(rows.columns.size()));
    constexpr Global most = std::numeric_limits<int>::max();
    if (n > most / 5 || nonzeros > most) return std::nullopt;
    std::vector<std::vector<Global>> sizes(static_cast<std::size_t>(comm.size())), columns(sizes.size());
    for (Index i = 0; i < rows.rows(); ++i) {
        Global size = 0;
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) {
            if (rows.values[k] == 0) continue;
            columns[0].push_back(rows.columns[k]);
            ++size;
        }
        sizes[0].push_back(size);
    }
    const auto all_sizes = all_to_all(comm, sizes), all_columns = all_to_all(comm, columns);
    Global rank = 0;
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        std::vector<int> start{0}, index, match(static_cast<std::size_t>(n)), work(5 * static_cast<std::size_t>(n));
        for (const auto& part : all_sizes)
            for (const Global size : part) start.push_back(start.back() + static_cast<int>(size));
        for (const auto& part : all_columns) index.insert(index.end(), part.begin(), part.end());
        constexpr double patience = 100;  // times the nonzeros
        double spent = 0;
        rank = btf_maxtrans(static_cast<int>(n), static_cast<int>(n), start.data(), index.data(), patience, &spent,
                            match.data(), work.data());
        if (spent < 0) rank = -1;
    });
    rank = all_max(comm, comm.rank() == 0 ? rank : -1);
    return rank < 0 ? std::nullopt : std::optional(rank);
}

/// A value whose mirror image another rank holds.
struct Mirrored {
    Global row, column;
    double value, scale;
};

}  // namespace

Structure analyse(const Comm& comm, const DistributedRows& problem, int threads) {
    const auto& [partition, rows] = problem;
    const Global first = partition.first(comm.rank()), last = partition.first(comm.rank() + 1);
    const auto find = [&](Global row, Global column) {  // the position of an entry in an own row; −1: none
        const auto begin = rows.columns.begin() + rows.start[static_cast<std::size_t>(row - first)],
                   end = rows.columns.begin() + rows.start[static_cast<std::size_t>(row - first) + 1];
        const auto found = std::lower_bound(begin, end, column);
        return found != end && *found == column ? found - rows.columns.begin() : std::ptrdiff_t{-1};
    };

    struct Count {
        Global unmatched = 0, positive = 0, zero = 0, dominant = 0;
        double asymmetry = 0;
        std::vector<std::vector<Mirrored>> elsewhere;
        void compare(double value, double mirror, bool there, double scale) {
            unmatched += !there && value != 0;
            if (value != mirror) asymmetry = std::max(asymmetry, std::abs(value - mirror) / scale);
        }
    };
    // Of the largest entry of each own row.
    std::vector<double> root(static_cast<std::size_t>(rows.rows()), 0);
    for (std::size_t i = 0; i < root.size(); ++i) {
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
            root[i] = std::max(root[i], std::abs(rows.values[k]));
        root[i] = std::sqrt(root[i]);
    }
    std::vector<Count> counts(static_cast<std::size_t>(threads));
    parallel(threads, [&](int t, int of) {
        auto& count = counts[static_cast<std::size_t>(t)];
        count.elsewhere.resize(static_cast<std::size_t>(comm.size()));
        const Share share(static_cast<std::size_t>(rows.rows()), t, of);
        for (auto i = share.begin; i < share.end; ++i) {
            const Global row = first + static_cast<Global>(i);
            double diagonal = 0, others = 0;
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) {
                const Global column = rows.columns[k];
                const double value = rows.values[k];
                if (column == row) {
                    diagonal = value;
                    continue;
                }
                others += std::abs(value);
                if (column >= first && column < last) {
                    const auto at = find(column, row);
                    const double other = root[static_cast<std::size_t>(column - first)];
                    count.compare(value, at < 0 ? 0 : rows.values[static_cast<std::size_t>(at)], at >= 0,
                                  root[i] * (other > 0 ? other : root[i]));
                } else {
                    count.elsewhere[static_cast<std::size_t>(partition.owner(column))].push_back(
                        {column, row, value, root[i]});
                }
            }
            count.positive += diagonal > 0;
            count.zero += diagonal == 0;
            count.dominant += std::abs(diagonal) >= others && diagonal != 0;
        }
    });
    Count total = std::move(counts[0]);
    total.elsewhere.resize(static_cast<std::size_t>(comm.size()));
    for (std::size_t t = 1; t < counts.size(); ++t) {
        auto& count = counts[t];
        total.unmatched += count.unmatched;
        total.positive += count.positive;
        total.zero += count.zero;
        total.dominant += count.dominant;
        total.asymmetry = std::max(total.asymmetry, count.asymmetry);
        for (std::size_t p = 0; p < count.elsewhere.size(); ++p)
            total.elsewhere[p].insert(total.elsewhere[p].end(), count.elsewhere[p].begin(), count.elsewhere[p].end());
    }
    for (const auto& part : all_to_all(comm, total.elsewhere))
        for (const auto& [row, column, value, scale] : part) {
            const auto at = find(row, column);
            const double own = root[static_cast<std::size_t>(row - first)];
            total.compare(value, at < 0 ? 0 : rows.values[static_cast<std::size_t>(at)], at >= 0,
                          scale * (own > 0 ? own : scale));
        }

    Structure result;
    result.rows = partition.rows();
    result.unmatched = all_sum(comm, total.unmatched);
    result.positive_diagonal = all_sum(comm, total.positive);
    result.zero_diagonal = all_sum(comm, total.zero);
    result.dominant_rows = all_sum(comm, total.dominant);
    result.asymmetry = all_max(comm, total.asymmetry);
    result.structural_rank = result.zero_diagonal == 0 ? result.rows : structural_rank(comm, problem);
    return result;
}

std::vector<std::string> Structure::lines() const {
    std::vector<std::string> text;
    text.push_back(symmetric_pattern() ? "pattern: symmetric"
                                       : fmt::format("pattern: unsymmetric, {} entries without a partner", unmatched));
    text.push_back(asymmetry == 0 ? "values: symmetric"
                   : symmetric()  ? fmt::format("values: symmetric up to rounding ({:.1e})", asymmetry)
                                  : fmt::format("values: unsymmetric, by up to {:.1e} of the largest of row and column",
                                                asymmetry));
    const Global negative = rows - positive_diagonal - zero_diagonal;
    text.push_back(positive_diagonal == rows ? "diagonal: positive"
                                             : fmt::format("diagonal: {} positive, {} zero, {} negative",
                                                           positive_diagonal, zero_diagonal, negative));
    text.push_back(dominant_rows == rows ? "diagonal dominance: all rows"
                                         : fmt::format("diagonal dominance: {} of {} rows", dominant_rows, rows));
    if (!structural_rank)
        text.push_back("structural rank: not determined");
    else if (*structural_rank < rows)
        text.push_back(fmt::format("structurally singular: rank at most {} of {}", *structural_rank, rows));
    else
        text.push_back("structural rank: full");
    return text;
}

std::string Structure::hint() const {
    if (structural_rank && *structural_rank < rows)
        return "no values make this pattern regular: look at how the system is put together";
    const std::string zeros =
        zero_diagonal > 0 ? "; zeros on the diagonal: jacobi, ilu0 and amg are weak, try block_jacobi:lu" : "";
    if (!symmetric()) return "methods for any matrix, as bicgstab" + zeros;
    if (positive_diagonal == rows)
        return dominant_rows == rows ? "methods for SPD matrices, as cg: it is positive semidefinite at least"
                                     : "methods for SPD matrices, as cg, if it is definite; else those for any matrix";
    if (negative()) return "−A x = −b, by methods for SPD matrices, as cg, if −A is definite; else bicgstab";
    return "symmetric but not definite: methods for any matrix, as bicgstab" + zeros;
}

}  // namespace stretto
