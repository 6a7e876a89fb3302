// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>

#include "commands.hpp"
#include "stretto/core/error.hpp"

namespace {

// Signal handlers can reach nothing but globals.
std::atomic<bool> interrupted{false};

/// The first signal asks the solver to end at its next iteration, the second one ends the process.
void on_signal(int signal) {
    interrupted = true;
    std::signal(signal, SIG_DFL);
}

int run(int argc, char** argv, int rank) {
    CLI::App app("Stretto: Krylov solvers that hide, merge and avoid global reductions");
    app.set_version_flag("--version", STRETTO_VERSION);
    app.require_subcommand(1);

    SolveArguments solve;
    auto* solve_command = app.add_subcommand("solve", "Solve A x = b");
    solve_command
        ->add_option("problem", solve.problem, "Matrix Market file (.mtx, .mtx.gz) or problem, as poisson3d:100")
        ->required();
    solve_command->add_option("--rhs", solve.rhs, "ones, A*ones, random[:SEED] or a Matrix Market file")
        ->capture_default_str();
    solve_command->add_option("--columns", solve.columns, "Right-hand sides solved together")
        ->check(CLI::PositiveNumber);
    solve_command->add_option("--method", solve.methods, "NAME[:key=value,…]; several to compare them")
        ->required()
        ->allow_extra_args(false);
    solve_command->add_option("--precond", solve.precond, "Preconditioner, NAME[:key=value,…]")->capture_default_str();
    solve_command->add_option("--rtol", solve.rtol, "Converged when ‖b − Ax‖ ≤ max(rtol ‖b‖, atol), recomputed")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    solve_command->add_option("--atol", solve.atol)->check(CLI::NonNegativeNumber)->capture_default_str();
    solve_command->add_option("--max-it", solve.max_iterations, "Iteration limit")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    solve_command->add_option("--formulation", solve.formulation, "One pass over memory per statement, or per group")
        ->check(CLI::IsMember({"merged", "basic"}))
        ->capture_default_str();
    solve_command
        ->add_option("--threads", solve.threads, "Threads of a rank (default: OMP_NUM_THREADS, else cores over ranks)")
        ->check(CLI::PositiveNumber);
    solve_command->add_option("--json", solve.json, "Write the result as JSON to this file (- for standard output)");
    solve_command->add_option("--history", solve.history,
                              "Write the recursive residuals of all iterations to this CSV file");
    solve_command->add_option("--solution", solve.solution, "Write x to this file, a Matrix Market array");

    std::string list_json;
    auto* list_command = app.add_subcommand("list", "Methods, preconditioners and problems, with options and costs");
    list_command->add_option("--json", list_json, "Write as JSON to this file (- for standard output)");

    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& done) {
        return rank == 0 ? app.exit(done) : 0;
    } catch (const CLI::ParseError& error) {
        if (rank == 0) fmt::print(stderr, "stretto: {}\nTry: stretto --help\n", error.what());
        return exit_bad_input;
    }

    if (*list_command) return rank == 0 ? run_list(list_json) : 0;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    stretto::MpiComm comm(MPI_COMM_WORLD);
    return run_solve(comm, solve, interrupted);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int code = exit_bad_input;
    try {
        code = run(argc, argv, rank);
    } catch (const stretto::InputError& error) {
        // Input errors come up on all ranks alike; one of them says so.
        if (rank == 0) fmt::print(stderr, "stretto: {}\n", error.what());
    } catch (const std::exception& error) {
        // Anything else may be this rank's own trouble (memory): the others would wait for it forever.
        fmt::print(stderr, "stretto: rank {}: {}\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, exit_bad_input);
    }
    MPI_Finalize();
    return code;
}
