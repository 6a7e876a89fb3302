// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/linear_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "../sparse/assemble.hpp"
#include "given_rows.hpp"
#include "linear_system_parts.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/describe.hpp"

namespace stretto {
namespace {

/// Values that an iteration reads on this rank, with some vectors: what threads may share.
template <class Rows>
double values_of_iteration(const Rows& rows, int columns) {
    constexpr double vectors = 5;
    return static_cast<double>(rows.columns.size()) + vectors * columns * static_cast<double>(rows.rows());
}

}  // namespace

template <class Matrix>
LinearSystem::Parts::Parts(Comm& on, Matrix matrix, GivenValues given, SystemOptions asked)
    : comm(on),
      options(std::move(asked)),
      source(std::move(given)),
      partition(matrix.partition),
      null_space(comm, options.null_space, partition) {
    if (options.threads == 0) {
        busy = busy_elsewhere(comm);
        options.threads = default_threads(comm, values_of_iteration(matrix.rows, options.columns));
    }
    limit_threads(options.threads);
    threads = options.threads;
    if (comm.reproducible()) check_reproducible();
    check_open(options.precond == automatic || std::ranges::count(options.methods, automatic) > 0);
    if (options.device) options.threads = options.device->parts(threads);
    if (options.device && !options.device->is_host() && parse_prepare(options.prepare).equilibrate)
        throw InputError(fmt::format("--prepare equilibrate is not for the device {}: leave it out, or --device cpu",
                                     options.device->name()));
    look(matrix);
    prepared = prepare(std::move(matrix));
    null_space.look(structure, *prepared, options.threads);
    choose();
}

/// Whether a method or the preconditioner is left to be chosen, which takes the processor's threads.
void LinearSystem::Parts::check_open(bool open) const {
    if (open && options.device)
        throw InputError(
            fmt::format("{}: what is chosen by its times is for the processor's threads: name method and "
                        "preconditioner, for example --method cg --precond jacobi",
                        options.device->asked()));
}

/// What would be another on another number of ranks, or in another run.
void LinearSystem::Parts::check_reproducible() const {
    const auto steps = parse_prepare(options.prepare);
    if (options.precond == automatic)
        throw InputError(
            "auto chooses by times, which are others in every run: for what is reproducible name a "
            "preconditioner, none, jacobi or chebyshev");
    using Forms = RowForms<double>;
    for (std::size_t f = 0; f < Forms::size; ++f)
        if (options.storage.name() == Forms::names[f] && !Forms::in_order[f])
            throw InputError(
                fmt::format("--storage {}: its rows are not added up in the order of columns, and not reproducible: "
                            "leave it out",
                            Forms::names[f]));
    if (steps.rcm || steps.metis)
        throw InputError(
            fmt::format("--prepare {}: the order of rows is another on another number of ranks, and "
                        "not reproducible: leave it out",
                        steps.rcm ? "rcm" : "metis"));
    if (options.device && !options.device->is_host())
        throw InputError(
            fmt::format("sums on the device {} are the same in every run, but not on any number of ranks: --device cpu",
                        options.device->name()));
}

template <class Matrix>
void LinearSystem::Parts::look(const Matrix& matrix) {
    structure = analyse(comm, matrix, options.threads);
    if (choice.method.empty()) choose_by_structure();
    for (const auto& method : options.methods) check(method);
    negated = structure.negative();
}

/// Makes it, looked at, one that methods for SPD matrices take, where there is one.
void LinearSystem::Parts::take(DistributedRows& matrix) const {
    if (negated)  // x and every residual are the same
        for (double& value : matrix.rows.values) value = -value;
}

std::unique_ptr<PreparedSystem> LinearSystem::Parts::prepare(DistributedRows matrix) const {
    take(matrix);
    return std::make_unique<PreparedSystem>(comm, std::move(matrix), parse_prepare(options.prepare),
                                            structure.symmetric(), options.threads, options.storage);
}

std::unique_ptr<PreparedSystem> LinearSystem::Parts::prepare(const DistributedGivenRows& matrix) const {
    if (negated || !options.prepare.empty()) return prepare(DistributedRows{matrix.partition, copy_of(matrix.rows)});
    return std::make_unique<PreparedSystem>(comm, matrix, options.threads, options.storage);
}

/// For the values that the matrix has now.
void LinearSystem::Parts::make_preconditioner() {
    const auto before = Clock::now();
    if (options.device) options.device->check(options.precond, prepared->matrix());
    if (!preconditioner.update(std::exchange(solves, 0))) {
        preconditioner.set(nullptr);  // never two at a time
        preconditioner.set(prepared->preconditioner(options.precond));
    }
    precond_seconds = to_seconds(Clock::now() - before);
    for (const auto& method : options.methods) check(method);
}

void LinearSystem::Parts::check(const std::string& asked) const {
    const std::string text = asked == automatic ? choice.method : without_automatic(asked);
    if (comm.reproducible() && text != asked)
        throw InputError(fmt::format(
            "--method {} chooses by times, which are others in every run: for what is reproducible say which", asked));
    const auto chosen = choose_method(text);
    const Method& method = *chosen.method;
    const auto* M = preconditioner.get();
    if (M && M->varies()) check_flexible(text, parse_spec(options.precond).name);
    std::optional<PreconditionerChoice> named;
    if (options.precond != automatic) named = choose_preconditioner(options.precond, MatrixKind::sparse);
    if (named) check_transpose(method, *named->kind);
    if (options.insist || method.needs == Needs::any) return;
    if (!structure.symmetric())
        throw InputError(
            fmt::format("{} needs a symmetric matrix, and this one is not: entries differ from their mirror images "
                        "by up to {:.1e} of the largest of row and column (--insist runs it all the same)",
                        method.name, structure.asymmetry));
    const bool symmetric = M ? M->symmetric() : !named || named->symmetric();
    if (!symmetric && !method.flexible(chosen.options))
        throw InputError(
            fmt::format("{} needs a symmetric preconditioner, and {} is not (--insist runs it all the "
                        "same)",
                        method.name, options.precond));
}

void LinearSystem::Parts::check_vectors(MultiVector<const double> b, MultiVector<double> x, int columns) const {
    if (!complete) throw InputError("the last update_values failed: the system waits for other values");
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
    const auto reading = options.reading;
    const int threads = options.threads > 0 ? options.threads : default_threads(comm);
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
    GivenValues again{{}, matrix.rows.columns.size()};
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
    GivenValues again{{}, given.columns.size()};
    if (options.keep_entries) {
        given.values = {};
        again.rows = [given = std::move(given), first](std::span<const double> now) {
            return sorted(first, {given.start, given.columns, {now.begin(), now.end()}});
        };
    }
    return LinearSystem(std::make_unique<Parts>(comm, std::move(matrix), std::move(again), std::move(options)));
}

LinearSystem LinearSystem::over_rows(Comm& comm, std::span<const Index> start, std::span<const Index> columns,
                                     std::span<const double> values, SystemOptions options) {
    const GivenRows<double> given{start, columns, values};
    auto partition = partition_of(comm, start.size());
    check_rows(comm, partition, given);
    if (!all_of(comm, columns_increase(given))) return from_rows(comm, start, columns, values, std::move(options));
    GivenValues again{{}, columns.size()};
    if (options.keep_entries)
        again.rows = [given](std::span<const double> now) {
            return copy_of(GivenRows<double>{given.start, given.columns, now});
        };
    return LinearSystem(std::make_unique<Parts>(comm, DistributedGivenRows{std::move(partition), given},
                                                std::move(again), std::move(options)));
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
    GivenValues again{{}, entries.size()};
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
    auto solver = this->solver(std::move(options), b.columns());
    Result result = solver.solve(b, x);
    result.next = solver.next();
    return result;
}

Result LinearSystem::solve(const VectorsThere& b, const VectorsThere& x, SolveOptions options) {
    auto solver = this->solver(std::move(options), b.columns);
    Result result = solver.solve(b, x);
    result.next = solver.next();
    return result;
}

SystemSolver LinearSystem::solver(SolveOptions options, int columns) & {
    check(options.method);
    parts_->settle(options.method, columns);
    return {*parts_, std::move(options), columns};
}

const Choice& LinearSystem::choice() const { return parts_->choice; }
void LinearSystem::check(const std::string& method) const { parts_->check(method); }

void LinearSystem::update_values(std::span<const double> values) {
    auto& parts = *parts_;
    agree(parts.comm, [&] {
        if (!parts.source.rows) throw InputError("update_values needs a system that keeps its entries (keep_entries)");
        check_count(values, parts.source.entries);
    });
    follow({parts.partition, parts.source.rows(values)});
}

void LinearSystem::update_rows(LocalRows<double> given) {
    auto& parts = *parts_;
    check_rows(parts.comm, parts.partition, given);
    if (!all_of(parts.comm, columns_increase(given))) given = sorted(parts.partition.first(parts.comm.rank()), given);
    follow({parts.partition, std::move(given)});
}

/// Has the values of this matrix from now on.
void LinearSystem::follow(DistributedRows matrix) {
    auto& parts = *parts_;
    check_rows(parts.comm, matrix.partition, matrix.rows);
    parts.complete = false;
    parts.not_definite = false;
    parts.look(matrix);
    parts.take(matrix);
    parts.prepared->update(std::move(matrix), parts.structure.symmetric());
    parts.null_space.look(parts.structure, *parts.prepared, parts.options.threads);
    parts.make_preconditioner();
    parts.complete = true;
    ++parts.updates;
}

Comm& LinearSystem::comm() const { return parts_->comm; }
int LinearSystem::threads() const { return parts_->threads; }
const Partition& LinearSystem::partition() const { return parts_->partition; }
Index LinearSystem::local_rows() const { return parts_->partition.rows(parts_->comm.rank()); }
Global LinearSystem::rows() const { return parts_->partition.rows(); }
const Structure& LinearSystem::structure() const { return parts_->structure; }
bool LinearSystem::negated() const { return parts_->negated; }
const CsrMatrix<double>& LinearSystem::matrix() const { return parts_->prepared->matrix(); }
const NullSpace* LinearSystem::null_space() const { return parts_->null_space.removed(); }
std::vector<double> LinearSystem::outside_range(MultiVector<const double> b) const {
    return parts_->null_space.outside_range(*parts_->prepared, b.values(), b.columns());
}
const Preconditioner* LinearSystem::preconditioner() const {
    return parts_->preconditioner.get() ? &parts_->preconditioner : nullptr;
}
const PartitionQuality& LinearSystem::partition_quality() const { return parts_->prepared->partition_quality(); }
double LinearSystem::precond_seconds() const { return parts_->precond_seconds; }

std::vector<std::string> LinearSystem::remarks(int columns) const {
    const auto& structure = parts_->structure;
    const auto& dealt = partition_quality();
    auto all = structure.lines();
    // What is chosen says more, and a device may not have what a hint names.
    if (!parts_->chosen_precond && (!parts_->options.device || parts_->options.device->is_host()))
        all.push_back("hint: " + hint(structure, comm().size()));
    std::ranges::move(parts_->null_space.remarks(), std::back_inserter(all));
    if (negated()) all.emplace_back("negative diagonal: −A x = −b is solved, which has the same x and residual");
    constexpr double noticeable = 0.7;
    if (parts_->busy > noticeable)
        all.push_back(
            fmt::format("other programs keep {:.1f} cores busy: threads are for the others (--threads)", parts_->busy));
    if (const auto* device = parts_->options.device)
        all.push_back(fmt::format("{}{}: {}", device->is_host() ? "" : "device ", device->name(), device->title()));
    if (comm().size() > 1)
        all.push_back(fmt::format("partition: edge cut {}, halo {} rows, imbalance {:.3f}", dealt.edge_cut, dealt.halo,
                                  dealt.imbalance));
    std::ranges::move(parts_->prepared->remarks(), std::back_inserter(all));
    if (matrix().nonzeros() > 0)
        all.push_back(report_storage(matrix(), columns).in_words(parts_->options.storage.name()));
    if (const auto* M = preconditioner()) std::ranges::move(M->remarks(), std::back_inserter(all));
    return all;
}

RunInfo LinearSystem::info(const SolveOptions& options, int columns) const {
    const auto* M = preconditioner();
    RunInfo info;
    info.method = options.method == automatic ? choice().method : options.method;
    info.rtol = options.rtol;
    info.atol = options.atol;
    info.max_iterations = options.max_iterations;
    info.formulation = options.formulation == Formulation::basic ? "basic" : "merged";
    info.precond = parts_->options.precond;
    info.prepare = parts_->options.prepare;
    if (parts_->options.device) info.device = parts_->options.device->name();
    info.rows = rows();
    info.nonzeros = matrix().nonzeros();
    info.columns = columns;
    info.threads = threads();
    info.ranks = comm().size();
    info.reproducible = comm().reproducible();
    info.precond_seconds = all_max(comm(), precond_seconds());
    info.precond_bytes = all_sum(comm(), M ? M->stored() : 0.0);
    if (const auto sizes = M ? M->level_sizes() : std::nullopt) info.multigrid = to_json(*sizes);
    info.remarks = remarks(columns);
    info.structure = to_json(structure(), comm().size());
    info.null_space = parts_->null_space.json();
    info.partition = to_json(partition_quality());
    info.storage = to_json(report_storage(matrix(), columns));
    return info;
}

}  // namespace stretto
