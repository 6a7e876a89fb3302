// SPDX-License-Identifier: BSD-3-Clause
// Additive Schwarz with overlap (restricted: Cai and Sarkis 1999).
#include <algorithm>
#include <numeric>

#include "blocks.hpp"
#include "kinds.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

/// This rank's rows of A and those of other ranks within a distance: local rows first, the others in global order.
class ExtendedRows {
public:
    ExtendedRows(const CsrMatrix<double>& A, int distance)
        : A_(A), first_(A.partition().first(A.comm().rank())), rows_(A.local_rows()) {
        std::vector<Global> wanted;
        for (Index k = 0; k < A.halo_rows(); ++k) wanted.push_back(A.global(rows_ + k));
        std::vector<Global> all;
        for (int layer = 0; layer < distance; ++layer) {
            auto fetched = fetch(wanted);
            std::vector<Global> next;
            for (const auto& entry : fetched) {
                entries_.push_back(entry);
                if (!owned(entry.column)) next.push_back(entry.column);
            }
            std::vector<Global> together;
            std::ranges::set_union(all, wanted, std::back_inserter(together));
            all = std::move(together);
            std::ranges::sort(next);
            next.erase(std::ranges::unique(next).begin(), next.end());
            wanted.clear();
            std::ranges::set_difference(next, all, std::back_inserter(wanted));
        }
        halo = Halo<double>(A.comm(), A.partition(), std::move(all));
        std::ranges::sort(entries_, {}, [](const auto& entry) { return std::pair(entry.row, entry.column); });
    }

    Global global(Index row) const {
        return row < rows_ ? first_ + row : halo.rows()[static_cast<std::size_t>(row - rows_)];
    }
    /// The number here of a row of another rank; −1: it is not here.
    Index local(Global row) const {
        const auto found = std::ranges::lower_bound(halo.rows(), row);
        return found != halo.rows().end() && *found == row ? rows_ + static_cast<Index>(found - halo.rows().begin())
                                                           : -1;
    }
    /// Calls use(column, value) for every entry of a row whose column is here.
    template <class Use>
    void each(Index row, Use&& use) const {
        if (row < rows_) {
            const auto [columns, values] = A_.row(row);
            for (std::size_t k = 0; k < columns.size(); ++k)
                if (const Index column = columns[k] < rows_ ? columns[k] : local(A_.global(columns[k])); column >= 0)
                    use(column, values[k]);
        } else {
            const auto [begin, end] = std::ranges::equal_range(entries_, global(row), {}, &Entry<double>::row);
            for (auto at = begin; at != end; ++at)
                if (const Index column =
                        owned(at->column) ? static_cast<Index>(at->column - first_) : local(at->column);
                    column >= 0)
                    use(column, at->value);
        }
    }

    Halo<double> halo;

private:
    bool owned(Global row) const { return row >= first_ && row < first_ + rows_; }

    /// Collective. The entries of rows of other ranks.
    std::vector<Entry<double>> fetch(const std::vector<Global>& wanted) const {
        const Comm& comm = A_.comm();
        std::vector<std::vector<Global>> ask(static_cast<std::size_t>(comm.size()));
        for (const Global row : wanted) ask[static_cast<std::size_t>(A_.partition().owner(row))].push_back(row);
        std::vector<std::vector<Entry<double>>> answers(ask.size());
        const auto asked = all_to_all(comm, ask);
        for (std::size_t p = 0; p < asked.size(); ++p)
            for (const Global row : asked[p]) {
                const auto [columns, values] = A_.row(static_cast<Index>(row - first_));
                for (std::size_t k = 0; k < columns.size(); ++k)
                    answers[p].push_back({row, A_.global(columns[k]), values[k]});
            }
        std::vector<Entry<double>> result;
        for (const auto& part : all_to_all(comm, answers)) result.insert(result.end(), part.begin(), part.end());
        return result;
    }

    const CsrMatrix<double>& A_;
    Global first_;
    Index rows_;
    std::vector<Entry<double>> entries_;
};

class AdditiveSchwarz final : public Preconditioner {
public:
    AdditiveSchwarz(const CsrMatrix<double>& A, const Options& options)
        : blocks_(A, options), rows_(A.local_rows()), restricted_(options.number("restricted") > 0) {
        const auto overlap = static_cast<int>(options.number("overlap"));
        ExtendedRows extended(A, overlap);
        domains_.resize(static_cast<std::size_t>(blocks_.size()));
        blocks_.factorise([&](int b) {
            std::vector<Index> rows(static_cast<std::size_t>(blocks_.end(b) - blocks_.begin(b)));
            std::iota(rows.begin(), rows.end(), blocks_.begin(b));
            std::vector<Index> place(static_cast<std::size_t>(rows_ + extended.halo.size()), -1);
            for (const Index row : rows) place[row] = 0;
            for (std::size_t layer = 0, begin = 0; layer < static_cast<std::size_t>(overlap); ++layer)
                for (const std::size_t end = rows.size(); begin < end; ++begin)
                    extended.each(rows[begin], [&](Index column, double) {
                        if (place[column] == 0) return;
                        place[column] = 0;
                        rows.push_back(column);
                    });
            std::ranges::sort(rows, {}, [&](Index row) { return extended.global(row); });
            for (std::size_t k = 0; k < rows.size(); ++k) place[rows[k]] = static_cast<Index>(k);
            domains_[static_cast<std::size_t>(b)] = domain(b, rows);
            Block block;
            block.reserve(static_cast<Index>(rows.size()), entries_of(extended, rows));
            std::vector<std::pair<Index, double>> entries;
            for (const Index row : rows) {
                entries.clear();
                bool diagonal = false;
                extended.each(row, [&](Index column, double value) {
                    if (place[column] >= 0) entries.emplace_back(place[column], value);
                    diagonal = diagonal || column == row;
                });
                if (!diagonal) entries.emplace_back(place[row], 0);
                std::ranges::sort(entries, {}, &std::pair<Index, double>::first);
                for (const auto& [column, value] : entries) block.add(column, value);
                block.end_row();
            }
            return block;
        });
        halo_ = std::move(extended.halo);
    }

    void apply(MultiVector<double> r, MultiVector<double> z) const override { solve(r, z, false); }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { solve(r, z, true); }
    bool symmetric() const override { return blocks_.symmetric() && !restricted_; }
    double bytes(int columns) const override {
        double rows = 0;
        for (const auto& domain : domains_) rows += static_cast<double>(domain.rows);
        return stored() + 8.0 * columns * ((blocks_.passes() + 4) * rows + 2.0 * static_cast<double>(halo_.size()));
    }
    double stored() const override { return blocks_.stored(); }
    std::vector<std::string> remarks() const override { return blocks_.remarks(); }
    bool repaired() const override { return blocks_.repaired(); }

private:
    /// Rows of a domain that follow one another, here and in the domain: local ones, or those of the halo from rows_
    /// on.
    struct Run {
        Index first, rows;
        bool own;  // of the block that the domain was made of
    };
    struct Domain {
        std::vector<Run> runs;  // in global order
        std::size_t rows = 0;
        mutable std::vector<double> in, out;
    };

    Domain domain(int b, const std::vector<Index>& rows) const {
        Domain result;
        result.rows = rows.size();
        const auto own = [&](Index row) { return row >= blocks_.begin(b) && row < blocks_.end(b); };
        for (const Index row : rows) {
            auto& runs = result.runs;
            const bool goes_on = !runs.empty() && row != rows_ && row == runs.back().first + runs.back().rows &&
                                 own(row) == runs.back().own;
            if (goes_on)
                ++runs.back().rows;
            else
                runs.push_back({row, 1, own(row)});
        }
        return result;
    }
    static std::size_t entries_of(const ExtendedRows& extended, const std::vector<Index>& rows) {
        auto result = rows.size();  // diagonals that A has not
        for (const Index row : rows) extended.each(row, [&](Index, double) { ++result; });
        return result;
    }

    /// Restricted: what comes out counts in the block's own rows only; transposed, what goes in does.
    void solve(MultiVector<double> r, MultiVector<double> z, bool transpose) const {
        blocks_.comm().charge(bytes(r.columns()));
        const int m = r.columns();
        const auto width = static_cast<std::size_t>(m);
        const bool own_in = restricted_ && transpose, own_out = restricted_ && !transpose;
        if (!own_in) halo_.start(r.data(), m).wait();
        double* const halo = halo_.values(m);
        const auto at = [&](double* local, const Run& run) {
            return run.first < rows_ ? local + static_cast<std::size_t>(run.first) * width
                                     : halo + static_cast<std::size_t>(run.first - rows_) * width;
        };
        const auto values = [&](const Run& run) { return static_cast<std::size_t>(run.rows) * width; };
        blocks_.each([&](int b, int thread) {
            const auto& [runs, rows, in, out] = domains_[static_cast<std::size_t>(b)];
            in.resize(std::max(in.size(), rows * width));
            out.resize(in.size());
            double* to = in.data();
            for (const Run& run : runs)
                to = own_in && !run.own ? std::fill_n(to, values(run), 0.0)
                                        : std::copy_n(at(r.data(), run), values(run), to);
            blocks_.solve(b, thread, in.data(), out.data(), m, transpose);
            if (!own_out) return;
            const double* from = out.data();
            for (const Run& run : runs) {
                if (run.own) std::copy_n(from, values(run), at(z.data(), run));
                from += values(run);
            }
        });
        if (own_out) return;
        std::ranges::fill(z.values(), 0.0);
        std::fill_n(halo, static_cast<std::size_t>(halo_.size()) * width, 0.0);
        for (const auto& domain : domains_) {  // in order: the sum is the same with any number of threads
            const double* from = domain.out.data();
            for (const Run& run : domain.runs) {
                double* const to = at(z.data(), run);
                for (std::size_t k = 0; k < values(run); ++k) to[k] += *from++;
            }
        }
        halo_.add_back(z.data(), m);
    }

    Blocks blocks_;
    Index rows_;
    bool restricted_;
    Halo<double> halo_;
    std::vector<Domain> domains_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_additive_schwarz(const CsrMatrix<double>& A, const Options& options) {
    return std::make_unique<AdditiveSchwarz>(A, options);
}

}  // namespace stretto
