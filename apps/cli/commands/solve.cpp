// SPDX-License-Identifier: BSD-3-Clause
// stretto solve: a sparse system.
#include <algorithm>
#include <numeric>

#include "../files.hpp"
#include "../run_methods.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/io/right_hand_side.hpp"
#include "stretto/system/linear_system.hpp"

using namespace stretto;

namespace {

struct SparseArguments : SolveArguments {
    std::string prepare;  ///< steps with commas between
    std::string storage = "auto";
};

void add(CLI::App& app, SparseArguments& solve) {
    app.add_option("problem", solve.problem,
                   "Matrix Market file (.mtx, .mtx.gz), problem, as poisson3d:100, or kron:FILE,N (extruded to N "
                   "layers)")
        ->required();
    app.add_option("--rhs", solve.rhs, "ones, A*ones, random[:SEED] or a Matrix Market file")->capture_default_str();
    app.add_option("--guess", solve.guess,
                   "Initial guess: a Matrix Market array, of a column for each right-hand side");
    add_columns_option(app, solve.columns);
    add_solve_options(app, solve);
    app.add_option("--prepare", solve.prepare,
                   "Steps before: equilibrate, rcm, and metis or nonzeros, with commas between");
    app.add_flag("--insist", solve.insist,
                 "Run a method for SPD matrices also where the matrix or the preconditioner is not symmetric");
    add_storage_option(app, solve.storage);
}

/// What is looked at before anything is read.
struct Plan {
    std::vector<AskedMethod> methods;
    std::vector<std::string> solutions;
    std::optional<Plot> plot;
};

Plan check(const Comm& comm, const SparseArguments& arguments) {
    Plan plan;
    plan.methods = arguments.asked_methods();
    check_outputs_of_methods(arguments);
    (void)parse_prepare(arguments.prepare);
    plan.solutions = files_of_methods(plan.methods, "--solution", arguments.solution);
    std::vector<std::string> outputs{arguments.history, arguments.plot, arguments.trace};
    std::ranges::copy(plan.solutions, std::back_inserter(outputs));
    check_outputs(comm, {file_of_problem(arguments.problem), arguments.rhs, arguments.guess}, arguments.json, outputs);
    plan.plot = make_plot(comm, arguments);
    return plan;
}

/// b and the initial guess.
std::pair<ArrayFile, ArrayFile> load_vectors(const Comm& comm, const DistributedRows& matrix,
                                             const SparseArguments& arguments, int threads, ProgressLine& line) {
    const auto& [partition, rows] = matrix;
    const auto reading = [&](const std::string& file) {
        return [&line, file](double fraction) { line.show_fraction("reading " + file, fraction); };
    };
    auto b = right_hand_sides(
        comm, arguments.rhs, arguments.columns, partition, threads,
        [&rows](Index i) {
            const auto row = static_cast<std::size_t>(i);
            return std::accumulate(rows.values.begin() + rows.start[row], rows.values.begin() + rows.start[row + 1],
                                   0.0);
        },
        reading(arguments.rhs));
    ArrayFile guess{std::vector<double>(b.values.size(), 0.0), b.columns};
    if (!arguments.guess.empty())
        guess = read_guess(comm, arguments.guess, b.columns, partition, threads, reading(arguments.guess));
    line.clear();
    return {std::move(b), std::move(guess)};
}

int run(const Context& context, const SparseArguments& arguments) {
    ChosenComm chosen(*context.mpi, arguments.comm);
    Comm& comm = chosen.get();
    Plan plan = check(comm, arguments);
    ProgressLine line(comm.rank(), arguments.progress);
    const auto start = Clock::now();
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    auto matrix = load_problem(comm, arguments.problem, threads, line);
    check_interrupt(comm, context.interrupt);
    auto [b, guess] = load_vectors(comm, matrix, arguments, threads, line);
    LinearSystem system(comm, std::move(matrix),
                        {.precond = arguments.precond,
                         .prepare = arguments.prepare,
                         .storage = Storage(arguments.storage),
                         .threads = threads,
                         .insist = arguments.insist,
                         .keep_entries = false,
                         .methods = arguments.methods});
    check_interrupt(comm, context.interrupt);

    const int columns = b.columns;
    const double setup = to_seconds(Clock::now() - start);
    RunInfo info = system.info(columns);
    info.setup_seconds = all_max(comm, setup);
    info.problem = arguments.problem;
    info.formulation = arguments.formulation;
    info.latency = arguments.comm.latency;
    info.rtol = arguments.rtol;
    info.atol = arguments.atol;
    info.max_iterations = arguments.max_iterations;
    const auto& A = system.matrix();
    const auto* M = system.preconditioner();
    const auto progress =
        choose_progress(*context.mpi, comm, A, A.local_rows(), M != nullptr, arguments.comm, plan.methods);
    // What the preconditioner has to say comes last.
    if (!progress.remark.empty())
        info.remarks.insert(info.remarks.end() - (M ? std::ssize(M->remarks()) : 0), progress.remark);
    Report report(std::move(info));
    const Index rows = system.local_rows();
    return solve_methods(comm, arguments, plan.methods,
                         {.solve =
                              [&](SolveOptions options, std::vector<double>& x) {
                                  return system.solve({b.values.data(), rows, columns}, {x.data(), rows, columns},
                                                      std::move(options));
                              },
                          .guess = std::move(guess.values),
                          .threads = threads,
                          .interrupt = context.interrupt},
                         report, line, plan.plot,
                         {.review =
                              [&](const AskedMethod& method, Result& result, const std::vector<double>&) {
                                  if (progress.probe)
                                      advise(comm, *progress.probe, *method.method, M != nullptr, result);
                              },
                          .keep =
                              [&](std::size_t k, const std::vector<double>& x) {
                                  if (!plan.solutions.empty())
                                      write_solution(comm, system.partition(), plan.solutions[k], x, columns);
                              }});
}

}  // namespace

const Command solve_command = CommandOf<SparseArguments>::row<add, run>("solve", "Solve A x = b");
