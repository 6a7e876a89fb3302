// SPDX-License-Identifier: BSD-3-Clause
// Incomplete factorisations: ILU(0) and IC(0) (Meijerink and van der Vorst 1977), ILUT (Saad 1994), and the shifts that
// make them exist (Kershaw 1978, Manteuffel 1980).
#include <algorithm>
#include <functional>
#include <queue>

#include "solver.hpp"

namespace stretto {
namespace {

constexpr double tiny = 1e-12;        // a pivot below this times the largest of its row …
constexpr double replacement = 1e-2;  // … becomes this times it

struct Entry {
    Index column;
    double value;
};

/// A block whose diagonal is increased, and its pivots judged.
class Shifted {
public:
    Shifted(const Block& block, double shift, bool positive) : block_(block), shift_(shift), positive_(positive) {}

    /// Entries of row i as they are factorised.
    double value(Index i, Index k) const {
        if (shift_ == 0 || block_.columns[k] != i) return block_.values[k];
        double sum = 0;
        for (Index at = block_.start[i]; at < block_.start[i + 1]; ++at) sum += std::abs(block_.values[at]);
        return block_.values[k] + std::copysign(shift_ * (sum > 0 ? sum : 1), positive_ ? 1 : block_.values[k]);
    }

    /// The pivot to go on with; zero where there is none and the diagonal must be shifted more.
    double pivot(Index i, double value) {
        double largest = 0;
        for (Index k = block_.start[i]; k < block_.start[i + 1]; ++k)
            largest = std::max(largest, std::abs(block_.values[k]));
        if (largest == 0) largest = 1;
        if (!std::isfinite(value)) return 0;
        if (positive_) return value > tiny * largest ? value : 0;
        if (std::abs(value) > tiny * largest) return value;
        ++replaced;
        return std::copysign(replacement * largest, value);
    }

    Index replaced = 0;

private:
    const Block& block_;
    double shift_;
    bool positive_;
};

/// L U on the pattern of the block, row by row; null where it does not exist or, asked for, has a pivot that is not
/// positive.
std::unique_ptr<LocalSolver> factorise(const Block& block, double shift, bool positive) {
    const Index n = block.rows();
    Shifted shifted(block, shift, positive);
    const auto count = static_cast<std::size_t>(n);
    std::vector<Index> start_of_lower(count + 1), start_of_upper(count + 1);
    for (Index i = 0; i < n; ++i) {
        const Index last = n - 1 - i;
        start_of_lower[i + 1] = start_of_lower[i] + static_cast<Index>(block.before(i, i).size());
        start_of_upper[i + 1] = start_of_upper[i] + static_cast<Index>(block.after(last, last).size());
    }
    Half<double> lower(std::move(start_of_lower)), upper(std::move(start_of_upper));
    // A row by column. What lies beside its pattern is added to without asking, and never read.
    std::vector<double> row(count), inverse(count);
    for (Index i = 0; i < n; ++i) {
        const Index begin = block.start[i], end = block.start[i + 1];
        row[i] = 0;
        for (Index k = begin; k < end; ++k) row[block.columns[k]] = shifted.value(i, k);
        Index in_lower = lower.start[i], in_upper = upper.start[n - 1 - i];
        bool finite = true;
        for (Index k = begin; k < end && block.columns[k] < i; ++k) {
            const Index of = block.columns[k], from_last = n - 1 - of;
            const double factor = row[of];
            for (Index other = upper.start[from_last]; other < upper.start[from_last + 1]; ++other)
                row[upper.columns[other]] -= factor * upper.values[other];
            const double value = factor * inverse[of];
            lower.columns[in_lower] = of;
            lower.values[in_lower++] = value;
            finite = finite && std::isfinite(value);
        }
        const double pivot = shifted.pivot(i, row[i]);
        if (pivot == 0) return nullptr;
        inverse[i] = 1 / pivot;
        for (Index k = end; k > begin && block.columns[k - 1] > i; --k) {
            const double value = row[block.columns[k - 1]] * inverse[i];
            upper.columns[in_upper] = block.columns[k - 1];
            upper.values[in_upper++] = value;
            finite = finite && std::isfinite(value);
        }
        if (!finite) return nullptr;
    }
    auto result = std::make_unique<Triangular>(std::move(lower), std::move(inverse), std::move(upper));
    result->repairs.pivots = shifted.replaced;
    return result;
}

/// Keeps the `most` largest of those not below the threshold, by column.
void keep_largest(std::vector<Entry>& entries, double threshold, std::size_t most) {
    std::erase_if(entries, [&](const Entry& entry) { return std::abs(entry.value) < threshold; });
    if (entries.size() > most) {
        std::ranges::nth_element(entries, entries.begin() + static_cast<std::ptrdiff_t>(most), std::greater{},
                                 [](const Entry& entry) { return std::abs(entry.value); });
        entries.resize(most);
    }
    std::ranges::sort(entries, {}, &Entry::column);
}

/// Whether all of them are finite.
bool add_row(Block& factor, const std::vector<Entry>& entries) {
    for (const auto& [column, value] : entries) factor.add(column, value);
    factor.end_row();
    return std::ranges::all_of(entries, [](const Entry& entry) { return std::isfinite(entry.value); });
}

std::unique_ptr<LocalSolver> factorise_with_threshold(const Block& block, double shift, double drop, Index fill) {
    const Index n = block.rows();
    Shifted shifted(block, shift, false);
    Block L, U;
    std::vector<double> work(static_cast<std::size_t>(n)), diagonal;
    std::vector<char> used(static_cast<std::size_t>(n));
    std::vector<Entry> lower, upper;
    std::vector<Index> to_the_right;
    std::priority_queue<Index, std::vector<Index>, std::greater<>> to_the_left;
    for (Index i = 0; i < n; ++i) {
        const auto touch = [&](Index column, double value) {
            if (!used[column]) {
                used[column] = 1;
                work[column] = 0;
                if (column < i)
                    to_the_left.push(column);
                else if (column > i)
                    to_the_right.push_back(column);
            }
            work[column] += value;
        };
        double squares = 0;
        std::size_t below = 0, above = 0;
        for (Index k = block.start[i]; k < block.start[i + 1]; ++k) {
            const double value = shifted.value(i, k);
            squares += value * value;
            below += block.columns[k] < i;
            above += block.columns[k] > i;
            touch(block.columns[k], value);
        }
        const double threshold = drop * std::sqrt(squares);
        lower.clear();
        upper.clear();
        while (!to_the_left.empty()) {
            const Index row = to_the_left.top();
            to_the_left.pop();
            used[row] = 0;
            if (std::abs(work[row]) < threshold) continue;  // times 1/pivot: in the units of row i
            const double factor = work[row] / diagonal[row];
            lower.push_back({row, factor});
            for (Index k = U.start[row]; k < U.start[row + 1]; ++k) touch(U.columns[k], -factor * U.values[k]);
        }
        used[i] = 0;
        const double pivot = shifted.pivot(i, work[i]);
        if (pivot == 0) return nullptr;
        diagonal.push_back(pivot);
        for (const Index column : to_the_right) {
            used[column] = 0;
            upper.push_back({column, work[column]});
        }
        to_the_right.clear();
        keep_largest(lower, 0, below + static_cast<std::size_t>(fill));
        keep_largest(upper, threshold, above + static_cast<std::size_t>(fill));
        if (!add_row(L, lower) || !add_row(U, upper)) return nullptr;
    }
    auto result = std::make_unique<Triangular>(L, diagonal, U);
    result->repairs.pivots = shifted.replaced;
    return result;
}

}  // namespace

std::unique_ptr<LocalSolver> make_ilu0(const Block& block, const Options&) {
    return with_shifts(block, [&](double shift) { return factorise(block, shift, false); });
}

/// IC(0) as L D Lᵀ: on a symmetric pattern that is ILU(0), with pivots that must be positive.
std::unique_ptr<LocalSolver> make_ic0(const Block& block, const Options&) {
    return with_shifts(block, [&](double shift) { return factorise(block, shift, true); });
}

std::unique_ptr<LocalSolver> make_ilut(const Block& block, const Options& options) {
    const double drop = options.number("drop");
    const auto fill = static_cast<Index>(options.number("fill"));
    return with_shifts(block, [&](double shift) { return factorise_with_threshold(block, shift, drop, fill); });
}

}  // namespace stretto
