// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/linear_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include "../sparse/assemble.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/system/check.hpp"
#include "stretto/system/describe.hpp"

namespace stretto {
namespace {

/// The rows of a matrix from its values in the order in which a user gives them, on all ranks together.
struct Source {
    std::function<LocalRows<double>(std::span<const double> values)> rows;  ///< null: entries were not kept
    std::size_t entries = 0;                                                ///< on this rank
};

/// What solves with the system, behind an address that stays when another takes its place.
class Current final : public Preconditioner {
public:
    void set(std::unique_ptr<Preconditioner> now) { now_ = std::move(now); }
    const Preconditioner* get() const { return now_.get(); }

    void apply(MultiVector<double> r, MultiVector<double> z) const override { now_->apply(r, z); }
    void apply(MultiVector<double> r, MultiVector<double> z, const RowWork& work) const override {
        now_->apply(r, z, work);
    }
    int parts() const override { return now_->parts(); }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { now_->apply_transpose(r, z); }
    bool has_transpose() const override { return now_->has_transpose(); }
    bool symmetric() const override { return now_->symmetric(); }
    bool varies() const override { return now_->varies(); }
    double bytes(int columns) const override { return now_->bytes(columns); }
    double stored() const override { return now_->stored(); }
    std::vector<std::string> remarks() const override { return now_->remarks(); }

private:
    std::unique_ptr<Preconditioner> now_;
};

/// Bad entries named by global row and column, counted from 1 as in files and everywhere else.
void check_entry(Global rows, Global row, Global column, double value) {
    if (row < 0 || row >= rows || column < 0 || column >= rows)
        throw InputError(fmt::format("row {}, column {}: outside the {} × {} matrix", row + 1, column + 1, rows, rows));
    if (!std::isfinite(value))
        throw InputError(fmt::format("row {}, column {}: the value is {}", row + 1, column + 1, value));
}

void check_count(std::span<const double> values, std::size_t entries) {
    if (values.size() != entries) throw InputError(fmt::format("{} values for {} entries", values.size(), entries));
}

/// Collective. What the set-up takes for granted.
void check_rows(const Comm& comm, const Partition& partition, const LocalRows<double>& rows) {
    agree(comm, [&] {
        if (partition.ranks() != comm.size())
            throw InputError(
                fmt::format("the partition is for {} ranks, the communicator has {}", partition.ranks(), comm.size()));
        const int rank = comm.rank();
        if (rows.start.size() != static_cast<std::size_t>(partition.rows(rank)) + 1)
            throw InputError(fmt::format("rank {} was given {} rows, its partition has {}", rank,
                                         static_cast<Global>(rows.start.size()) - 1, partition.rows(rank)));
        if (rows.start.front() != 0 || !std::ranges::is_sorted(rows.start) ||
            rows.start.back() != static_cast<Global>(rows.columns.size()))
            throw InputError(
                fmt::format("row offsets of rank {} must start at 0, never fall, and end at its {} columns", rank,
                            rows.columns.size()));
        check_count(rows.values, rows.columns.size());
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i)
            for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k)
                check_entry(partition.rows(), partition.first(rank) + static_cast<Global>(i), rows.columns[k],
                            rows.values[k]);
    });
}

bool columns_increase(const LocalRows<double>& rows) {
    for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
        const auto begin = rows.columns.begin() + rows.start[i], end = rows.columns.begin() + rows.start[i + 1];
        if (std::adjacent_find(begin, end, std::greater_equal{}) != end) return false;
    }
    return true;
}

LocalRows<double> sorted(Global first, const LocalRows<double>& rows) {
    std::vector<std::vector<Entry<double>>> entries(1);
    entries[0].reserve(rows.columns.size());
    for (std::size_t i = 0; i + 1 < rows.start.size(); ++i)
        for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k)
            entries[0].push_back({first + static_cast<Global>(i), rows.columns[k], rows.values[k]});
    return compress(first, rows.rows(), std::move(entries));
}

/// Collective. Rows that follow those of the rank before.
Partition partition_of(const Comm& comm, std::size_t offsets) {
    agree(comm, [&] {
        if (offsets == 0)
            throw InputError(fmt::format("rank {} was given no row offsets: no rows have the offset 0", comm.rank()));
    });
    std::vector<Global> first{0};
    for (const Global rows : all_gather(comm, static_cast<Global>(offsets) - 1)) first.push_back(first.back() + rows);
    std::optional<Partition> partition;
    agree(comm, [&] { partition.emplace(std::move(first)); });
    return std::move(*partition);
}

}  // namespace

struct LinearSystem::Parts {
    Parts(Comm& on, DistributedRows matrix, Source given, SystemOptions asked);

    void take(DistributedRows& matrix);
    void make_preconditioner();
    void check(const std::string& method) const;
    void check_vectors(MultiVector<const double> b, MultiVector<double> x, int columns) const;

    Comm& comm;
    SystemOptions options;
    PrepareSteps steps;
    Source source;
    Partition partition;
    Structure structure;
    bool negated = false;
    std::unique_ptr<PreparedSystem> prepared;
    Current preconditioner;
    double precond_seconds = 0;
    int updates = 0;  // of the values
};

LinearSystem::Parts::Parts(Comm& on, DistributedRows matrix, Source given, SystemOptions asked)
    : comm(on),
      options(std::move(asked)),
      steps(parse_prepare(options.prepare)),
      source(std::move(given)),
      partition(matrix.partition) {
    if (options.threads == 0) options.threads = default_threads(comm);
    limit_threads(options.threads);
    take(matrix);
    prepared = std::make_unique<PreparedSystem>(comm, std::move(matrix), steps, structure.symmetric(), options.threads,
                                                options.storage);
    make_preconditioner();
}

/// Looks at a matrix and makes it one that methods for SPD matrices take, where there is one.
void LinearSystem::Parts::take(DistributedRows& matrix) {
    structure = analyse(comm, matrix, options.threads);
    for (const auto& method : options.methods) check(method);
    negated = structure.negative();
    if (negated)  // x and every residual are the same
        for (double& value : matrix.rows.values) value = -value;
}

void LinearSystem::Parts::make_preconditioner() {
    const auto before = Clock::now();
    preconditioner.set(nullptr);  // never two at a time
    preconditioner.set(prepared->preconditioner(options.precond));
    precond_seconds = to_seconds(Clock::now() - before);
    for (const auto& method : options.methods) check(method);
}

void LinearSystem::Parts::check(const std::string& text) const {
    const Spec spec = parse_spec(text);
    const Method& method = find_method(spec.name);
    (void)Options(spec, method.options);
    const auto* M = preconditioner.get();
    if (M && M->varies()) check_flexible(text, parse_spec(options.precond).name);
    if (options.insist || method.needs == Needs::any) return;
    if (!structure.symmetric())
        throw InputError(
            fmt::format("{} needs a symmetric matrix, and this one is not: entries differ from their mirror images "
                        "by up to {:.1e} of the largest of row and column (--insist runs it all the same)",
                        method.name, structure.asymmetry));
    if (M && !M->symmetric() && !method.flexible(Options(spec, method.options)))
        throw InputError(
            fmt::format("{} needs a symmetric preconditioner, and {} is not (--insist runs it all the "
                        "same)",
                        method.name, options.precond));
}

void LinearSystem::Parts::check_vectors(MultiVector<const double> b, MultiVector<double> x, int columns) const {
    const Index rows = partition.rows(comm.rank());
    agree(comm, [&] {
        for (const auto& [name, found_rows, found_columns] :
             {std::tuple("b", b.rows(), b.columns()), std::tuple("x", x.rows(), x.columns())})
            if (found_rows != rows || found_columns != columns)
                throw InputError(fmt::format("{} is {} × {} on rank {}; it should be {} × {}", name, found_rows,
                                             found_columns, comm.rank(), rows, columns));
        const std::less<const double*> before;
        if (b.size() > 0 && before(b.data(), x.data() + x.size()) && before(x.data(), b.data() + b.size()))
            throw InputError("x overlaps b: the solution needs a place of its own");
    });
}

LinearSystem LinearSystem::load(Comm& comm, const std::string& name, SystemOptions options) {
    if (options.threads == 0) options.threads = default_threads(comm);
    const auto reading = options.reading;
    const int threads = options.threads;
    return LinearSystem(comm, load_problem(comm, name, threads, reading), std::move(options));
}

LinearSystem::LinearSystem(Comm& comm, DistributedRows matrix, SystemOptions options) {
    check_rows(comm, matrix.partition, matrix.rows);
    agree(comm, [&] {
        const auto& rows = matrix.rows;
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i)
            for (auto k = static_cast<std::size_t>(rows.start[i]) + 1; k < static_cast<std::size_t>(rows.start[i + 1]);
                 ++k)
                if (rows.columns[k] <= rows.columns[k - 1])
                    throw InputError(fmt::format("row {}, column {}: the columns of a row must increase",
                                                 matrix.partition.first(comm.rank()) + static_cast<Global>(i) + 1,
                                                 rows.columns[k] + 1));
    });
    Source again{{}, matrix.rows.columns.size()};
    if (options.keep_entries)
        again.rows = [start = matrix.rows.start, columns = matrix.rows.columns](std::span<const double> values) {
            return LocalRows<double>{start, columns, {values.begin(), values.end()}};
        };
    parts_ = std::make_unique<Parts>(comm, std::move(matrix), std::move(again), std::move(options));
}

LinearSystem LinearSystem::from_rows(Comm& comm, std::vector<Global> start, std::vector<Global> columns,
                                     std::span<const double> values, SystemOptions options) {
    auto partition = partition_of(comm, start.size());
    LocalRows<double> given{std::move(start), std::move(columns), {values.begin(), values.end()}};
    check_rows(comm, partition, given);
    if (all_of(comm, columns_increase(given)))
        return {comm, DistributedRows{std::move(partition), std::move(given)}, std::move(options)};
    const Global first = partition.first(comm.rank());
    DistributedRows matrix{partition, sorted(first, given)};
    Source again{{}, given.columns.size()};
    if (options.keep_entries) {
        given.values = {};
        again.rows = [given = std::move(given), first](std::span<const double> now) {
            return sorted(first, {given.start, given.columns, {now.begin(), now.end()}});
        };
    }
    return LinearSystem(std::make_unique<Parts>(comm, std::move(matrix), std::move(again), std::move(options)));
}

LinearSystem LinearSystem::from_entries(Comm& comm, Global rows, std::vector<Entry<double>> entries,
                                        SystemOptions options) {
    if (all_min(comm, rows) != all_max(comm, rows))
        throw InputError(fmt::format("the ranks disagree on the number of rows: {} to {}", all_min(comm, rows),
                                     all_max(comm, rows)));
    if (rows < 0) throw InputError(fmt::format("a matrix of {} rows", rows));
    auto partition = Partition::even(rows, comm.size());
    agree(comm, [&] {
        for (const auto& [row, column, value] : entries) check_entry(rows, row, column, value);
    });
    Source again{{}, entries.size()};
    if (options.keep_entries)
        again.rows = [&comm, partition, entries](std::span<const double> values) {
            auto now = entries;
            for (std::size_t k = 0; k < values.size(); ++k) now[k].value = values[k];
            return assemble(comm, partition, std::move(now));
        };
    DistributedRows matrix{partition, assemble(comm, partition, std::move(entries))};
    return LinearSystem(std::make_unique<Parts>(comm, std::move(matrix), std::move(again), std::move(options)));
}

LinearSystem::LinearSystem(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LinearSystem::LinearSystem(LinearSystem&&) noexcept = default;
LinearSystem& LinearSystem::operator=(LinearSystem&&) noexcept = default;
LinearSystem::~LinearSystem() = default;

Result LinearSystem::solve(MultiVector<const double> b, MultiVector<double> x, SolveOptions options) {
    return solver(std::move(options), b.columns()).solve(b, x);
}

SystemSolver LinearSystem::solver(SolveOptions options, int columns) {
    check(options.method);
    return {*parts_, std::move(options), columns};
}

SystemSolver::SystemSolver(LinearSystem::Parts& parts, SolveOptions options, int columns)
    : parts_(&parts), updates_(parts.updates), columns_(columns), solver_([&] {
          options.threads = parts.options.threads;
          const auto& A = parts.prepared->matrix();
          const auto& M = parts.preconditioner;
          return Solver<double>(parts.comm, A, M.get() ? AnyOperator<double>(M) : AnyOperator<double>(), A.local_rows(),
                                columns, options);
      }()) {}

const Result& SystemSolver::solve(MultiVector<const double> b, MultiVector<double> x) {
    parts_->check_vectors(b, x, columns_);
    if (std::exchange(updates_, parts_->updates) != parts_->updates) solver_.forget();
    const auto& prepared = *parts_->prepared;
    if (!prepared.moved() && !parts_->negated) return solver_.solve(b, x);
    auto moved_b = prepared.forward(b.values(), columns_), moved_x = prepared.forward(x.values(), columns_);
    if (parts_->negated)
        for (double& value : moved_b) value = -value;
    const Index rows = prepared.matrix().local_rows();
    const auto& result = solver_.solve({moved_b.data(), rows, columns_}, {moved_x.data(), rows, columns_});
    std::ranges::copy(prepared.back(moved_x, columns_), x.data());
    return result;
}

void LinearSystem::check(const std::string& method) const { parts_->check(method); }

void LinearSystem::update_values(std::span<const double> values) {
    auto& parts = *parts_;
    agree(parts.comm, [&] {
        if (!parts.source.rows) throw InputError("update_values needs a system that keeps its entries (keep_entries)");
        check_count(values, parts.source.entries);
    });
    DistributedRows matrix{parts.partition, parts.source.rows(values)};
    check_rows(parts.comm, matrix.partition, matrix.rows);
    parts.take(matrix);
    parts.prepared->update(std::move(matrix), parts.structure.symmetric());
    parts.make_preconditioner();
    ++parts.updates;
}

Comm& LinearSystem::comm() const { return parts_->comm; }
int LinearSystem::threads() const { return parts_->options.threads; }
const Partition& LinearSystem::partition() const { return parts_->partition; }
Index LinearSystem::local_rows() const { return parts_->partition.rows(parts_->comm.rank()); }
Global LinearSystem::rows() const { return parts_->partition.rows(); }
const Structure& LinearSystem::structure() const { return parts_->structure; }
bool LinearSystem::negated() const { return parts_->negated; }
const CsrMatrix<double>& LinearSystem::matrix() const { return parts_->prepared->matrix(); }
const Preconditioner* LinearSystem::preconditioner() const {
    return parts_->preconditioner.get() ? &parts_->preconditioner : nullptr;
}
const PartitionQuality& LinearSystem::partition_quality() const { return parts_->prepared->partition_quality(); }
double LinearSystem::precond_seconds() const { return parts_->precond_seconds; }

std::vector<std::string> LinearSystem::remarks(int columns) const {
    const auto& structure = parts_->structure;
    const auto& dealt = partition_quality();
    auto all = structure.lines();
    all.push_back("hint: " + structure.hint());
    if (negated()) all.emplace_back("negative diagonal: −A x = −b is solved, which has the same x and residual");
    if (comm().size() > 1)
        all.push_back(fmt::format("partition: edge cut {}, halo {} rows, imbalance {:.3f}", dealt.edge_cut, dealt.halo,
                                  dealt.imbalance));
    std::ranges::move(parts_->prepared->remarks(), std::back_inserter(all));
    if (matrix().nonzeros() > 0)
        all.push_back(report_storage(matrix(), columns).in_words(parts_->options.storage.name()));
    if (const auto* M = preconditioner()) std::ranges::move(M->remarks(), std::back_inserter(all));
    return all;
}

RunInfo LinearSystem::info(int columns) const {
    const auto* M = preconditioner();
    RunInfo info;
    info.precond = parts_->options.precond;
    info.prepare = parts_->options.prepare;
    info.rows = rows();
    info.nonzeros = matrix().nonzeros();
    info.columns = columns;
    info.threads = threads();
    info.precond_seconds = all_max(comm(), precond_seconds());
    info.precond_bytes = all_sum(comm(), M ? M->stored() : 0.0);
    info.remarks = remarks(columns);
    info.structure = to_json(structure());
    info.partition = to_json(partition_quality());
    info.storage = to_json(report_storage(matrix(), columns));
    return info;
}

}  // namespace stretto
