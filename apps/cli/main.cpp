// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "command.hpp"
#include "files.hpp"
#include "show/print.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/io/result_json.hpp"

namespace {

constexpr const Command* commands[] = {&solve_command,   &advise_command,  &bem_command,      &kernel_command,
                                       &bench_command,   &overlap_command, &simulate_command, &predict_command,
                                       &machine_command, &list_command};

// Signal handlers can reach nothing but globals.
std::atomic<bool> interrupted{false};

/// The first signal asks the solver to end at its next iteration, the second one ends the process.
void on_signal(int signal) {
    interrupted = true;
    std::signal(signal, SIG_DFL);
}

/// Memory may be refused where nothing can be thrown, as while JSON is destroyed: that ends as any other lack of
/// memory.
[[noreturn]] void on_terminate() {
    try {
        if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        std::fputs("stretto: out of memory\n", stderr);
        int begun = 0, ended = 0;
        MPI_Initialized(&begun);
        MPI_Finalized(&ended);
        if (begun && !ended) MPI_Abort(MPI_COMM_WORLD, exit_bad_input);
        std::_Exit(exit_bad_input);
    } catch (...) {  // a mistake of ours, for a debugger to see
    }
    std::abort();
}

const Command* find_command(const std::string& name) {
    const auto found = std::ranges::find(commands, name, &Command::name);
    return found == std::end(commands) ? nullptr : *found;
}

[[noreturn]] void refuse_command(const std::string& name) {
    throw stretto::InputError(stretto::refusal(fmt::format("there is no command '{}'", name), name,
                                               stretto::names_of(commands, &Command::name)));
}

/// A word that no option took, which may be the value of one.
std::string unexpected(const CLI::App& parser, const std::string& word) {
    const auto takes = [&parser](const char* option) { return parser.get_option_no_throw(option) != nullptr; };
    const bool problem = names_problem(word), method = std::ranges::any_of(stretto::methods(), [&](const auto* each) {
                                                  return each->name == word.substr(0, word.find(':'));
                                              });
    std::string more;
    if (problem && takes("--problem")) more = fmt::format(": did you mean --problem {}?", word);
    if (problem && takes("problem")) more = ": one problem at a time";
    if (method && takes("--method")) more = fmt::format(": did you mean --method {}?", word);
    return fmt::format("unexpected argument '{}'{}", word, more);
}

/// What is wrong with the words of a command. One that no option took comes first: a misspelt option is the reason why
/// another is missing.
std::string complaint(const CLI::App& parser, const CLI::ParseError& error) {
    const auto extras = parser.remaining();
    const auto option = std::ranges::find_if(extras, [](const auto& each) { return each.starts_with('-'); });
    if (option != extras.end()) {
        const auto name = option->substr(0, option->find('='));
        std::vector<std::string> names;
        for (const auto* each : parser.get_options())
            if (!each->get_positional()) names.push_back(each->get_name());
        const auto near = stretto::meant(name, std::vector<std::string_view>(names.begin(), names.end()));
        return fmt::format("{} has no option {}{}", parser.get_name(), name,
                           near.empty() ? "" : fmt::format(": did you mean {}?", near));
    }
    if (!extras.empty()) return unexpected(parser, extras.front());
    const std::string text = error.what(), name = text.substr(0, text.find(':'));
    const auto* const given = parser.get_option_no_throw(name);
    const bool repeated = error.get_name() == "ArgumentMismatch" && given && given->results().size() > 1;
    return repeated ? fmt::format("{} is given {} times, and taken once: {}", name, given->results().size(),
                                  fmt::join(given->results(), " or "))
                    : text;
}

int run(int argc, char** argv, int rank, bool with_mpi) {
    CLI::App app("Stretto: Krylov solvers that hide, merge and avoid global reductions", "stretto");
    app.set_version_flag("--version", std::string(stretto::version()));
    app.require_subcommand(1);
    const std::string asked = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
    if (!asked.empty() && !find_command(asked)) refuse_command(asked);
    std::function<int(const Context&)> work;
    const CLI::App* asked_parser = &app;
    for (const Command* command : commands) {
        auto* const parser = app.add_subcommand(command->name, command->help);
        auto run_it = command->options(*parser);
        if (command->name != asked) continue;
        work = std::move(run_it);
        asked_parser = parser;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& done) {
        return rank == 0 ? app.exit(done) : 0;
    } catch (const CLI::ParseError& error) {
        if (rank == 0)
            print_error("stretto: {}\nTry: stretto{}{} --help\n", complaint(*asked_parser, error),
                        asked.empty() ? "" : " ", asked);
        return exit_bad_input;
    }
    if (!with_mpi) return work({nullptr, interrupted, argv[0]});
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    stretto::MpiComm mpi(MPI_COMM_WORLD);
    return work({&mpi, interrupted, argv[0]});
}

/// Input errors come up on all ranks alike; one of them says so. Anything else may be this rank's own trouble.
int run_and_report(int argc, char** argv, int rank, bool with_mpi) {
    try {
        return run(argc, argv, rank, with_mpi);
    } catch (const stretto::InputError& error) {
        if (rank == 0) print_error("stretto: {}\n", error.what());
        return exit_bad_input;
    } catch (const Interrupted&) {
        if (rank == 0) print_error("stretto: interrupted before the solve began\n");
        return exit_not_converged;
    } catch (const std::exception& error) {
        const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
        print_error("stretto: rank {}: {}\n", rank, memory ? "out of memory" : error.what());
        if (with_mpi) MPI_Abort(MPI_COMM_WORLD, exit_bad_input);  // the others would wait for it forever
        return exit_bad_input;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::set_terminate(on_terminate);
    const Command* const command = argc > 1 ? find_command(argv[1]) : nullptr;
    const bool with_mpi = !command || command->with_mpi;
    int rank = 0;
    if (with_mpi) {
        // The main thread alone communicates; a progress thread does so beside it.
        int provided = MPI_THREAD_SINGLE;
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    int code = run_and_report(argc, argv, rank, with_mpi);
    if (!flush_out()) {
        print_error("stretto: cannot write to standard output{}{}\n", output_error != 0 ? ": " : "",
                    output_error != 0 ? std::strerror(output_error) : "");
        code = exit_bad_input;
    }
    if (with_mpi) MPI_Finalize();
    return code;
}
