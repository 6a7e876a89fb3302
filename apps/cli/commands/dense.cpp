// SPDX-License-Identifier: BSD-3-Clause
#include "dense.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "../files.hpp"
#include "../show/print.hpp"
#include "kernel_residual.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/text.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/linear_system.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr OptionInfo hmatrix_options[] = {
    {"epsilon", 1e-6, 1e-15, 0.5, "‖B − UVᵀ‖ ≤ ε‖B‖ for every block"},
    {"eta", 2, 1e-3, 1e3, "blocks are admissible where min(diam) ≤ η·dist"},
    {"leaf", 64, panel_rows, 1e6, "clusters of more points are cut", true},
    {"bisection", 0, 0, 1, "how: geometric or principal (axis)", true, bisection_names},
    {"pivoting", 1, 0, 1, "aca or aca+", true, pivoting_names},
    {"precision", 0, 0, 1, "auto: numbers in single precision where ε allows, or double", true, precision_names},
    {"memory", 0, 0, 1e9, "GB that a rank may use; 0: its share of what is free"}};

/// The share of this rank in the free memory of its node.
double share_of_memory(const Comm& comm) { return 0.9 * free_memory() / ranks_on_node(comm); }

/// What --hmatrix asks for.
HMatrixOptions hmatrix_options_of(const Comm& comm, const DenseArguments& arguments, double growth, int threads) {
    const Spec spec = parse_spec(arguments.hmatrix.empty() ? "hmatrix" : "hmatrix:" + arguments.hmatrix);
    const Options chosen(spec, hmatrix_options);
    const bool given = std::ranges::any_of(spec.options, [](const auto& option) { return option.first == "epsilon"; });
    HMatrixOptions options;
    options.epsilon = chosen.number("epsilon");
    if (!given)
        options.epsilon = std::clamp((arguments.rtol > 0 ? arguments.rtol : options.epsilon) / growth, 1e-15, 0.5);
    options.eta = chosen.number("eta");
    options.leaf = static_cast<Index>(chosen.number("leaf"));
    options.bisection = static_cast<Bisection>(chosen.number("bisection"));
    options.pivoting = static_cast<Pivoting>(chosen.number("pivoting"));
    options.precision = static_cast<Precision>(chosen.number("precision"));
    options.threads = threads;
    options.memory_limit = chosen.number("memory") > 0 ? 1e9 * chosen.number("memory") : share_of_memory(comm);
    return options;
}

/// What precedes the iterations: the matrix, the preconditioner, and vectors in the order of the clusters, this rank's
/// rows or, replicated, all.
class DenseSolve {
public:
    DenseSolve(const Context& context, Comm& comm, const DenseArguments& arguments, const DenseSystem& system,
               std::span<const AskedMethod> methods, ProgressLine& line)
        : comm_(comm),
          arguments_(arguments),
          system_(system),
          threads_(arguments.threads > 0 ? arguments.threads : default_threads(comm)),
          replicated_(arguments.layout == "replicated"),
          precond_(*choose_preconditioner(arguments.precond, MatrixKind::hierarchical).kind) {
        limit_threads(threads_);
        agree(comm, [&] { device_ = find_device(arguments.device); });
        check_precond(methods);
        options_ = hmatrix_options_of(comm, arguments, system.error_growth, threads_);
        options_.symmetric = system.symmetric;
        options_.interrupt = &context.interrupt;
        options_.progress = [&line](double fraction) { line.show_fraction("compressing", fraction); };
        options_.announce = [this](const HMatrixEstimate& estimate) { announce(estimate); };
        try {
            A_.emplace(comm, system.geometry, system.fill, options_);
            const auto before = Clock::now();
            M_ = make_preconditioner(arguments.precond, *A_, {&system.geometry, &system.fill, options_, replicated_});
            precond_seconds_ = to_seconds(Clock::now() - before);
        } catch (const InputError&) {
            line.clear();
            check_interrupt(comm, context.interrupt);
            throw;
        }
        line.clear();
        whole_.emplace(*A_, &context.interrupt);
        rows_ = replicated_ ? static_cast<Index>(A_->rows()) : A_->local_rows();
        for (Index i = 0; i < rows_; ++i)
            for (int c = 0; c < system.columns; ++c) b_.push_back(system.b(number(i), c));
    }

    const HMatrix& matrix() const { return *A_; }
    double epsilon() const { return options_.epsilon; }
    int threads() const { return threads_; }
    bool replicated() const { return replicated_; }
    const Preconditioner* preconditioner() const { return M_.get(); }
    double precond_seconds() const { return precond_seconds_; }
    /// On all ranks.
    double precond_bytes() const { return all_sum(comm_, M_ ? M_->stored() : 0.0); }
    std::size_t size() const { return b_.size(); }
    bool quiet() const { return comm_.rank() != 0 || arguments_.json == "-"; }

    const Accelerator* device() const { return device_; }

    Result solve(const SolveOptions& options, std::vector<double>& x) {
        if (device_)
            return device_->solver(*A_, M_.get(), replicated_, system_.columns, options)
                ->solve({b_.data(), rows_, system_.columns}, {x.data(), rows_, system_.columns}, false);
        SolveOptions own = options;
        own.interrupt = replicated_ ? &whole_->interrupted() : options.interrupt;
        const auto A = replicated_ ? AnyOperator<double>(*whole_) : AnyOperator<double>(*A_);
        const auto M = M_ ? AnyOperator<double>(*M_) : AnyOperator<double>();
        return stretto::solve<double>(replicated_ ? alone_ : comm_, A, M, {b_.data(), rows_, system_.columns},
                                      {x.data(), rows_, system_.columns}, own);
    }

    /// All of a solution, in the order of the points.
    std::vector<double> in_order(const std::vector<double>& x) const {
        if (!replicated_) return A_->gather({const_cast<double*>(x.data()), rows_, system_.columns});
        const auto m = static_cast<std::size_t>(system_.columns);
        std::vector<double> all(x.size());
        for (Index i = 0; i < rows_; ++i)
            std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * m), m,
                        all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(number(i)) * m));
        return all;
    }

    std::vector<std::string> remarks() const;

private:
    void check_precond(std::span<const AskedMethod> methods) const;
    void announce(const HMatrixEstimate& estimate) const;
    Index number(Index i) const {
        return replicated_ ? A_->tree().order()[static_cast<std::size_t>(i)] : A_->original(i);
    }

    Comm& comm_;
    const DenseArguments& arguments_;
    const DenseSystem& system_;
    int threads_;
    bool replicated_;
    const PreconditionerKind& precond_;
    const Accelerator* device_ = nullptr;  // null: the processor
    HMatrixOptions options_;
    std::optional<HMatrix> A_;
    std::unique_ptr<Preconditioner> M_;
    double precond_seconds_ = 0;
    std::optional<Replicated> whole_;
    MpiComm alone_{MPI_COMM_SELF};
    Index rows_ = 0;
    std::vector<double> b_;
};

void DenseSolve::check_precond(std::span<const AskedMethod> methods) const {
    if (device_) device_->check_hierarchical(arguments_.precond);
    if (replicated_ && !precond_.replicated)
        throw InputError(fmt::format("the preconditioner {} needs --layout distributed; block_jacobi works with both",
                                     precond_.name));
    for (const auto& [text, method] : methods) {
        const bool fits = method->needs == Needs::any ||
                          (method->needs == Needs::symmetric ? system_.symmetric : system_.positive_definite);
        if (!fits && !arguments_.insist)
            throw InputError(fmt::format(
                "{} needs a {} matrix, and this one need not be: {} takes it (--insist runs {} all the same)",
                method->name, name(method->needs), dense_choice(system_.symmetric, system_.positive_definite).method,
                method->name));
        if (precond_.varies) check_flexible(text, std::string(precond_.name));
    }
}

void DenseSolve::announce(const HMatrixEstimate& estimate) const {
    if (quiet()) return;
    print_out(
        "{} points: {} dense and {} low-rank blocks, about {:.4g} MB; at most {:.4g} of {:.4g} MB on a rank while "
        "compressing\n",
        system_.geometry.points.size(), estimate.dense_blocks, estimate.low_rank_blocks, 1e-6 * estimate.stored,
        1e-6 * estimate.peak, 1e-6 * options_.memory_limit);
    flush_out();
}

std::vector<std::string> DenseSolve::remarks() const {
    const auto& statistics = A_->statistics();
    const auto n = static_cast<double>(A_->rows()), values = static_cast<double>(statistics.values);
    auto all = system_.remarks;
    all.push_back(fmt::format(
        "hierarchical matrix: {} dense and {} low-rank blocks ({} of them refilled, mean rank {:.1f}, largest {}); "
        "{:.4g} MB, "
        "{:.3g} % of n², {:.3g} n log₂n; {:.0f} % in single precision; compressed in {:.2f} s",
        statistics.dense_blocks, statistics.low_rank_blocks, statistics.refilled,
        statistics.low_rank_blocks > 0
            ? static_cast<double>(statistics.ranks) / static_cast<double>(statistics.low_rank_blocks)
            : 0,
        statistics.max_rank, 1e-6 * statistics.bytes, 100 * values / (n * n), n > 1 ? values / (n * std::log2(n)) : 1,
        100 * statistics.single, statistics.seconds));
    if (device_) all.push_back(fmt::format("device {}: {}", device_->name(), device_->title()));
    if (arguments_.rtol < options_.epsilon)
        all.push_back(fmt::format(
            "warning: rtol {:.1e} is below ε = {:.1e}: the residual is of the hierarchical matrix; with the kernel "
            "itself about ε ‖A‖‖x‖/‖b‖ is attainable; --hmatrix epsilon={:.0e} attains more",
            arguments_.rtol, options_.epsilon, std::max(arguments_.rtol, 1e-15)));
    return all;
}

/// What the JSON and the table's head tell of the run.
RunInfo info_of(const Comm& comm, const DenseArguments& arguments, const DenseSystem& system, const DenseSolve& solve) {
    const auto& A = solve.matrix();
    const auto& statistics = A.statistics();
    RunInfo info;
    info.program = system.program;
    info.problem = arguments.problem;
    info.ranks = comm.size();
    info.options = system.options;
    if (!arguments.hmatrix.empty()) info.options.emplace_back("--hmatrix", shell_word(arguments.hmatrix));
    if (arguments.layout != "distributed") info.options.emplace_back("--layout", arguments.layout);
    if (!arguments.solution.empty()) info.options.emplace_back("--solution", shell_word(arguments.solution));
    if (arguments.device != "cpu") info.options.emplace_back("--device", arguments.device);
    info.device = arguments.device;
    info.precond = arguments.precond;
    info.formulation = arguments.formulation;
    info.latency = arguments.comm.latency;
    info.rows = A.rows();
    info.nonzeros = statistics.values;
    info.columns = system.columns;
    info.threads = solve.threads();
    info.rtol = arguments.rtol;
    info.atol = arguments.atol;
    info.max_iterations = arguments.max_iterations;
    info.precond_seconds = all_max(comm, solve.precond_seconds());
    info.precond_bytes = solve.precond_bytes();
    info.structure = ordered_json{{"symmetric", system.symmetric}}.dump();
    info.partition = ordered_json{{"layout", arguments.layout},
                                  {"received", all_sum(comm, A.received())},
                                  {"imbalance", statistics.largest_rank * comm.size() / statistics.bytes}}
                         .dump();
    info.remarks = solve.remarks();
    return info;
}

ordered_json describe(const DenseSolve& solve, const std::vector<double>& residuals) {
    const auto& statistics = solve.matrix().statistics();
    return {{"epsilon", solve.epsilon()},
            {"bytes", statistics.bytes},
            {"dense_blocks", statistics.dense_blocks},
            {"low_rank_blocks", statistics.low_rank_blocks},
            {"refilled", statistics.refilled},
            {"single", statistics.single},
            {"compression_seconds", statistics.seconds},
            {"kernel_residual", std::ranges::max(residuals)},
            {"kernel_residuals", residuals}};
}

/// Collective. Every rank writes a share.
void write_x(const Comm& comm, const std::string& file, const std::vector<double>& x, int columns) {
    const auto even = Partition::even(static_cast<Global>(x.size()) / columns, comm.size());
    const auto first = static_cast<std::size_t>(even.first(comm.rank()) * columns);
    const auto count = static_cast<std::size_t>(even.rows(comm.rank())) * static_cast<std::size_t>(columns);
    write_solution(comm, even, file, std::span(x).subspan(first, count), columns);
}

}  // namespace

void add_dense_options(CLI::App& app, DenseArguments& dense) {
    add_solve_options(app, dense);
    app.get_option("--method")
        ->required(false)
        ->option_text("NAME")
        ->description(
            "One method, NAME[:key=value,…], or auto: what suits the matrix (default); repeat it to compare several");
    app.get_option("--precond")
        ->description(
            "Preconditioner, NAME[:key=value,…], or auto: what suits the matrix (default: none, where no --method is "
            "given auto)");
    app.add_flag("--insist", dense.insist, "Run a method for SPD matrices also on others");
    app.add_option("--hmatrix", dense.hmatrix,
                   "Options of the hierarchical matrix, with commas between: epsilon (rtol, or a thousandth of it for "
                   "covariances), eta, leaf, bisection, pivoting, "
                   "precision, memory (GB a rank)");
    app.add_option("--layout", dense.layout,
                   "Vectors distributed, or replicated: whole on every rank, no reductions, an all-gather in a product")
        ->check(CLI::IsMember({"distributed", "replicated"}))
        ->capture_default_str();
    add_device_option(app, dense.device);
}

void choose_for(bool symmetric, bool positive_definite, DenseArguments& arguments) {
    auto choice = dense_choice(symmetric, positive_definite);
    if (arguments.precond.empty()) arguments.precond = arguments.methods.empty() ? automatic : "none";
    if (arguments.methods.empty()) arguments.methods.emplace_back(automatic);
    if (arguments.precond == automatic) arguments.precond = choice.precond;
    const auto precond = choose_preconditioner(arguments.precond, MatrixKind::hierarchical);
    if (precond.kind->varies)
        choice.method = "gmres:flexible=1";
    else if (!precond.symmetric())
        choice.method = "bicgstab";
    std::ranges::replace(arguments.methods, std::string(automatic), choice.method);
}

Plan check_dense(const Comm& comm, const DenseArguments& arguments, std::vector<AskedMethod> methods,
                 const std::vector<std::string>& more) {
    Plan plan;
    plan.methods = std::move(methods);
    check_outputs_of_methods(arguments);
    if (arguments.layout != "distributed" && !arguments.trace.empty())
        throw InputError("--trace needs --layout distributed");
    plan.solutions = files_of_methods(plan.methods, "--solution", arguments.solution);
    std::vector<std::string> outputs{arguments.history, arguments.plot, arguments.trace};
    for (const auto* files : std::initializer_list<const std::vector<std::string>*>{&plan.solutions, &more})
        std::ranges::copy(*files, std::back_inserter(outputs));
    const std::string input = arguments.problem.starts_with("mesh:") ? arguments.problem.substr(5) : arguments.problem;
    check_outputs(comm, {input, arguments.rhs}, arguments.json, outputs);
    plan.plot = make_plot(comm, arguments);
    return plan;
}

int solve_dense(const Context& context, Comm& comm, const DenseArguments& arguments, const DenseSystem& system,
                Plan& plan, ProgressLine& line) {
    const auto start = Clock::now();
    DenseSolve solve(context, comm, arguments, system, plan.methods, line);
    const double setup = to_seconds(Clock::now() - start);
    auto info = info_of(comm, arguments, system, solve);
    info.setup_seconds = all_max(comm, setup);
    ChosenProgress progress;
    if (!solve.replicated())
        progress = choose_progress(*context.mpi, comm, solve.matrix(), solve.matrix().local_rows(),
                                   solve.preconditioner() != nullptr, arguments.comm, plan.methods);
    else if (comm.size() > 1 && arguments.comm.progress_mode == "auto")
        progress.remark =
            "progress mode: none, for replicated vectors need no reductions; what lets the all-gather advance is not "
            "probed (--progress-mode poll or thread)";
    if (!progress.remark.empty()) info.remarks.push_back(progress.remark);
    if (const auto* M = solve.preconditioner()) std::ranges::move(M->remarks(), std::back_inserter(info.remarks));

    Report report(std::move(info));
    std::vector<double> residuals;
    const auto review = [&](const AskedMethod& method, Result& result, const std::vector<double>& x) {
        if (progress.probe) advise(comm, *progress.probe, *method.method, solve.preconditioner() != nullptr, result);
        residuals = kernel_residuals(solve.matrix(), system, result, solve.in_order(x));
        const double epsilon = review_by_kernel(residuals, solve.epsilon(), arguments.rtol, arguments.atol, result);
        result.next = dense_next_steps(dense_choice(system.symmetric, system.positive_definite),
                                       {.method = method.text, .precond = arguments.precond}, epsilon,
                                       arguments.max_iterations, result);
        if (solve.replicated())  // inner has vectors that are distributed
            std::erase_if(result.next, [](const NextStep& step) { return step.precond == "inner"; });
    };
    const auto keep = [&](std::size_t k, const std::vector<double>& clustered) {
        const auto x = solve.in_order(clustered);
        if (!solve.quiet())
            print_out("  ‖b − Ax‖/‖b‖ with the kernel itself, on some rows: {:.2e}\n", std::ranges::max(residuals));
        report.annotate("hmatrix", describe(solve, residuals));
        if (system.tell) report.annotate("bem", system.tell(x));
        if (system.write) system.write(k, x);
        if (!plan.solutions.empty()) write_x(comm, plan.solutions[k], x, system.columns);
    };
    return solve_methods(
        comm, arguments, plan.methods,
        {.solve = [&](const SolveOptions& options, std::vector<double>& x) { return solve.solve(options, x); },
         .guess = std::vector<double>(solve.size(), 0.0),
         .threads = solve.threads(),
         .interrupt = context.interrupt},
        report, line, plan.plot, {.review = review, .keep = keep});
}
