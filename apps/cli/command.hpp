// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "stretto/comm/comm.hpp"

/// Exit codes of the command line.
enum ExitCode { exit_converged = 0, exit_not_converged = 1, exit_bad_input = 2 };

/// Asked to stop before the solve began.
struct Interrupted {};

/// What a command runs in.
struct Context {
    stretto::MpiComm* mpi;  ///< null for commands without MPI
    const std::atomic<bool>& interrupt;
    std::string program;  ///< as it was typed
};

/// A command of `stretto`. Those with MPI run on all ranks together, throw stretto::InputError on every rank alike, and
/// return the exit code.
struct Command {
    const char *name, *help;
    bool with_mpi;
    /// Adds the options to a parser. What it returns runs the command once they are parsed.
    std::function<int(const Context&)> (*options)(CLI::App& app);
};

/// The row of a command whose options are members of Arguments.
template <class Arguments>
struct CommandOf {
    template <void (*add)(CLI::App&, Arguments&), int (*run)(const Context&, const Arguments&)>
    static constexpr Command row(const char* name, const char* help, bool with_mpi = true) {
        return {name, help, with_mpi, [](CLI::App& app) -> std::function<int(const Context&)> {
                    auto arguments = std::make_shared<Arguments>();
                    add(app, *arguments);
                    return [arguments](const Context& context) { return run(context, *arguments); };
                }};
    }
};

// The table, in the order of `stretto --help`.
extern const Command solve_command, advise_command, bem_command, kernel_command, bench_command, overlap_command,
    simulate_command, predict_command, machine_command, list_command;
