// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "stretto/core/comm.hpp"

/// Exit codes of the command line.
enum ExitCode { exit_converged = 0, exit_not_converged = 1, exit_bad_input = 2 };

/// Asked to stop before the solve began.
struct Interrupted {};

/// The arguments of `stretto solve`.
struct SolveArguments {
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
    std::string json, history, solution, plot;
    bool true_residuals = false;  ///< in history and plot
    bool progress = false;        ///< also where standard error is no terminal
};

/// The arguments of `stretto bench`.
struct BenchArguments {
    std::string family;
    std::string problem;       ///< empty: that of the family
    std::vector<int> columns;  ///< empty: those of the family
    int iterations = 0;        // 0: the default of the family
    int rounds = 3;
    std::string storage = "auto";
    int threads = 0;  ///< as for solve
    std::string json;
    bool progress = false;
};

/// Collective. Solves and reports. Throws stretto::InputError on every rank alike.
int run_solve(stretto::Comm& comm, const SolveArguments& arguments, const std::atomic<bool>& interrupt);

/// Collective. Measures the methods of a family, every formulation and number of columns in turn. Throws
/// stretto::InputError on every rank alike.
int run_bench(stretto::Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt);

/// Prints methods, preconditioners and problems, with options and costs. On one rank.
int run_list(const std::string& json);
