// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <new>
#include <string_view>

#include "commands.hpp"
#include "input.hpp"
#include "stretto/comm/latency_comm.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/types.hpp"
#include "validators.hpp"

namespace {

// Signal handlers can reach nothing but globals.
std::atomic<bool> interrupted{false};

/// The first signal asks the solver to end at its next iteration, the second one ends the process.
void on_signal(int signal) {
    interrupted = true;
    std::signal(signal, SIG_DFL);
}

void add_machine_option(CLI::App* command, std::string& machine) {
    command->add_option("--machine", machine, "Keep what is measured of the machine in this JSON file");
}

void add_comm_options(CLI::App* command, CommArguments& comm) {
    command
        ->add_option(
            "--progress-mode", comm.progress_mode,
            "What lets reductions advance while their rank computes: none, poll (tests inside long kernels), thread "
            "(one of ours), library (MPI's own, MPICH_ASYNC_PROGRESS=1), or auto (what a short probe finds best)")
        ->check(CLI::IsMember({"none", "poll", "thread", "library", "auto"}))
        ->capture_default_str();
    command->add_option("--emulate-latency", comm.latency,
                        "Every reduction takes at least so long while work goes on: TIME[,message=TIME][,jitter=TIME], "
                        "as 500us,message=20us");
    add_machine_option(command, comm.machine);
}

/// What all commands that solve take.
void add_solve_options(CLI::App* command, SolveArguments& solve) {
    command->add_option("--method", solve.methods, "NAME[:key=value,…]; repeat it to compare several")
        ->required()
        ->allow_extra_args(false);
    command->add_option("--precond", solve.precond, "Preconditioner, NAME[:key=value,…]")->capture_default_str();
    const auto tolerance = number(0, 1e300, "a tolerance from 0 up");
    command->add_option("--rtol", solve.rtol, "Converged when ‖b − Ax‖ ≤ max(rtol ‖b‖, atol), recomputed")
        ->check(tolerance)
        ->capture_default_str();
    command->add_option("--atol", solve.atol, "Absolute tolerance")->check(tolerance)->capture_default_str();
    command->add_option("--max-it", solve.max_iterations, "Iteration limit")
        ->check(number(0, 2e9, "a number of iterations from 0 to 2e9"))
        ->capture_default_str();
    command
        ->add_option("--formulation", solve.formulation,
                     "One pass over memory per group of statements, or per statement")
        ->check(CLI::IsMember({"merged", "basic"}))
        ->capture_default_str();
    command
        ->add_option("--threads", solve.threads,
                     "Threads of a rank (default: OMP_NUM_THREADS, else its share of the cores)")
        ->check(number(1, 1024, "a number of threads from 1 to 1024"));
    command->add_option("--json", solve.json, "Write the result as JSON to this file (- for standard output)");
    command->add_option("--history", solve.history, "Write the recursive residuals of all iterations to this CSV file");
    command->add_option("--plot", solve.plot,
                        "Draw the residuals of all iterations and methods: FILE.png or FILE.svg, by gnuplot or "
                        "Python's matplotlib");
    command->add_flag("--true-residuals", solve.true_residuals,
                      "In history and plot also ‖b − Ax‖, for one more product an iteration");
    command->add_option("--trace", solve.trace,
                        "Write what ran and what was in flight on every rank to this file, in Chrome's trace format "
                        "(Perfetto)");
    add_comm_options(command, solve.comm);
    command->add_option("--solution", solve.solution,
                        "Write x to this file, a Matrix Market array; {} stands for the method");
    command->add_flag("--progress", solve.progress,
                      "Show the progress line also where standard error is no terminal, as under mpirun");
}

/// What all commands with hierarchical matrices take.
void add_dense_options(CLI::App* command, DenseArguments& dense) {
    add_solve_options(command, dense.solve);
    command->add_flag("--insist", dense.solve.insist, "Run a method for SPD matrices also on others");
    command->add_option(
        "--hmatrix", dense.hmatrix,
        "Options of the hierarchical matrix, with commas between: epsilon, eta, leaf, bisection, pivoting, "
        "precision, memory (GB a rank)");
    command
        ->add_option(
            "--layout", dense.layout,
            "Vectors distributed, or replicated: whole on every rank, no reductions, an all-gather in a product")
        ->check(CLI::IsMember({"distributed", "replicated"}))
        ->capture_default_str();
}

int run(int argc, char** argv, int rank) {
    CLI::App app("Stretto: Krylov solvers that hide, merge and avoid global reductions");
    app.set_version_flag("--version", STRETTO_VERSION);
    app.require_subcommand(1);

    SolveArguments solve;
    auto* solve_command = app.add_subcommand("solve", "Solve A x = b");
    solve_command
        ->add_option(
            "problem", solve.problem,
            "Matrix Market file (.mtx, .mtx.gz), problem, as poisson3d:100, or kron:FILE,N (extruded to N layers)")
        ->required();
    solve_command->add_option("--rhs", solve.rhs, "ones, A*ones, random[:SEED] or a Matrix Market file")
        ->capture_default_str();
    solve_command->add_option("--columns", solve.columns, "Right-hand sides solved together")
        ->check(number(1, stretto::max_columns, "a number of columns from 1 to 64"));
    add_solve_options(solve_command, solve);
    solve_command->add_option("--prepare", solve.prepare,
                              "Steps before: equilibrate, rcm, and metis or nonzeros, with commas between");
    solve_command->add_flag(
        "--insist", solve.insist,
        "Run a method for SPD matrices also where the matrix or the preconditioner is not symmetric");
    const auto add_storage = [](CLI::App* command, std::string& storage) {
        command
            ->add_option("--storage", storage,
                         "Of the matrix: compressed rows (csr), one of the forms that move fewer bytes, where it does, "
                         "or the first of these that does (auto)")
            ->check(CLI::IsMember(storage_choices()))
            ->capture_default_str();
    };
    add_storage(solve_command, solve.storage);

    DenseArguments bem;
    bem.solve.precond = "auto";
    auto* bem_command =
        app.add_subcommand("bem", "Boundary elements: the charges of conductors, by a hierarchical matrix");
    bem_command
        ->add_option("problem", bem.solve.problem,
                     "sphere:n=20000, two_spheres:…, spheres:…, sphere_in_field:…, cube:…, humanoid:… or mesh:FILE")
        ->required();
    add_dense_options(bem_command, bem);
    bem_command->add_option("--testing", bem.testing, "collocation, or galerkin (a symmetric matrix)")
        ->check(CLI::IsMember({"collocation", "galerkin"}))
        ->capture_default_str();
    bem_command->add_option("--vtk", bem.vtk, "Write the charge density to this file, FILE.vtu");
    bem_command->add_option("--picture", bem.picture, "Draw the charge density: FILE.svg");

    DenseArguments kernel;
    auto* kernel_command = app.add_subcommand("kernel", "Solve with a kernel on points, by a hierarchical matrix");
    kernel_command->add_option("points", kernel.solve.problem, "File of points, one a line, or scattered[:n=…]")
        ->required();
    kernel_command
        ->add_option("--kernel", kernel.kernel,
                     "gaussian:length=…,nugget=…, matern:length=…,nu=1/2|3/2|5/2,nugget=… or helmholtz:k=…,diagonal=…")
        ->required();
    kernel_command->add_option("--rhs", kernel.solve.rhs, "ones, random or a Matrix Market file")
        ->capture_default_str();
    kernel_command->add_option("--columns", kernel.solve.columns, "Right-hand sides solved together")
        ->check(number(1, stretto::max_columns, "a number of columns from 1 to 64"));
    add_dense_options(kernel_command, kernel);

    BenchArguments bench;
    auto* bench_command = app.add_subcommand("bench", "Time an iteration of a family's methods, merged and basic");
    bench_command->add_option("family", bench.family, "bicgstab, cg, gmres, gmres20, gmres60, hmatrix or groups")
        ->required();
    bench_command->add_option(
        "--problem", bench.problem,
        "Matrix Market file, problem of any size, or kron:FILE,N (default: that of the family's paper)");
    bench_command
        ->add_option("--columns", bench.columns, "Numbers of right-hand sides (default: 1, for bicgstab 1,4,16)")
        ->delimiter(',')
        ->check(number(1, stretto::max_columns, "a number of columns from 1 to 64"));
    bench_command->add_option("--iterations", bench.iterations, "Iterations of a solve (default: 12, or 20 cycles)")
        ->check(number(4, 1e6, "a number of iterations from 4 to 1e6"));
    bench_command->add_option("--rounds", bench.rounds, "Solves of each kind, in turn")
        ->check(number(1, 1e6, "a number of rounds from 1 to 1e6"))
        ->capture_default_str();
    bench_command->add_option("--sizes", bench.sizes, "hmatrix: numbers of triangles")
        ->delimiter(',')
        ->check(number(20, 1e8, "a number of triangles from 20 to 1e8"))
        ->capture_default_str();
    bench_command->add_option("--epsilons", bench.epsilons, "hmatrix: tolerances")
        ->delimiter(',')
        ->check(number(1e-14, 0.5, "a tolerance from 1e-14 to 0.5"))
        ->capture_default_str();
    add_storage(bench_command, bench.storage);
    add_comm_options(bench_command, bench.comm);
    bench_command->add_option("--threads", bench.threads, "Threads of a rank, as for solve")
        ->check(number(1, 1024, "a number of threads from 1 to 1024"));
    bench_command->add_option("--json", bench.json,
                              "Write the measurements as JSON to this file (- for standard output)");
    bench_command->add_flag("--progress", bench.progress, "Show the progress line also through mpirun");

    OverlapArguments overlap;
    auto* overlap_command =
        app.add_subcommand("overlap", "Measure what communication costs here and what of it can be hidden");
    overlap_command->add_option("--repetitions", overlap.repetitions, "Of each measurement")
        ->check(number(1, 1e6, "a number of repetitions from 1 to 1e6"))
        ->capture_default_str();
    overlap_command->add_option("--json", overlap.json,
                                "Write the measurements as JSON to this file (- for standard output)");
    add_machine_option(overlap_command, overlap.machine);
    overlap_command->add_flag("--progress", overlap.progress, "Show the progress line also through mpirun");

    app.add_subcommand("simulate", "Run methods on a simulated cluster");  // main takes it before

    std::string list_json;
    auto* list_command = app.add_subcommand("list", "Methods, preconditioners and problems, with options and costs");
    list_command->add_option("--json", list_json, "Write as JSON to this file (- for standard output)");

    if (const std::string_view command = argc > 1 ? argv[1] : ""; !command.empty() && command[0] != '-') {
        if (command != "solve" && command != "bem" && command != "kernel" && command != "bench" &&
            command != "overlap" && command != "list")
            throw stretto::InputError(fmt::format(
                "there is no command '{}'; there are solve, bem, kernel, bench, overlap, simulate and list", command));
    }
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
    const CommArguments& asked = *bench_command    ? bench.comm
                                 : *bem_command    ? bem.solve.comm
                                 : *kernel_command ? kernel.solve.comm
                                                   : solve.comm;
    stretto::MpiComm mpi(MPI_COMM_WORLD);
    if (*overlap_command) return run_overlap(mpi, overlap, interrupted);
    for (const auto mode : {stretto::ProgressMode::poll, stretto::ProgressMode::thread, stretto::ProgressMode::library})
        if (name(mode) == asked.progress_mode) mpi.set_progress(mode);
    std::optional<stretto::LatencyComm> slow;
    if (!asked.latency.empty()) slow.emplace(mpi, stretto::parse_latency(asked.latency));
    stretto::Comm& comm = slow ? static_cast<stretto::Comm&>(*slow) : mpi;
    if (*bem_command) return run_bem(mpi, comm, bem, interrupted);
    if (*kernel_command) return run_kernel(mpi, comm, kernel, interrupted);
    return *bench_command ? run_bench(comm, bench, interrupted) : run_solve(mpi, comm, solve, interrupted);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "simulate") return run_simulate(argc - 1, argv + 1);
    // Of those that compute, the main thread alone communicates; a progress thread does so beside it.
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int code = exit_bad_input;
    try {
        code = run(argc, argv, rank);
    } catch (const stretto::InputError& error) {
        // Input errors come up on all ranks alike; one of them says so.
        if (rank == 0) fmt::print(stderr, "stretto: {}\n", error.what());
    } catch (const Interrupted&) {
        if (rank == 0) fmt::print(stderr, "stretto: interrupted before the solve began\n");
        code = exit_not_converged;
    } catch (const std::exception& error) {
        // Anything else may be this rank's own trouble: the others would wait for it forever.
        const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        fmt::print(stderr, "stretto: rank {}: {}\n", rank, memory ? "out of memory" : error.what());
        MPI_Abort(MPI_COMM_WORLD, exit_bad_input);
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
        fmt::print(stderr, "stretto: cannot write to standard output\n");
        code = exit_bad_input;
    }
    MPI_Finalize();
    return code;
}
