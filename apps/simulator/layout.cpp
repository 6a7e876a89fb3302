// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "stretto/core/error.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/io/right_hand_side.hpp"

using namespace stretto;

namespace {

/// The boxes of a grid, as many in each direction that together they have the least surface, at most `most_along_x`
/// along x.
std::array<Global, 3> least_surface(const std::array<Global, 3>& grid, Global ranks, Global most_along_x) {
    std::array<Global, 3> best{};
    double least = std::numeric_limits<double>::infinity();
    for (Global a = 1; a <= std::min({ranks, grid[0], most_along_x}); ++a)
        for (Global b = 1; ranks % a == 0 && b <= std::min(ranks / a, grid[1]); ++b) {
            const Global c = ranks / a / b;
            if (a * b * c != ranks || c > grid[2]) continue;
            const auto side = [&](int d, Global parts) {
                return static_cast<double>(grid[static_cast<std::size_t>(d)]) / static_cast<double>(parts);
            };
            const double x = side(0, a), y = side(1, b), z = side(2, c);
            const double surface = (c > 1 ? x * y : 0) + (a > 1 ? y * z : 0) + (b > 1 ? x * z : 0);
            if (surface < least) {
                least = surface;
                best = {a, b, c};
            }
        }
    if (best[0] == 0)
        throw InputError(
            fmt::format("a grid of {} × {} × {} cannot be dealt in {} boxes{}", grid[0], grid[1], grid[2], ranks,
                        most_along_x == 1 ? " of whole lines along x: take fewer --nodes or --deal boxes" : ""));
    return best;
}

Partition partition_of(const std::array<Global, 3>& grid, const std::array<Global, 3>& parts, Global unknowns) {
    std::vector<Global> first{0};
    const auto size = [&](std::size_t d, Global k) { return grid[d] * (k + 1) / parts[d] - grid[d] * k / parts[d]; };
    for (Global z = 0; z < parts[2]; ++z)
        for (Global y = 0; y < parts[1]; ++y)
            for (Global x = 0; x < parts[0]; ++x)
                first.push_back(first.back() + size(0, x) * size(1, y) * size(2, z) * unknowns);
    return Partition(std::move(first));
}

LocalRows<double> rows_between(const LocalRows<double>& all, Global begin, Global end) {
    LocalRows<double> rows;
    const Global first = all.start[static_cast<std::size_t>(begin)], last = all.start[static_cast<std::size_t>(end)];
    rows.columns.assign(all.columns.begin() + first, all.columns.begin() + last);
    rows.values.assign(all.values.begin() + first, all.values.begin() + last);
    for (Global row = begin; row < end; ++row)
        rows.start.push_back(all.start[static_cast<std::size_t>(row) + 1] - first);
    return rows;
}

/// A problem of a file as if it were a generated one: read at once, it makes rows by copying.
Generator generator_of_file(const std::string& problem, LocalRows<double>& rows) {
    MpiComm alone(MPI_COMM_SELF);
    rows = load_problem(alone, problem).rows;
    return {
        rows.rows(), [&rows](Global begin, Global end) { return rows_between(rows, begin, end); }, {rows.rows(), 1, 1}};
}

}  // namespace

Layout::Layout(const std::string& problem, int ranks, Deal deal, const std::array<Global, 3>& grid)
    : generator_(file_of_problem(problem).empty() ? generator(problem) : generator_of_file(problem, read_)),
      grid_(grid[0] > 0 ? grid : generator_.grid),
      unknowns_(std::max<Global>(1, generator_.rows / (grid_[0] * grid_[1] * grid_[2]))),
      deal_(deal),
      partition_(Partition::even(generator_.rows, ranks)) {
    if (unknowns_ * grid_[0] * grid_[1] * grid_[2] != generator_.rows)
        throw InputError(fmt::format("--grid {}x{}x{}: {} has {} rows, which is no multiple of its cells", grid_[0],
                                     grid_[1], grid_[2], problem, generator_.rows));
    if (deal == Deal::rows) return;
    parts_ = least_surface(grid_, ranks, deal == Deal::columns ? 1 : grid_[0]);
    partition_ = partition_of(grid_, parts_, unknowns_);
}

std::array<Global, 3> Layout::box_of(int rank) const {
    return {rank % parts_[0], rank / parts_[0] % parts_[1], rank / parts_[0] / parts_[1]};
}

/// A row of the problem, in the numbering of the layout.
Global Layout::renumber(Global row) const {
    const Global at = row / unknowns_;
    const std::array<Global, 3> cell{at % grid_[0], at / grid_[0] % grid_[1], at / grid_[0] / grid_[1]};
    std::array<Global, 3> box{}, inside{}, size{};
    for (int d = 0; d < 3; ++d) {
        box[d] = ((cell[d] + 1) * parts_[d] - 1) / grid_[d];
        inside[d] = cell[d] - begin_of(d, box[d]);
        size[d] = begin_of(d, box[d] + 1) - begin_of(d, box[d]);
    }
    const auto rank = static_cast<int>((box[2] * parts_[1] + box[1]) * parts_[0] + box[0]);
    const Global inside_box = (inside[2] * size[1] + inside[1]) * size[0] + inside[0];
    return partition_.first(rank) + inside_box * unknowns_ + row % unknowns_;
}

/// line(begin, end) for the rows of the problem that a rank has, in its order.
template <class Line>
void Layout::each_line(int rank, Line&& line) const {
    if (deal_ == Deal::rows) return line(partition_.first(rank), partition_.first(rank + 1));
    const auto box = box_of(rank);
    for (Global z = begin_of(2, box[2]); z < begin_of(2, box[2] + 1); ++z)
        for (Global y = begin_of(1, box[1]); y < begin_of(1, box[1] + 1); ++y) {
            const Global at = (z * grid_[1] + y) * grid_[0];
            line((at + begin_of(0, box[0])) * unknowns_, (at + begin_of(0, box[0] + 1)) * unknowns_);
        }
}

LocalRows<double> Layout::rows(int rank) const {
    if (deal_ == Deal::rows) return generator_.make(partition_.first(rank), partition_.first(rank + 1));
    LocalRows<double> result;
    std::vector<std::pair<Global, double>> row;
    each_line(rank, [&](Global begin, Global end) {
        const auto made = generator_.make(begin, end);
        for (Index i = 0; i < made.rows(); ++i) {
            row.clear();
            for (auto k = static_cast<std::size_t>(made.start[i]); k < static_cast<std::size_t>(made.start[i + 1]); ++k)
                row.emplace_back(renumber(made.columns[k]), made.values[k]);
            std::ranges::sort(row);
            for (const auto& [column, value] : row) {
                result.columns.push_back(column);
                result.values.push_back(value);
            }
            result.start.push_back(static_cast<Global>(result.columns.size()));
        }
    });
    return result;
}

std::vector<double> Layout::right_hand_sides(const std::string& text, int columns) const {
    MpiComm alone(MPI_COMM_SELF);
    const auto sum = [&](Index row) {
        const auto made = generator_.make(row, row + 1);
        return std::reduce(made.values.begin(), made.values.end());
    };
    const auto given =
        stretto::right_hand_sides(alone, text, columns, Partition::even(generator_.rows, 1), 1, sum).values;
    std::vector<double> dealt;
    dealt.reserve(given.size());
    for (int p = 0; p < partition_.ranks(); ++p)
        each_line(p, [&](Global begin, Global end) {
            dealt.insert(dealt.end(), given.begin() + begin * columns, given.begin() + end * columns);
        });
    return dealt;
}

Footprint::Footprint(const Layout& layout, int rank) {
    const auto& partition = layout.partition();
    const Global first = partition.first(rank), last = partition.first(rank + 1);
    const auto local = layout.rows(rank);
    rows = local.rows();
    std::vector<Global> halo;
    std::map<int, std::size_t> sent;
    std::set<int> readers;  // of a row
    for (Index i = 0; i < rows; ++i) {
        readers.clear();
        for (auto k = static_cast<std::size_t>(local.start[i]); k < static_cast<std::size_t>(local.start[i + 1]); ++k) {
            const Global column = local.columns[k];
            if (column >= first && column < last) continue;
            halo.push_back(column);
            readers.insert(partition.owner(column));
        }
        for (const int reader : readers) ++sent[reader];
        interface_rows += !readers.empty();
        const auto nonzeros = static_cast<double>(local.start[i + 1] - local.start[i]);
        (readers.empty() ? interior_bytes : interface_bytes) +=
            nonzeros * (sizeof(double) + sizeof(Index)) + sizeof(Index);
    }
    std::ranges::sort(halo);
    const auto [begin, end] = std::ranges::unique(halo);
    halo.erase(begin, end);
    halo_rows = static_cast<Index>(halo.size());
    std::map<int, std::size_t> received;
    for (const Global row : halo) ++received[partition.owner(row)];
    receives.assign(received.begin(), received.end());
    sends.assign(sent.begin(), sent.end());
}
