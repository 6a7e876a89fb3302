// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/dense_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernel_residual.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/choice.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto {
namespace {

constexpr OptionInfo of_hmatrix[] = {
    {"epsilon", 1e-6, 1e-15, 0.5, "‖B − UVᵀ‖ ≤ ε‖B‖ for every block"},
    {"eta", 2, 1e-3, 1e3, "blocks are admissible where min(diam) ≤ η·dist"},
    {"leaf", 64, panel_rows, 1e6, "clusters of more points are cut", true},
    {"bisection", 0, 0, 1, "how: geometric or principal (axis)", true, bisection_names},
    {"pivoting", 1, 0, 1, "aca or aca+", true, pivoting_names},
    {"precision", 0, 0, 2, "auto: numbers as short as ε allows, down to 8 bits; double; or single where ε allows", true,
     precision_names},
    {"memory", 0, 0, 1e9, "GB that a rank may use; 0: its share of what is free"}};

/// The share of this rank in the free memory of its node.
double share_of_memory(const Comm& comm) { return 0.9 * free_memory() / ranks_on_node(comm); }

/// What `hmatrix` asks for.
HMatrixOptions read_options(const Comm& comm, const DenseOptions& asked, double growth, int threads) {
    const Spec spec = parse_spec(asked.hmatrix.empty() ? "hmatrix" : "hmatrix:" + asked.hmatrix);
    const Options chosen(spec, of_hmatrix);
    const bool given = std::ranges::any_of(spec.options, [](const auto& option) { return option.first == "epsilon"; });
    HMatrixOptions options;
    options.epsilon = chosen.number("epsilon");
    if (!given) options.epsilon = std::clamp((asked.rtol > 0 ? asked.rtol : options.epsilon) / growth, 1e-15, 0.5);
    options.eta = chosen.number("eta");
    options.leaf = static_cast<Index>(chosen.number("leaf"));
    options.bisection = static_cast<Bisection>(chosen.number("bisection"));
    options.pivoting = static_cast<Pivoting>(chosen.number("pivoting"));
    options.precision = static_cast<Precision>(chosen.number("precision"));
    options.threads = threads;
    options.memory_limit = chosen.number("memory") > 0 ? 1e9 * chosen.number("memory") : share_of_memory(comm);
    return options;
}

}  // namespace

std::span<const OptionInfo> hmatrix_options() { return of_hmatrix; }

std::unique_ptr<const DenseMatrix> kernel_matrix(const std::string& spec, std::vector<Point> points) {
    auto matrix = std::make_unique<DenseMatrix>();
    matrix->geometry.points = std::move(points);
    matrix->fill = make_kernel(spec, matrix->geometry.points);
    const auto kind = std::ranges::find(kernel_kinds(), parse_spec(spec).name, &KernelKind::name);
    matrix->symmetric = true;
    matrix->positive_definite = kind->positive_definite;
    // ‖A‖‖x‖/‖b‖ is large where noise is to be fitted: 500 times ε was the most with the default nugget, up to 20,000
    // points in two dimensions.
    if (matrix->positive_definite) matrix->error_growth = 1000;
    return matrix;
}

/// The usual choice.
static NextStep choice_for(const DenseMatrix& matrix) {
    if (matrix.is_complex()) return {"gmres", "block_jacobi", {}, {}, false, "complex, and not hermitian"};
    return dense_choice(matrix.symmetric, matrix.positive_definite);
}

NextStep chosen_for(const DenseMatrix& matrix, NextStep step) {
    auto choice = choice_for(matrix);
    if (step.precond == automatic) step.precond = choice.precond;
    const auto precond = choose_preconditioner(step.precond, MatrixKind::hierarchical);
    if (precond.kind->varies)
        choice.method = "gmres:flexible=1";
    else if (!precond.symmetric())
        choice.method = "bicgstab";
    if (step.method == automatic) step.method = choice.method;
    return step;
}

struct DenseSystem::Parts {
    Parts(Comm& on, const DenseMatrix& of, DenseOptions asked)
        : comm(on),
          matrix(of),
          options(std::move(asked)),
          threads(options.threads > 0 ? options.threads : default_threads(on)) {
        limit_threads(threads);
        options.precond = chosen_for(matrix, {.precond = options.precond}).precond;
        if (options.device && matrix.is_complex())
            throw InputError(
                fmt::format("complex systems are solved on the processor: leave out {}", options.device->asked()));
        check_layout();
        if (options.device) options.device->check_hierarchical(options.precond);
        const auto& kind = *choose_preconditioner(options.precond, MatrixKind::hierarchical).kind;
        if (options.layout.replicated && !kind.replicated)
            throw InputError(fmt::format(
                "the preconditioner {} needs --layout distributed; block_jacobi works with both", kind.name));
        for (const auto& method : options.methods) check(method);
        compression = read_options(comm, options, matrix.error_growth, threads);
        compression.symmetric = matrix.symmetric;
        compression.interrupt = options.interrupt;
        compression.progress = options.progress;
        if (options.announce)
            compression.announce = [this](const HMatrixEstimate& estimate) {
                options.announce(estimate, compression.memory_limit);
            };
        std::visit([&](const auto& fill) { A.emplace(comm, matrix.geometry, fill, compression); }, matrix.fill);
        const auto before = Clock::now();
        M = make_preconditioner(
            options.precond, *A,
            {&matrix.geometry, std::get_if<Fill>(&matrix.fill), compression, options.layout.replicated});
        precond_seconds = to_seconds(Clock::now() - before);
        whole.emplace(*A, options.interrupt, options.layout.hiding == Hiding::gather);
        rows = options.layout.replicated ? static_cast<Index>(A->rows()) : A->local_rows();
    }

    void check_layout() const {
        const auto& [replicated, devices, shared, hiding] = options.layout;
        if (devices < 1 || devices > most_devices)
            throw InputError(fmt::format("--devices {}: a rank has 1 to {}", devices, most_devices));
        if (devices > 1 && !options.device)
            throw InputError(fmt::format("--devices {} needs --device cuda or emulated", devices));
        if (devices > 1 && !replicated)
            throw InputError(fmt::format(
                "--devices {} needs --layout replicated; with distributed vectors every rank has a device of its own",
                devices));
        if (shared && devices == 1)
            throw InputError("--device-vectors shared needs several devices of a rank: --devices 2 or more");
        const auto name = hiding_names[static_cast<std::size_t>(hiding)];
        if (hiding != Hiding::gather && !replicated)
            throw InputError(fmt::format("--hiding {} needs --layout replicated", name));
        if (hiding == Hiding::copies && !options.device)
            throw InputError(
                fmt::format("--hiding {} needs --device cuda or emulated: there are no copies to hide", name));
    }

    void check(const std::string& asked) const {
        const auto& method =
            *choose_method(chosen_for(matrix, {.method = asked, .precond = options.precond}).method).method;
        const bool fits = method.needs == Needs::any ||
                          (method.needs == Needs::symmetric ? matrix.hermitian() : matrix.positive_definite);
        if (!fits && !options.insist)
            throw InputError(fmt::format(
                "{} needs a {} matrix, and this one need not be: {} takes it (--insist runs {} all the same)",
                method.name, name(method.needs), choice_for(matrix).method, method.name));
        const auto& kind = *choose_preconditioner(options.precond, MatrixKind::hierarchical).kind;
        check_transpose(method, kind);
        if (method.transpose && options.layout.devices > 1)
            throw InputError(fmt::format(
                "{} multiplies with the transposed matrix, which several devices of a rank do not: --devices 1",
                method.name));
        if (kind.varies && asked != automatic) check_flexible(asked, std::string(kind.name));
    }

    void check(MultiVector<const double> x, const char* name) const {
        if (x.rows() != A->rows())
            throw InputError(fmt::format("{} has {} rows, the matrix has {}: vectors are whole on every rank", name,
                                         x.rows(), A->rows()));
        if (matrix.is_complex() && x.columns() % 2 != 0)
            throw InputError(
                fmt::format("the matrix is complex: {} is to be of std::complex<double>, or of real columns "
                            "in pairs",
                            name));
    }

    Index number(Index i) const {
        return options.layout.replicated ? A->tree().order()[static_cast<std::size_t>(i)] : A->original(i);
    }

    /// The rows that methods have here, in the order of the clusters.
    std::vector<double> clustered(MultiVector<const double> x) const {
        std::vector<double> mine;
        mine.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(x.columns()));
        for (Index i = 0; i < rows; ++i)
            for (int c = 0; c < x.columns(); ++c) mine.push_back(x(number(i), c));
        return mine;
    }

    /// All of a vector, in the order of the points.
    void in_order(std::vector<double>& mine, MultiVector<double> x) const {
        if (!options.layout.replicated) {
            std::ranges::copy(A->gather({mine.data(), rows, x.columns()}), x.data());
            return;
        }
        const MultiVector<const double> from(mine.data(), rows, x.columns());
        for (Index i = 0; i < rows; ++i)
            for (int c = 0; c < x.columns(); ++c) x(number(i), c) = from(i, c);
    }

    Result solve(const std::vector<double>& b, std::vector<double>& x, int columns, const SolveOptions& asked) {
        const MultiVector<const double> rhs(b.data(), rows, columns);
        const MultiVector<double> solution(x.data(), rows, columns);
        if (options.device)
            return options.device->solver(*A, M.get(), options.layout, columns, asked)->solve(rhs, solution, false);
        SolveOptions own = asked;
        if (options.layout.replicated) own.interrupt = &whole->interrupted();
        if (!matrix.is_complex()) return solve_for<double>(rhs, solution, own);
#if STRETTO_COMPLEX
        using Complex = std::complex<double>;
        return solve_for<Complex>({reinterpret_cast<const Complex*>(b.data()), rows, columns / 2}, from_pairs(solution),
                                  own);
#else
        throw InputError("the matrix is complex, and this library was built without complex numbers");
#endif
    }
    template <class T>
    Result solve_for(MultiVector<const T> b, MultiVector<T> x, const SolveOptions& asked) {
        const auto of_A = options.layout.replicated ? AnyOperator<T>(*whole) : AnyOperator<T>(*A);
        const auto of_M = M ? AnyOperator<T>(*M) : AnyOperator<T>();
        return stretto::solve<T>(options.layout.replicated ? alone : comm, of_A, of_M, b, x, asked);
    }

    Comm& comm;
    const DenseMatrix& matrix;
    DenseOptions options;
    int threads;
    HMatrixOptions compression;
    std::optional<HMatrix> A;
    std::unique_ptr<Preconditioner> M;
    double precond_seconds = 0;
    std::optional<Replicated> whole;
    MpiComm alone{MPI_COMM_SELF};
    Index rows = 0;  // that methods have here
    std::vector<double> kernel_residuals;
};

DenseSystem::DenseSystem(Comm& comm, const DenseMatrix& matrix, DenseOptions options)
    : parts_(std::make_unique<Parts>(comm, matrix, std::move(options))) {}
DenseSystem::DenseSystem(DenseSystem&&) noexcept = default;
DenseSystem::~DenseSystem() = default;

Result DenseSystem::solve(MultiVector<const double> b, MultiVector<double> x, SolveOptions options) {
    auto& own = *parts_;
    own.check(b, "b");
    own.check(x, "x");
    if (b.columns() != x.columns())
        throw InputError(fmt::format("b has {} columns, x has {}", b.columns(), x.columns()));
    own.check(options.method);
    options.method = chosen_for(own.matrix, {.method = options.method, .precond = own.options.precond}).method;
    options.threads = own.threads;
    auto solution = own.clustered(x);
    auto result = own.solve(own.clustered(b), solution, b.columns(), options);
    own.in_order(solution, x);
    own.kernel_residuals = std::visit(
        [&](const auto& fill) { return stretto::kernel_residuals(*own.A, fill, result, b, x); }, own.matrix.fill);
    const double epsilon = review_by_kernel(own.kernel_residuals, this->epsilon(), options.rtol, options.atol, result);
    result.next = dense_next_steps(choice_for(own.matrix), {.method = options.method, .precond = own.options.precond},
                                   epsilon, options.max_iterations, result);
    if (own.options.layout.replicated || own.matrix.is_complex())  // inner has real vectors that are distributed
        std::erase_if(result.next, [](const NextStep& step) { return step.precond == "inner"; });
    return result;
}

void DenseSystem::apply(MultiVector<const double> x, MultiVector<double> y, bool transposed) const {
    auto& own = *parts_;
    own.check(x, "x");
    own.check(y, "y");
    auto in = own.clustered(x);
    std::vector<double> out(in.size());
    const MultiVector<double> from(in.data(), own.rows, x.columns()), to(out.data(), own.rows, x.columns());
    if (own.options.layout.replicated)
        transposed ? own.whole->apply_transpose(from, to) : own.whole->apply(from, to);
    else
        transposed ? own.A->apply_transpose(from, to) : own.A->apply(from, to);
    own.in_order(out, y);
}

Comm& DenseSystem::comm() const { return parts_->comm; }
const HMatrix& DenseSystem::matrix() const { return *parts_->A; }
const Preconditioner* DenseSystem::preconditioner() const { return parts_->M.get(); }
const std::string& DenseSystem::precond() const { return parts_->options.precond; }
double DenseSystem::epsilon() const { return parts_->compression.epsilon; }
int DenseSystem::threads() const { return parts_->threads; }
const std::vector<double>& DenseSystem::kernel_residuals() const { return parts_->kernel_residuals; }

/// What is said of a layout with several devices.
static std::string in_words(const DenseLayout& layout) {
    if (layout.devices == 1) return {};
    return fmt::format("; {} devices for each rank, {}", layout.devices,
                       layout.shared ? "which share the rows of vectors" : "each of which has all vectors");
}

std::vector<std::string> DenseSystem::remarks(double rtol) const {
    const auto& statistics = matrix().statistics();
    const auto n = static_cast<double>(matrix().rows()),
               values = static_cast<double>(statistics.values) / (matrix().is_complex() ? 2 : 1);
    std::vector<std::string> all{fmt::format(
        "hierarchical matrix: {} dense and {} low-rank blocks ({} of them refilled, mean rank {:.1f}, largest {}); "
        "{:.4g} MB, "
        "{:.3g} % of n², {:.3g} n log₂n; {:.0f} % in single precision, {:.0f} % in 16 bits, {:.0f} % in 8; "
        "compressed in {:.2f} s",
        statistics.dense_blocks, statistics.low_rank_blocks, statistics.refilled,
        statistics.low_rank_blocks > 0
            ? static_cast<double>(statistics.ranks) / static_cast<double>(statistics.low_rank_blocks)
            : 0,
        statistics.max_rank, 1e-6 * statistics.bytes, 100 * values / (n * n), n > 1 ? values / (n * std::log2(n)) : 1,
        100 * statistics.single, 100 * statistics.in_16_bits, 100 * statistics.in_8_bits, statistics.seconds)};
    if (const auto* device = parts_->options.device)
        all.push_back(
            fmt::format("device {}: {}{}", device->name(), device->title(), in_words(parts_->options.layout)));
    if (rtol < epsilon())
        all.push_back(fmt::format(
            "warning: rtol {:.1e} is below ε = {:.1e}: the residual is of the hierarchical matrix; with the kernel "
            "itself about ε ‖A‖‖x‖/‖b‖ is attainable; --hmatrix epsilon={:.0e} attains more",
            rtol, epsilon(), std::max(rtol, 1e-15)));
    return all;
}

RunInfo DenseSystem::info(const SolveOptions& options) const {
    const auto& own = *parts_;
    const auto& statistics = matrix().statistics();
    RunInfo info;
    info.method = chosen_for(own.matrix, {.method = options.method, .precond = own.options.precond}).method;
    if (own.matrix.is_complex()) info.scalar = "complex";
    info.rtol = options.rtol;
    info.atol = options.atol;
    info.max_iterations = options.max_iterations;
    info.formulation = options.formulation == Formulation::basic ? "basic" : "merged";
    info.precond = own.options.precond;
    if (own.options.device) info.device = own.options.device->name();
    info.rows = matrix().rows();
    info.nonzeros = statistics.values / (own.matrix.is_complex() ? 2 : 1);
    info.columns = own.options.columns;
    info.threads = own.threads;
    info.ranks = own.comm.size();
    info.precond_seconds = all_max(own.comm, own.precond_seconds);
    info.precond_bytes = all_sum(own.comm, own.M ? own.M->stored() : 0.0);
    info.structure = nlohmann::ordered_json{{"symmetric", own.matrix.symmetric}}.dump();
    const auto& layout = own.options.layout;
    nlohmann::ordered_json partition{{"layout", layout.replicated ? "replicated" : "distributed"},
                                     {"received", all_sum(own.comm, matrix().received())},
                                     {"imbalance", statistics.largest_rank * own.comm.size() / statistics.bytes}};
    if (layout.replicated) partition["hiding"] = hiding_names[static_cast<std::size_t>(layout.hiding)];
    if (layout.devices > 1) {
        partition["devices"] = layout.devices;
        partition["device_vectors"] = layout.shared ? "shared" : "redundant";
    }
    info.partition = partition.dump();
    info.remarks = remarks(options.rtol);
    if (own.M) std::ranges::move(own.M->remarks(), std::back_inserter(info.remarks));
    return info;
}

}  // namespace stretto
