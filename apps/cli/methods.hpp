// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "commands.hpp"
#include "machine.hpp"
#include "plot.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/sparse/partition.hpp"

/// A system as methods take it.
struct SystemToSolve {
    stretto::AnyOperator<double> A, M;
    std::span<double> b;  ///< rows × columns
    stretto::Index rows;
    int columns, threads;
    stretto::Comm* comm;  ///< of the vectors: this rank's own where they are replicated
    const std::atomic<bool>* interrupt;
};

/// What a command does with a result.
struct ResultUse {
    /// Before it is reported.
    std::function<void(const std::string& method, stretto::Result& result, const std::vector<double>& x)> review;
    std::function<void(std::size_t method, const std::vector<double>& x)> keep;  ///< after that; may fail to write
};

/// The checks of `stretto solve` that need no matrix: methods, their options, outputs. Throws InputError.
void check_methods(const SolveArguments& arguments);

/// Collective. Something to draw with on rank 0, if a plot is asked for.
std::optional<Plot> make_plot(const stretto::Comm& comm, const SolveArguments& arguments);

/// Collective. Solves with one method after the other, reports, writes what is asked for. Returns the exit code.
int solve_methods(stretto::Comm& comm, const SolveArguments& arguments, const SystemToSolve& system, Report& report,
                  ProgressLine& line, std::optional<Plot>& plot, const ResultUse& use);

/// Collective. Ends a run that was asked to stop before there is anything to report.
void check_interrupt(const stretto::Comm& comm, const std::atomic<bool>& interrupt);

/// Collective. Written beside its place and then moved there, so that no half-written file is taken for a solution.
void write_solution(const stretto::Comm& comm, const stretto::Partition& partition, const std::string& path,
                    std::span<const double> x, int columns);

/// A file for each method: {} in what `option` was given is its name. Empty: none is asked for.
std::vector<std::string> files_of_methods(const SolveArguments& arguments, std::string_view option,
                                          const std::string& file);
inline std::vector<std::string> solution_files(const SolveArguments& arguments) {
    return files_of_methods(arguments, "--solution", arguments.solution);
}

/// Collective. With `auto`, where there is something to hide: sets the progress mode that hides reductions best, before
/// solves with A, of so many local rows. Returns what it was chosen by, and says so in the remarks.
std::optional<stretto::Probe> choose_progress(stretto::MpiComm& mpi, stretto::Comm& comm,
                                              const stretto::AnyOperator<double>& A, stretto::Index rows,
                                              bool preconditioned, const SolveArguments& arguments,
                                              std::vector<std::string>& remarks);

/// Collective. Where a method has nothing from hiding, by the probe and by what the solve measured, says which of its
/// family does without at as few reductions, or that there was not enough work to hide behind.
void advise(const stretto::Comm& comm, const stretto::Probe& probe, const std::string& method, bool preconditioned,
            stretto::Result& result);
