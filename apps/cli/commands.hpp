// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"

/// Exit codes of the command line.
enum ExitCode { exit_converged = 0, exit_not_converged = 1, exit_bad_input = 2 };

/// Asked to stop before the solve began.
struct Interrupted {};

/// How processes communicate, for any command.
struct CommArguments {
    std::string progress_mode = "auto";
    std::string latency;  ///< emulated; empty: none
    std::string machine;  ///< file where probes are kept; empty: none
};

/// The arguments of `stretto solve`.
struct SolveArguments {
    CommArguments comm;
    std::string problem;
    std::string rhs = "ones";
    int columns = 0;  ///< 0: one, or as many as the file has
    std::vector<std::string> methods;
    std::string precond = "none";
    std::string prepare;  ///< steps with commas between
    bool insist = false;  ///< also on what the structure of the matrix speaks against
    double rtol = 1e-8;
    double atol = 0;
    int max_iterations = 10000;
    std::string formulation = "merged";
    std::string storage = "auto";
    int threads = 0;  ///< 0: the cores of the node over its ranks
    std::string json, history, solution, plot, trace;
    bool true_residuals = false;  ///< in history and plot
    bool progress = false;        ///< also where standard error is no terminal
};

/// The arguments of `stretto bem` and `stretto kernel`: dense systems, as hierarchical matrices.
struct DenseArguments {
    DenseArguments() { solve.rtol = 1e-6; }  // what the hierarchical matrix is good for
    SolveArguments solve;
    std::string hmatrix;  ///< options, with commas between
    std::string layout = "distributed";
    std::string testing = "collocation", vtk, picture;  // of bem, whose precond may be auto
    std::string kernel;                                 // of kernel
};

/// The arguments of `stretto bench`.
struct BenchArguments {
    CommArguments comm;
    std::string family;
    std::string problem;       ///< empty: that of the family
    std::vector<int> columns;  ///< empty: those of the family
    int iterations = 0;        // 0: the default of the family
    int rounds = 3;
    std::vector<int> sizes{5000, 20000, 80000};  ///< of hmatrix
    std::vector<double> epsilons{1e-3, 1e-6};    ///< of hmatrix
    std::string storage = "auto";
    int threads = 0;  ///< as for solve
    std::string json;
    bool progress = false;
};

/// The arguments of `stretto overlap`.
struct OverlapArguments {
    int repetitions = 50;
    std::string json, machine;
    bool progress = false;
};

/// Collective. Solves and reports, on `comm`, which is `mpi` or something on top of it. Throws stretto::InputError on
/// every rank alike.
int run_solve(stretto::MpiComm& mpi, stretto::Comm& comm, const SolveArguments& arguments,
              const std::atomic<bool>& interrupt);

/// Collective. Boundary elements: solves for the charges of conductors. Throws stretto::InputError on every rank alike.
int run_bem(stretto::MpiComm& mpi, stretto::Comm& comm, const DenseArguments& arguments,
            const std::atomic<bool>& interrupt);

/// Collective. Solves with a kernel on points. Throws stretto::InputError on every rank alike.
int run_kernel(stretto::MpiComm& mpi, stretto::Comm& comm, const DenseArguments& arguments,
               const std::atomic<bool>& interrupt);

/// Collective. Measures the methods of a family, every formulation and number of columns in turn. Throws
/// stretto::InputError on every rank alike.
int run_bench(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);

/// Collective. Measures compression, products and errors of hierarchical matrices, beside hmat-oss where it is built
/// in.
int run_bench_hmatrix(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);

/// Every merged group of every method beside the triad: bytes per second, and what fraction of the triad's.
int run_bench_groups(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);

/// Collective. Measures what communication costs and what of it can be hidden, and keeps the laws in the machine file.
/// Throws stretto::InputError on every rank alike.
int run_overlap(stretto::MpiComm& mpi, const OverlapArguments& arguments, const std::atomic<bool>& interrupt);

/// Prints methods, preconditioners and problems, with options and costs. On one rank.
int run_list(const std::string& json);

/// Runs methods on a simulated cluster, in processes of its own. Called without MPI, with the command's own arguments.
int run_simulate(int argc, char** argv);
