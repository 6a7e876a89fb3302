// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

#include "commands.hpp"
#include "input.hpp"
#include "methods.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/system/prepare.hpp"
#include "stretto/system/structure.hpp"

using namespace stretto;

namespace {

/// This rank's rows of the right-hand sides, row-major.
ArrayFile load_rhs(const Comm& comm, const DistributedRows& problem, const SolveArguments& arguments, int threads,
                   ProgressLine& line) {
    const Partition& partition = problem.partition;
    const LocalRows<double>& rows = problem.rows;
    const int columns = std::max(arguments.columns, 1);
    const auto make = [&](auto&& f) {
        ArrayFile b{{}, columns};
        const Global first = partition.first(comm.rank());
        for (Index row = 0; row < rows.rows(); ++row)
            for (int j = 0; j < columns; ++j) b.values.push_back(f(first + row, j));
        return b;
    };
    if (arguments.rhs == "ones") return make([](Global, int) { return 1.0; });
    if (arguments.rhs == "A*ones")
        return make([&, first = partition.first(comm.rank())](Global row, int) {
            const auto begin = rows.start[static_cast<std::size_t>(row - first)],
                       end = rows.start[static_cast<std::size_t>(row - first) + 1];
            return std::accumulate(rows.values.begin() + begin, rows.values.begin() + end, 0.0);
        });
    if (arguments.rhs == "random" || arguments.rhs.starts_with("random:")) {
        static constexpr OptionInfo seed_option[] = {{.name = "seed",
                                                      .default_value = 1,
                                                      .minimum = 0,
                                                      .maximum = 9e15,
                                                      .help = "of the random numbers",
                                                      .integral = true}};
        Spec spec{arguments.rhs, "random", {}, {}};
        if (arguments.rhs.size() > 6) spec.options.emplace_back("seed", arguments.rhs.substr(7));
        const auto seed = static_cast<std::uint64_t>(Options(spec, seed_option).number("seed"));
        return make([seed](Global row, int j) { return uniform(seed, row, j); });
    }
    if (!exists(comm, arguments.rhs))
        throw InputError(fmt::format("--rhs '{}' is neither a file nor ones, A*ones or random[:SEED]", arguments.rhs));
    auto b = read_array(comm, arguments.rhs, partition, threads,
                        [&](double fraction) { line.show_fraction("reading " + arguments.rhs, fraction); });
    line.clear();
    if (arguments.columns != 0 && arguments.columns != b.columns)
        throw InputError(fmt::format("--columns {}, but {} has {}", arguments.columns, arguments.rhs, b.columns));
    return b;
}

nlohmann::ordered_json describe(const Structure& structure) {
    return {{"symmetric_pattern", structure.symmetric_pattern()},
            {"symmetric", structure.symmetric()},
            {"asymmetry", structure.asymmetry},
            {"positive_diagonal", structure.positive_diagonal},
            {"zero_diagonal", structure.zero_diagonal},
            {"dominant_rows", structure.dominant_rows},
            {"structural_rank",
             structure.structural_rank ? nlohmann::ordered_json(*structure.structural_rank) : nlohmann::ordered_json()},
            {"hint", structure.hint()}};
}

/// A method for SPD matrices is refused where the matrix, or the preconditioner, cannot be one.
void check_symmetry(const SolveArguments& arguments, const Structure& structure, const Preconditioner* M) {
    if (arguments.insist) return;
    for (const auto& text : arguments.methods) {
        const Method& method = find_method(parse_spec(text).name);
        if (method.needs == Needs::any) continue;
        if (!structure.symmetric())
            throw InputError(
                fmt::format("{} needs a symmetric matrix, and this one is not: entries differ from their mirror images "
                            "by up to {:.1e} of the largest of row and column (--insist runs it all the same)",
                            method.name, structure.asymmetry));
        if (M && !M->symmetric())
            throw InputError(
                fmt::format("{} needs a symmetric preconditioner, and {} is not (--insist runs it all the "
                            "same)",
                            method.name, arguments.precond));
    }
}

}  // namespace

int run_solve(MpiComm& mpi, Comm& comm, const SolveArguments& arguments, const std::atomic<bool>& interrupt) {
    check_methods(arguments);
    const PrepareSteps steps = parse_prepare(arguments.prepare);
    const auto solutions = solution_files(arguments);
    std::vector<std::string> outputs{arguments.history, arguments.plot, arguments.trace};
    std::ranges::copy(solutions, std::back_inserter(outputs));
    check_outputs(comm, {file_of_problem(arguments.problem), arguments.rhs}, arguments.json, outputs);
    auto plot = make_plot(comm, arguments);

    ProgressLine line(comm.rank(), arguments.progress);
    const auto start = std::chrono::steady_clock::now();
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    limit_threads(threads);
    auto problem = load_problem(comm, arguments.problem, threads, line);
    const Partition partition = problem.partition;
    check_interrupt(comm, interrupt);
    const Structure structure = analyse(comm, problem, threads);
    check_symmetry(arguments, structure, nullptr);
    auto b = load_rhs(comm, problem, arguments, threads, line);
    const bool negated = structure.negative();
    if (negated)  // x and every residual are the same
        for (auto* values : {&problem.rows.values, &b.values})
            for (double& value : *values) value = -value;
    const PreparedSystem system(comm, std::move(problem), steps, structure.symmetric(), threads,
                                storage_of(arguments.storage));
    const auto& A = system.matrix();
    b.values = system.forward(std::move(b.values), b.columns);
    const auto before = std::chrono::steady_clock::now();
    const auto M = system.preconditioner(arguments.precond);
    const std::chrono::duration<double> precond_setup = std::chrono::steady_clock::now() - before;
    check_symmetry(arguments, structure, M.get());
    check_interrupt(comm, interrupt);
    const std::chrono::duration<double> setup = std::chrono::steady_clock::now() - start;

    auto remarks = structure.lines();
    remarks.push_back("hint: " + structure.hint());
    if (negated) remarks.emplace_back("negative diagonal: −A x = −b is solved, which has the same x and residual");
    const auto& dealt = system.partition_quality();
    if (comm.size() > 1)
        remarks.push_back(fmt::format("partition: edge cut {}, halo {} rows, imbalance {:.3f}", dealt.edge_cut,
                                      dealt.halo, dealt.imbalance));
    std::ranges::copy(system.remarks(), std::back_inserter(remarks));
    if (A.nonzeros() > 0) remarks.push_back(storage_in_words(A, b.columns, arguments.storage));
    const auto probed = choose_progress(mpi, comm, A, A.local_rows(), M != nullptr, arguments, remarks);
    if (M) std::ranges::move(M->remarks(), std::back_inserter(remarks));
    Report report({.problem = arguments.problem,
                   .precond = arguments.precond,
                   .formulation = arguments.formulation,
                   .latency = arguments.comm.latency,
                   .rows = A.rows(),
                   .nonzeros = A.nonzeros(),
                   .columns = b.columns,
                   .ranks = comm.size(),
                   .threads = threads,
                   .rtol = arguments.rtol,
                   .atol = arguments.atol,
                   .max_iterations = arguments.max_iterations,
                   .setup_seconds = all_max(comm, setup.count()),
                   .remarks = std::move(remarks),
                   .prepare = arguments.prepare,
                   .structure = describe(structure),
                   .partition = {{"edge_cut", dealt.edge_cut}, {"halo", dealt.halo}, {"imbalance", dealt.imbalance}},
                   .storage = describe_storage(A, b.columns),
                   .precond_bytes = all_sum(comm, M ? M->stored() : 0.0),
                   .precond_seconds = all_max(comm, precond_setup.count())});
    const ResultUse use{.review =
                            [&](const std::string& method, Result& result, const std::vector<double>&) {
                                if (probed) advise(comm, *probed, method, M != nullptr, result);
                            },
                        .keep =
                            [&](std::size_t k, const std::vector<double>& x) {
                                if (!solutions.empty())
                                    write_solution(comm, partition, solutions[k], system.back(x, b.columns), b.columns);
                            }};
    return solve_methods(comm, arguments,
                         {.A = A,
                          .M = M ? AnyOperator<double>(*M) : AnyOperator<double>(),
                          .b = b.values,
                          .rows = A.local_rows(),
                          .columns = b.columns,
                          .threads = threads,
                          .comm = &comm,
                          .interrupt = &interrupt},
                         report, line, plot, use);
}
