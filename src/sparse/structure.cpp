// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/structure.hpp"

#include <btf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "points.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// On every rank. Nothing where the pattern is too large for one rank, or the search too long.
template <class Problem>
std::optional<Global> structural_rank(const Comm& comm, const Problem& problem) {
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

constexpr Constants constants[] = {{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}};
/// Which of these all rows so far have taken to zero.
using Vanish = std::array<bool, std::size(constants)>;

/// What is counted of the rows of a thread, or of this rank.
struct Count {
    Global unmatched = 0, positive = 0, zero = 0, dominant = 0, off_diagonals = 0, opposite = 0, longest = 0;
    double asymmetry = 0, pair_shares = 0, sum = 0, absolute_sum = 0;
    Vanish vanish{};
    std::vector<std::vector<Mirrored>> elsewhere;  // for each rank

    void compare(double value, double mirror, bool there, double scale) {
        unmatched += !there && value != 0;
        if (value != mirror) asymmetry = std::max(asymmetry, std::abs(value - mirror) / scale);
    }
    void operator+=(const Count& other) {
        unmatched += other.unmatched;
        positive += other.positive;
        zero += other.zero;
        dominant += other.dominant;
        off_diagonals += other.off_diagonals;
        opposite += other.opposite;
        longest = std::max(longest, other.longest);
        asymmetry = std::max(asymmetry, other.asymmetry);
        pair_shares += other.pair_shares;
        sum += other.sum;
        absolute_sum += other.absolute_sum;
        for (std::size_t c = 0; c < vanish.size(); ++c) vanish[c] = vanish[c] && other.vanish[c];
        for (std::size_t p = 0; p < elsewhere.size(); ++p)
            elsewhere[p].insert(elsewhere[p].end(), other.elsewhere[p].begin(), other.elsewhere[p].end());
    }
};

/// This rank's rows, looked at.
template <class Problem>
class Looked {
public:
    Looked(const Comm& comm, const Problem& problem)
        : rows_(problem.rows),
          partition_(problem.partition),
          first_(partition_.first(comm.rank())),
          last_(partition_.first(comm.rank() + 1)),
          root_(static_cast<std::size_t>(rows_.rows()), 0) {
        for (std::size_t i = 0; i < root_.size(); ++i) {
            for (Global k = rows_.start[i]; k < rows_.start[i + 1]; ++k)
                root_[i] = std::max(root_[i], std::abs(rows_.values[static_cast<std::size_t>(k)]));
            root_[i] = std::sqrt(root_[i]);
        }
    }

    std::size_t rows() const { return root_.size(); }
    /// The roots of the rows' largest entries; rows of zeros apart.
    std::pair<double, double> smallest_and_largest_root() const {
        double smallest = std::numeric_limits<double>::infinity(), largest = 0;
        for (const double root : root_) {
            if (root > 0) smallest = std::min(smallest, root);
            largest = std::max(largest, root);
        }
        return {smallest, largest};
    }

    void look(std::size_t i, Count& count) const {
        const Global row = first_ + static_cast<Global>(i);
        double diagonal = 0, others = 0, largest = 0, second = 0, sum = 0;
        Global positive = 0, negative = 0;
        for (auto k = static_cast<std::size_t>(rows_.start[i]); k < static_cast<std::size_t>(rows_.start[i + 1]); ++k) {
            const Global column = rows_.columns[k];
            const double value = rows_.values[k];
            sum += value;
            if (column == row) {
                diagonal = value;
                continue;
            }
            others += std::abs(value);
            second = std::max(second, std::min(largest, std::abs(value)));
            largest = std::max(largest, std::abs(value));
            positive += value > 0;
            negative += value < 0;
            if (column >= first_ && column < last_)
                compare({column, row, value, root_[i]}, count);
            else
                count.elsewhere[static_cast<std::size_t>(partition_.owner(column))].push_back(
                    {column, row, value, root_[i]});
        }
        count.sum += sum;
        count.absolute_sum += others + std::abs(diagonal);
        count.positive += diagonal > 0;
        count.zero += diagonal == 0;
        count.off_diagonals += positive + negative;
        count.opposite += diagonal > 0 ? negative : diagonal < 0 ? positive : 0;
        count.longest = std::max(count.longest, positive + negative);
        count.pair_shares += others > 0 ? (largest + second) / others : 1;
        count.dominant += std::abs(diagonal) >= others && diagonal != 0;
        for (std::size_t c = 0; c < count.vanish.size(); ++c)
            count.vanish[c] = count.vanish[c] && vanishes(i, constants[c], others + std::abs(diagonal));
    }

    /// An entry with what this rank holds at its place.
    void compare(const Mirrored& entry, Count& count) const {
        const auto at = find(entry.row, entry.column);
        const double own = root_[static_cast<std::size_t>(entry.row - first_)];
        count.compare(entry.value, at < 0 ? 0 : rows_.values[static_cast<std::size_t>(at)], at >= 0,
                      entry.scale * (own > 0 ? own : entry.scale));
    }

private:
    /// Whether a row, whose absolute values have this sum, takes a vector to zero. Most matrices fail in the first row.
    bool vanishes(std::size_t i, const Constants& vector, double absolute) const {
        constexpr double negligible = 1e-12;
        double sum = 0;
        for (auto k = static_cast<std::size_t>(rows_.start[i]); k < static_cast<std::size_t>(rows_.start[i + 1]); ++k)
            sum += vector.has(rows_.columns[k]) ? rows_.values[k] : 0;
        return std::abs(sum) <= negligible * absolute;
    }

    /// The position of an entry in an own row; −1: none.
    std::ptrdiff_t find(Global row, Global column) const {
        const auto begin = rows_.columns.begin() + rows_.start[static_cast<std::size_t>(row - first_)],
                   end = rows_.columns.begin() + rows_.start[static_cast<std::size_t>(row - first_) + 1];
        const auto found = std::lower_bound(begin, end, column);
        return found != end && *found == column ? found - rows_.columns.begin() : std::ptrdiff_t{-1};
    }

    const decltype(Problem::rows)& rows_;
    const Partition& partition_;
    Global first_, last_;
    std::vector<double> root_;  // of the largest entry of each own row
};

/// On every rank: those that all rows take to zero, without one that is the sum of others.
std::vector<Constants> null_vectors(const Comm& comm, const Vanish& mine) {
    Vanish vanish{};
    for (std::size_t c = 0; c < vanish.size(); ++c) vanish[c] = all_of(comm, mine[c]);
    vanish[0] = vanish[0] && !(vanish[1] && vanish[2]) && !(vanish[3] && vanish[4] && vanish[5]);
    std::vector<Constants> found;
    for (std::size_t c = 0; c < vanish.size(); ++c)
        if (vanish[c]) found.push_back(constants[c]);
    return found;
}

template <class Problem>
Structure look_at(const Comm& comm, const Problem& problem, int threads) {
    const Looked<Problem> rows(comm, problem);
    std::vector<Count> counts(static_cast<std::size_t>(threads));
    for (auto& count : counts) {
        count.elsewhere.resize(static_cast<std::size_t>(comm.size()));
        for (std::size_t c = 0; c < count.vanish.size(); ++c)
            count.vanish[c] = problem.partition.rows() % constants[c].of == 0;
    }
    parallel(threads, [&](int t, int of) {
        const Share share(rows.rows(), t, of);
        for (auto i = share.begin; i < share.end; ++i) rows.look(i, counts[static_cast<std::size_t>(t)]);
    });
    Count total = std::move(counts[0]);
    for (std::size_t t = 1; t < counts.size(); ++t) total += counts[t];
    for (const auto& part : all_to_all(comm, total.elsewhere))
        for (const auto& entry : part) rows.compare(entry, total);

    Structure result;
    result.rows = problem.partition.rows();
    result.unmatched = all_sum(comm, total.unmatched);
    result.positive_diagonal = all_sum(comm, total.positive);
    result.zero_diagonal = all_sum(comm, total.zero);
    result.dominant_rows = all_sum(comm, total.dominant);
    result.off_diagonals = all_sum(comm, total.off_diagonals);
    result.opposite = all_sum(comm, total.opposite);
    result.longest_row = all_max(comm, total.longest);
    if (result.rows > 0) result.pair_share = all_sum(comm, total.pair_shares) / static_cast<double>(result.rows);
    if (const double absolute = all_sum(comm, total.absolute_sum); absolute > 0)
        result.sum_share = all_sum(comm, total.sum) / absolute;
    const auto [smallest, largest] = rows.smallest_and_largest_root();
    const double least = all_min(comm, smallest), most = all_max(comm, largest);
    if (most > 0) result.row_spread = (most / least) * (most / least);
    result.asymmetry = all_max(comm, total.asymmetry);
    result.null_vectors = null_vectors(comm, total.vanish);
    if (!result.like_grid() && result.may_be_definite())
        result.unknowns_at_a_point =
            unknowns_at_a_point(comm, problem.partition, [&](Index row, std::vector<Global>& columns) {
                for (Global k = problem.rows.start[row]; k < problem.rows.start[row + 1]; ++k)
                    columns.push_back(problem.rows.columns[k]);
            });
    result.structural_rank = result.zero_diagonal == 0 ? result.rows : structural_rank(comm, problem);
    return result;
}

}  // namespace

std::string Constants::name() const {
    return of == 1 ? "constants" : fmt::format("component {} of {}", component + 1, of);
}

Structure analyse(const Comm& comm, const DistributedRows& problem, int threads) {
    return look_at(comm, problem, threads);
}
Structure analyse(const Comm& comm, const DistributedGivenRows& problem, int threads) {
    return look_at(comm, problem, threads);
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
    if (unknowns_at_a_point > 1) text.push_back(fmt::format("points: {} unknowns at each", unknowns_at_a_point));
    if (!null_vectors.empty()) {
        std::string names;
        for (const auto& vector : null_vectors) names += (names.empty() ? "" : ", ") + vector.name();
        text.push_back(
            fmt::format("singular: A takes {}{} to zero", null_vectors.front().of > 1 ? "constants of " : "", names));
    }
    if (!structural_rank)
        text.emplace_back("structural rank: not determined");
    else if (singular_pattern())
        text.push_back(fmt::format("structurally singular: rank at most {} of {}", *structural_rank, rows));
    else
        text.emplace_back("structural rank: full");
    return text;
}

}  // namespace stretto
