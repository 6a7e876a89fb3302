// SPDX-License-Identifier: BSD-3-Clause
#include "dense.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "../files.hpp"
#include "../show/print.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/text.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/system/linear_system.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

/// Collective. Everything that precedes the iterations.
DenseSystem set_up(const Context& context, Comm& comm, const DenseArguments& arguments, const DenseProblem& problem,
                   std::span<const AskedMethod> methods, ProgressLine& line) {
    DenseOptions options;
    options.precond = arguments.precond;
    options.hmatrix = arguments.hmatrix;
    options.layout = {
        .replicated = arguments.layout == "replicated",
        .devices = arguments.devices,
        .shared = arguments.device_vectors == "shared",
        .hiding = static_cast<Hiding>(std::ranges::find(hiding_names, arguments.hiding) - std::begin(hiding_names))};
    options.threads = arguments.threads;
    options.columns = problem.columns;
    options.rtol = arguments.rtol;
    options.insist = arguments.insist;
    for (const auto& method : methods) options.methods.push_back(method.text);
    agree(comm, [&] { options.device = find_device(arguments.device); });
    options.interrupt = &context.interrupt;
    options.progress = [&line](double fraction) { line.show_fraction("compressing", fraction); };
    if (comm.rank() == 0 && arguments.json != "-")
        options.announce = [&](const HMatrixEstimate& estimate, double limit) {
            print_out(
                "{} points: {} dense and {} low-rank blocks, about {:.4g} MB; at most {:.4g} of {:.4g} MB on a rank "
                "while compressing\n",
                problem.matrix.geometry.points.size(), estimate.dense_blocks, estimate.low_rank_blocks,
                1e-6 * estimate.stored, 1e-6 * estimate.peak, 1e-6 * limit);
            flush_out();
        };
    try {
        DenseSystem system(comm, problem.matrix, std::move(options));
        line.clear();
        return system;
    } catch (const InputError&) {
        line.clear();
        check_interrupt(comm, context.interrupt);
        throw;
    }
}

/// What the JSON and the table's head tell of the run.
RunInfo info_of(const DenseArguments& arguments, const DenseProblem& problem, const DenseSystem& system) {
    SolveOptions asked;
    asked.rtol = arguments.rtol;
    asked.atol = arguments.atol;
    asked.max_iterations = arguments.max_iterations;
    auto info = system.info(asked);
    info.program = problem.program;
    info.problem = arguments.problem;
    info.options = problem.options;
    if (!arguments.hmatrix.empty()) info.options.emplace_back("--hmatrix", shell_word(arguments.hmatrix));
    if (arguments.layout != "distributed") info.options.emplace_back("--layout", arguments.layout);
    if (!arguments.solution.empty()) info.options.emplace_back("--solution", shell_word(arguments.solution));
    if (arguments.device != "cpu") info.options.emplace_back("--device", arguments.device);
    if (arguments.devices > 1) info.options.emplace_back("--devices", std::to_string(arguments.devices));
    if (arguments.device_vectors != "redundant")
        info.options.emplace_back("--device-vectors", arguments.device_vectors);
    if (arguments.hiding != hiding_names[2]) info.options.emplace_back("--hiding", arguments.hiding);
    info.device = arguments.device;
    info.formulation = arguments.formulation;
    info.latency = arguments.comm.latency;
    info.remarks.insert(info.remarks.begin(), problem.remarks.begin(), problem.remarks.end());
    return info;
}

ordered_json describe(const DenseSystem& system) {
    const auto& statistics = system.matrix().statistics();
    const auto& residuals = system.kernel_residuals();
    return {{"epsilon", system.epsilon()},
            {"bytes", statistics.bytes},
            {"dense_blocks", statistics.dense_blocks},
            {"low_rank_blocks", statistics.low_rank_blocks},
            {"refilled", statistics.refilled},
            {"single", statistics.single},
            {"in_16_bits", statistics.in_16_bits},
            {"in_8_bits", statistics.in_8_bits},
            {"compression_seconds", statistics.seconds},
            {"kernel_residual", std::ranges::max(residuals)},
            {"kernel_residuals", residuals}};
}

/// Collective. Every rank writes a share.
template <class T>
void write_x(const Comm& comm, const std::string& file, std::span<const T> x, int columns) {
    const auto even = Partition::even(static_cast<Global>(x.size()) / columns, comm.size());
    const auto first = static_cast<std::size_t>(even.first(comm.rank()) * columns);
    const auto count = static_cast<std::size_t>(even.rows(comm.rank())) * static_cast<std::size_t>(columns);
    write_solution(comm, even, file, x.subspan(first, count), columns);
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
    app.add_option("--hiding", dense.hiding,
                   "What is in flight behind dot products with --layout replicated and pipelined_bicgstab: the "
                   "all-gather (pipe2), the copies from devices alone (pipe1, with --device cuda or emulated), or "
                   "nothing (block)")
        ->check(CLI::IsMember({"block", "pipe1", "pipe2"}))
        ->capture_default_str();
    add_device_option(app, dense.device);
    app.add_option(
           "--devices", dense.devices,
           "How many devices a rank has, 1 to 16; several take --layout replicated and --device cuda or emulated")
        ->capture_default_str();
    app.add_option("--device-vectors", dense.device_vectors,
                   "What they do of vector operations: each all (redundant), or its share of the rows (shared, with "
                   "--devices 2 or more)")
        ->check(CLI::IsMember({"redundant", "shared"}))
        ->capture_default_str();
}

void choose_for(const DenseMatrix& matrix, DenseArguments& arguments) {
    if (arguments.precond.empty()) arguments.precond = arguments.methods.empty() ? automatic : "none";
    if (arguments.methods.empty()) arguments.methods.emplace_back(automatic);
    for (auto& method : arguments.methods)
        method = chosen_for(matrix, {.method = method, .precond = arguments.precond}).method;
    arguments.precond = chosen_for(matrix, {.precond = arguments.precond}).precond;
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

int solve_dense(const Context& context, Comm& comm, const DenseArguments& arguments, const DenseProblem& problem,
                Plan& plan, ProgressLine& line) {
    const auto start = Clock::now();
    auto system = set_up(context, comm, arguments, problem, plan.methods, line);
    const double setup = to_seconds(Clock::now() - start);
    auto info = info_of(arguments, problem, system);
    info.setup_seconds = all_max(comm, setup);
    const int parts = problem.matrix.is_complex() ? 2 : 1;  // real numbers that a value is
    ChosenProgress progress;
    if (arguments.layout != "replicated")
        progress = choose_progress(*context.mpi, comm, system.matrix(), system.matrix().local_rows(),
                                   system.preconditioner() != nullptr, arguments.comm, plan.methods, parts);
    else if (comm.size() > 1 && arguments.comm.progress_mode == "auto")
        progress.remark =
            "progress mode: none, for replicated vectors need no reductions; what lets the all-gather advance is not "
            "probed (--progress-mode poll or thread)";
    if (!progress.remark.empty()) info.remarks.push_back(progress.remark);

    const bool table = comm.rank() == 0 && arguments.json != "-";
    const auto rows = static_cast<Index>(system.matrix().rows());
    const MultiVector<const double> b(problem.b.data(), rows, parts * problem.columns);
    Report report(std::move(info));
    const auto review = [&](const AskedMethod& method, Result& result, const std::vector<double>&) {
        if (progress.probe) advise(comm, *progress.probe, *method.method, system.preconditioner() != nullptr, result);
    };
    const auto keep = [&](std::size_t k, const std::vector<double>& x) {
        if (table)
            print_out("  ‖b − Ax‖/‖b‖ with the kernel itself, on some rows: {:.2e}\n",
                      std::ranges::max(system.kernel_residuals()));
        report.annotate("hmatrix", describe(system));
        if (problem.tell) report.annotate("bem", problem.tell(x));
        if (problem.write) problem.write(k, x);
        if (plan.solutions.empty()) return;
        if (parts == 1)
            write_x<double>(comm, plan.solutions[k], x, problem.columns);
        else
            write_x(comm, plan.solutions[k], complex_values(x), problem.columns);
    };
    return solve_methods(
        comm, arguments, plan.methods,
        {.solve = [&](const SolveOptions& options,
                      std::vector<double>& x) { return system.solve(b, {x.data(), rows, b.columns()}, options); },
         .guess = std::vector<double>(b.size(), 0.0),
         .threads = system.threads(),
         .interrupt = context.interrupt},
        report, line, plan.plot, {.review = review, .keep = keep});
}
