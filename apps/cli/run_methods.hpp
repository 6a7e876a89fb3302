// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "command.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "show/plot.hpp"
#include "show/progress.hpp"
#include "show/report.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/io/checkpoint_file.hpp"

/// What `solve`, `bem` and `kernel` share: to solve with one method after the other and to report.

/// A system as methods take it.
struct SystemToSolve {
    /// Collective. x is the initial guess, then the solution.
    std::function<stretto::Result(stretto::SolveOptions options, std::vector<double>& x)> solve;
    std::vector<double> guess;
    int threads;
    const std::atomic<bool>& interrupt;
    bool least_squares = false;  ///< is what was asked for, where b is outside of the range of A
    stretto::CheckpointFile* checkpoint = nullptr;
};

/// What a command does with a result.
struct ResultUse {
    /// Before it is reported.
    std::function<void(const AskedMethod& method, stretto::Result& result, const std::vector<double>& x)> review;
    std::function<void(std::size_t method, const std::vector<double>& x)> keep;  ///< after that; may fail to write
    std::function<std::string(const AskedMethod& method)> name = {};  ///< of what solved; null: of what was asked for
};

/// What is looked at before anything is read.
struct Plan {
    std::vector<AskedMethod> methods;
    std::vector<std::string> solutions;
    std::optional<Plot> plot;
};

/// Outputs that do not fit the methods. Throws InputError.
void check_outputs_of_methods(const SolveArguments& arguments);

/// Collective. What --checkpoint and --resume ask for, with so many rows of this rank; null: nothing.
std::unique_ptr<stretto::CheckpointFile> make_checkpoint(const stretto::Comm& comm, const SolveArguments& arguments,
                                                         stretto::Index rows);

/// Collective. Something to draw with on rank 0, if a plot is asked for.
std::optional<Plot> make_plot(const stretto::Comm& comm, const SolveArguments& arguments);

/// Collective. Solves with one method after the other, reports, writes what is asked for. Returns the exit code.
int solve_methods(const stretto::Comm& comm, const SolveArguments& arguments, std::span<const AskedMethod> methods,
                  const SystemToSolve& system, Report& report, ProgressLine& line, std::optional<Plot>& plot,
                  const ResultUse& use);

/// Collective. Ends a run that was asked to stop before there is anything to report.
void check_interrupt(const stretto::Comm& comm, const std::atomic<bool>& interrupt);

/// A file for each method: {} in what `option` was given is its name. Empty: none is asked for.
std::vector<std::string> files_of_methods(std::span<const AskedMethod> methods, std::string_view option,
                                          const std::string& file);

/// The progress mode that was chosen.
struct ChosenProgress {
    std::optional<stretto::Probe> probe;  ///< what it was chosen by
    std::string remark;                   ///< for people; may be empty
};

/// Collective. With `auto`, where there is something to hide: sets the progress mode that hides reductions best, before
/// solves with A, of so many local rows, which takes vectors of so many columns.
ChosenProgress choose_progress(stretto::MpiComm& mpi, stretto::Comm& comm, const stretto::AnyOperator<double>& A,
                               stretto::Index rows, bool preconditioned, const CommArguments& arguments,
                               std::span<const AskedMethod> methods, int columns = 1);

/// Collective. Where a method has nothing from hiding, by the probe and by what the solve measured, says which of its
/// family does without at as few reductions, or that there was not enough work to hide behind.
void advise(const stretto::Comm& comm, const stretto::Probe& probe, const stretto::Method& method, bool preconditioned,
            stretto::Result& result);
