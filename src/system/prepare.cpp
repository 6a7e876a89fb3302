// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "../sparse/assemble.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/system/ordering.hpp"

namespace stretto {
namespace {

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

/// Global columns of other ranks, increasing, each once.
std::vector<Global> columns_elsewhere(const Comm& comm, const DistributedRows& problem) {
    const Global first = problem.partition.first(comm.rank()), last = problem.partition.first(comm.rank() + 1);
    std::vector<Global> result;
    for (const Global column : problem.rows.columns)
        if (column < first || column >= last) result.push_back(column);
    std::ranges::sort(result);
    result.erase(std::ranges::unique(result).begin(), result.end());
    return result;
}

/// Collective. A value for every column that occurs here, from a value for every local row.
template <class T>
class Columns {
public:
    Columns(const Comm& comm, const DistributedRows& problem, const std::vector<T>& mine)
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

/// Collective. The same system with rows and columns numbered anew, its rows moved to where their numbers belong.
DistributedRows renumber(const Comm& comm, DistributedRows problem, const std::vector<Global>& numbers,
                         Partition target) {
    std::vector<Entry<double>> entries;
    {
        const Columns<Global> columns(comm, problem, numbers);
        entries.reserve(problem.rows.columns.size());
        for (Index i = 0; i < problem.rows.rows(); ++i)
            for (Global k = problem.rows.start[i]; k < problem.rows.start[i + 1]; ++k)
                entries.push_back(
                    {numbers[static_cast<std::size_t>(i)], columns[problem.rows.columns[k]], problem.rows.values[k]});
    }
    problem.rows = {};
    auto rows = assemble(comm, target, std::move(entries));
    return {std::move(target), std::move(rows)};
}

double power_of_two(double value) { return std::exp2(std::round(std::log2(value))); }

}  // namespace

PrepareSteps parse_prepare(const std::string& text) {
    PrepareSteps steps;
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
        const auto end = std::min(text.find(',', begin), text.size());
        const auto name = text.substr(begin, end - begin);
        if (name == "equilibrate")
            steps.equilibrate = true;
        else if (name == "rcm")
            steps.rcm = true;
        else if (name == "metis")
            steps.metis = true;
        else if (name == "nonzeros")
            steps.nonzeros = true;
        else
            throw InputError(
                fmt::format("--prepare: there is no step '{}'; there are equilibrate, rcm, metis and nonzeros", name));
        begin = end + 1;
    }
    if (steps.metis && steps.nonzeros)
        throw InputError("--prepare: metis balances nonzeros itself; name one of metis and nonzeros");
    return steps;
}

PartitionQuality quality(const Comm& comm, const DistributedRows& problem) {
    const Global first = problem.partition.first(comm.rank()), last = problem.partition.first(comm.rank() + 1);
    PartitionQuality result;
    result.edge_cut = all_sum(comm, static_cast<Global>(std::ranges::count_if(
                                        problem.rows.columns, [&](Global j) { return j < first || j >= last; })));
    result.halo = all_sum(comm, static_cast<Global>(columns_elsewhere(comm, problem).size()));
    const auto mine = static_cast<Global>(problem.rows.columns.size());
    const Global most = all_max(comm, mine), all = all_sum(comm, mine);
    result.imbalance = all > 0 ? static_cast<double>(most) * comm.size() / static_cast<double>(all) : 1;
    return result;
}

PreparedSystem::PreparedSystem(Comm& comm, DistributedRows problem, const PrepareSteps& steps, bool symmetric,
                               int threads, Storage storage)
    : comm_(&comm), threads_(threads), storage_(storage), original_(problem.partition) {
    if (steps.metis || steps.nonzeros) deal(problem, steps);
    quality_ = quality(comm, problem);
    if (steps.rcm)
        reorder(std::move(problem));
    else
        A_.emplace(comm, std::move(problem.partition), std::move(problem.rows), threads, storage);
    plan(A_->partition());
    if (steps.equilibrate) equilibrate(symmetric);
}

/// By the largest entries of rows, then of columns; of a symmetric matrix by the roots of both, again and again, until
/// they are near 1 (Ruiz 2001).
void PreparedSystem::equilibrate(bool symmetric) {
    DistributedRows problem{A_->partition(), A_->local()};
    const auto& partition = problem.partition;
    auto& rows = problem.rows;
    const auto n = static_cast<std::size_t>(rows.rows());
    const Global first = partition.first(comm_->rank());
    rows_.assign(n, 1);
    columns_.assign(n, 1);
    const auto scale_rows = [&](const std::vector<double>& by) {
        for (std::size_t i = 0; i < n; ++i)
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) rows.values[k] *= by[i];
    };
    const auto scale_columns = [&](const std::vector<double>& by) {
        const Columns<double> all(*comm_, problem, by);
        for (std::size_t k = 0; k < rows.values.size(); ++k) rows.values[k] *= all[rows.columns[k]];
    };
    const auto scales = [&](const std::vector<double>& largest, double power, std::vector<double>& total) {
        std::vector<double> by;
        for (std::size_t i = 0; i < n; ++i) {
            by.push_back(largest[i] > 0 ? power_of_two(std::pow(largest[i], -power)) : 1);
            total[i] *= by[i];
        }
        return by;
    };
    const auto largest_of_rows = [&] {
        std::vector<double> largest(n, 0);
        for (std::size_t i = 0; i < n; ++i)
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
                largest[i] = std::max(largest[i], std::abs(rows.values[k]));
        return largest;
    };
    same_scales_ = symmetric;
    if (symmetric) {
        constexpr int most_rounds = 20;  // each takes the root of what is left
        for (int round = 0; round < most_rounds; ++round) {
            const auto by = scales(largest_of_rows(), 0.5, rows_);
            const bool done = std::ranges::all_of(by, [](double each) { return each == 1; });
            if (all_of(*comm_, done)) break;
            scale_rows(by);
            scale_columns(by);
        }
    } else {
        scale_rows(scales(largest_of_rows(), 1, rows_));
        struct Largest {
            Global column;
            double value;
        };
        std::vector<std::vector<Largest>> elsewhere(static_cast<std::size_t>(comm_->size()));
        std::vector<double> largest(n, 0);
        for (std::size_t k = 0; k < rows.values.size(); ++k) {
            const Global j = rows.columns[k];
            if (j >= first && j < first + static_cast<Global>(n)) {
                auto& value = largest[static_cast<std::size_t>(j - first)];
                value = std::max(value, std::abs(rows.values[k]));
            } else {
                elsewhere[static_cast<std::size_t>(partition.owner(j))].push_back({j, std::abs(rows.values[k])});
            }
        }
        for (const auto& part : all_to_all(*comm_, elsewhere))
            for (const auto& [column, value] : part)
                largest[static_cast<std::size_t>(column - first)] =
                    std::max(largest[static_cast<std::size_t>(column - first)], value);
        scale_columns(scales(largest, 1, columns_));
    }
    const auto [low, high] = std::ranges::minmax_element(rows_);
    remarks_.push_back(
        fmt::format("equilibrated {}: rows scaled by {:.3g} to {:.3g}; residuals stay those of the original system",
                    symmetric ? "symmetrically" : "by rows and columns", all_min(*comm_, n > 0 ? *low : INFINITY),
                    all_max(*comm_, n > 0 ? *high : 0)));
    scaled_.emplace(*comm_, std::move(problem.partition), std::move(problem.rows), threads_, storage_);
}

void PreparedSystem::deal(DistributedRows& problem, const PrepareSteps& steps) {
    const std::string name = steps.metis ? "metis" : "nonzeros";
    if (comm_->size() == 1) {
        remarks_.push_back(fmt::format("{}: one rank, nothing to deal", name));
        return;
    }
    const auto before = quality(*comm_, problem);
    const auto parts = steps.metis ? metis_parts(*comm_, problem) : balanced_parts(*comm_, problem.rows);
    const auto ranks = static_cast<std::size_t>(comm_->size());
    std::vector<Global> counts(ranks * ranks);  // rows from rank p to rank q at p * ranks + q
    for (const int part : parts)
        ++counts[static_cast<std::size_t>(comm_->rank()) * ranks + static_cast<std::size_t>(part)];
    MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_INT64_T, MPI_SUM, comm_->mpi());
    std::vector<Global> first(ranks + 1), next(ranks);
    for (std::size_t q = 0; q < ranks; ++q) {
        next[q] = first[q];
        for (std::size_t p = 0; p < ranks; ++p) {
            if (p < static_cast<std::size_t>(comm_->rank())) next[q] += counts[p * ranks + q];
            first[q + 1] += counts[p * ranks + q];
        }
        first[q + 1] += first[q];
    }
    std::vector<Global> numbers;
    for (const int part : parts) numbers.push_back(next[static_cast<std::size_t>(part)]++);
    auto dealt = renumber(*comm_, problem, numbers, Partition(std::move(first)));
    const auto after = quality(*comm_, dealt);
    // A matrix in a good order already, or a small one, can be cut worse than into contiguous rows.
    constexpr double noticeable = 0.05;
    const bool keep = steps.nonzeros || after.edge_cut < before.edge_cut || after.halo < before.halo ||
                      after.imbalance < before.imbalance - noticeable;
    remarks_.push_back(fmt::format("{}: edge cut {} → {}, halo {} → {} rows, imbalance {:.3f} → {:.3f}{}", name,
                                   before.edge_cut, after.edge_cut, before.halo, after.halo, before.imbalance,
                                   after.imbalance, keep ? "" : ": left as it was"));
    if (!keep) return;
    numbers_ = std::move(numbers);
    moved_ = true;
    problem = std::move(dealt);
}

void PreparedSystem::reorder(DistributedRows problem) {
    const auto order = reverse_cuthill_mckee(*comm_, problem);
    const Global first = problem.partition.first(comm_->rank());
    std::vector<Global> fresh(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
        fresh[static_cast<std::size_t>(order[k])] = first + static_cast<Global>(k);

    auto reordered = renumber(*comm_, problem, fresh, problem.partition);
    auto moved_twice = moved_ ? look_up(*comm_, problem.partition, fresh, numbers_) : fresh;
    const CsrMatrix<double> after(*comm_, reordered.partition, reordered.rows, threads_, storage_);
    A_.emplace(*comm_, std::move(problem.partition), std::move(problem.rows), threads_, storage_);

    constexpr int rounds = 10;
    std::vector<double> x(static_cast<std::size_t>(A_->local_rows()), 1), y(x.size());
    const auto seconds = [&](const CsrMatrix<double>& A) {
        MPI_Barrier(comm_->mpi());
        const auto begin = std::chrono::steady_clock::now();
        A.apply({x.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
        return all_max(*comm_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    };
    double old_time = INFINITY, new_time = INFINITY;
    for (int round = 0; round <= rounds; ++round) {
        const double one = seconds(*A_), other = seconds(after);
        if (round == 0) continue;  // which touches everything
        old_time = std::min(old_time, one);
        new_time = std::min(new_time, other);
    }
    // What noise decides would change the order, and with it roundings, between equal runs.
    constexpr double worthwhile = 0.95;
    const bool keep = new_time < worthwhile * old_time;
    remarks_.push_back(fmt::format("rcm: a product takes {:.3g} ms instead of {:.3g} ms: {}", 1e3 * new_time,
                                   1e3 * old_time, keep ? "reordered" : "left as it was"));
    if (!keep) return;
    numbers_ = std::move(moved_twice);
    moved_ = true;
    A_.emplace(*comm_, std::move(reordered.partition), std::move(reordered.rows), threads_, storage_);
}

/// Who sends which rows where.
void PreparedSystem::plan(const Partition& target) {
    if (!moved_) return;
    leave_.resize(static_cast<std::size_t>(comm_->size()));
    std::vector<std::vector<Global>> places(leave_.size());
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
        const auto p = static_cast<std::size_t>(target.owner(numbers_[i]));
        leave_[p].push_back(static_cast<Index>(i));
        places[p].push_back(numbers_[i]);
    }
    arrive_.resize(leave_.size());
    const auto received = all_to_all(*comm_, places);
    for (std::size_t p = 0; p < received.size(); ++p)
        for (const Global place : received[p])
            arrive_[p].push_back(static_cast<Index>(place - target.first(comm_->rank())));
}

namespace {
/// Collective. Rows of m values on their way: from[p] says which local rows go to rank p, to[p] where those of rank p
/// go.
std::vector<double> move_rows(const Comm& comm, const std::vector<double>& values, int columns,
                              const std::vector<std::vector<Index>>& from, const std::vector<std::vector<Index>>& to,
                              Index rows) {
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

std::vector<double> PreparedSystem::forward(std::vector<double> b, int columns) const {
    if (!moved_) return b;
    return move_rows(*comm_, b, columns, leave_, arrive_, A_->local_rows());
}

std::vector<double> PreparedSystem::back(std::vector<double> x, int columns) const {
    if (!moved_) return x;
    return move_rows(*comm_, x, columns, arrive_, leave_, original_.rows(comm_->rank()));
}

namespace {

/// C M̂⁻¹ R.
class Scaled final : public Preconditioner {
public:
    Scaled(const CsrMatrix<double>& A, const std::vector<double>& rows, const std::vector<double>& columns,
           std::unique_ptr<Preconditioner> inner)
        : comm_(&A.comm()), threads_(A.threads()), rows_(&rows), columns_(&columns), inner_(std::move(inner)) {}

    void apply(MultiVector<double> r, MultiVector<double> z) const override {
        run(r, z, *rows_, *columns_, [&](MultiVector<double> from) { inner_->apply(from, z); });
    }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override {
        run(r, z, *columns_, *rows_, [&](MultiVector<double> from) { inner_->apply_transpose(from, z); });
    }
    bool has_transpose() const override { return !inner_ || inner_->has_transpose(); }
    bool symmetric() const override { return rows_ == columns_ && (!inner_ || inner_->symmetric()); }
    double bytes(int columns) const override { return own_bytes(columns) + (inner_ ? inner_->bytes(columns) : 0); }
    double stored() const override {
        return 16.0 * static_cast<double>(rows_->size()) + (inner_ ? inner_->stored() : 0);
    }
    std::vector<std::string> remarks() const override {
        return inner_ ? inner_->remarks() : std::vector<std::string>();
    }

private:
    double own_bytes(int columns) const { return 8.0 * static_cast<double>(rows_->size()) * (4.0 * columns + 2); }

    template <class Inner>
    void run(MultiVector<double> r, MultiVector<double> z, const std::vector<double>& first,
             const std::vector<double>& last, Inner&& inner) const {
        comm_->charge(own_bytes(r.columns()));
        const auto m = static_cast<std::size_t>(r.columns());
        const auto scale = [&](const double* from, double* to, const std::vector<double>& by) {
            parallel(threads_, [&](int t, int threads) {
                const Share share(by.size(), t, threads);
                for (auto i = share.begin; i < share.end; ++i)
                    for (std::size_t k = i * m; k < (i + 1) * m; ++k) to[k] = by[i] * from[k];
            });
        };
        if (!inner_) {
            scale(r.data(), z.data(), first);
            return scale(z.data(), z.data(), last);
        }
        auto& work = work_[r.columns()];
        work.resize(r.size());
        scale(r.data(), work.data(), first);
        inner({work.data(), r.rows(), r.columns()});
        scale(z.data(), z.data(), last);
    }

    Comm* comm_;
    int threads_;
    const std::vector<double>*rows_, *columns_;
    std::unique_ptr<Preconditioner> inner_;
    mutable std::map<int, std::vector<double>> work_;  // by number of columns
};

}  // namespace

std::unique_ptr<Preconditioner> PreparedSystem::preconditioner(const std::string& spec) const {
    auto inner = make_preconditioner(spec, scaled());
    if (!scaled_) return inner;
    return std::make_unique<Scaled>(*A_, rows_, same_scales_ ? rows_ : columns_, std::move(inner));
}

}  // namespace stretto
