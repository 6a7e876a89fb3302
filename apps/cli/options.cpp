// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "stretto/core/names.hpp"
#include "stretto/core/text.hpp"
#include "stretto/core/types.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/storage.hpp"
#include "stretto/system/choice.hpp"

using namespace stretto;

namespace {

/// The names in a list, each with its options, where a text has several of `names`: "cg:patience=9,gmres" has two.
std::vector<std::string> listed(const std::string& text, std::span<const std::string_view> names) {
    std::vector<std::string> found;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const auto end = std::min(text.find_first_of(", ", begin), text.size());
        const auto part = text.substr(begin, end - begin);
        const bool is_name = std::ranges::find(names, part.substr(0, part.find(':'))) != names.end();
        if (is_name || found.empty())
            found.push_back(part);
        else if (!part.empty())
            found.back() += "," + part;
        begin = end + 1;
    }
    return found;
}

CLI::Validator one_method() {
    return {[](std::string& text) -> std::string {
                auto names = names_of(methods(), &Method::name);
                names.push_back("refine");
                const auto found = listed(text, names);
                if (found.size() < 2) return "";
                return fmt::format("'{}' are several, and each has an option of its own: --method {}", text,
                                   fmt::join(found, " --method "));
            },
            "", "one method"};
}

CLI::Validator one_preconditioner() {
    return {[](std::string& text) -> std::string {
                const auto found = listed(text, names_of(preconditioners(), &PreconditionerKind::name));
                if (found.size() < 2) return "";
                return fmt::format("'{}' are several, and a solve takes one: --precond {}", text,
                                   fmt::join(found, " or --precond "));
            },
            "", "one preconditioner"};
}

}  // namespace

CLI::Validator number(double minimum, double maximum, const char* what) {
    return {[=](std::string& text) -> std::string {
                double value = 0;
                const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
                const bool valid =
                    error == std::errc() && end == text.data() + text.size() && value >= minimum && value <= maximum;
                return valid ? "" : "'" + text + "' is not " + what;
            },
            "", "number"};
}

CLI::Validator whole_number(double minimum, double maximum, const char* what) {
    return {[=](std::string& text) -> std::string {
                const auto value = parse_count(text);
                const auto as_double = static_cast<double>(value.value_or(0));
                if (!value || as_double < minimum || as_double > maximum) return "'" + text + "' is not " + what;
                text = std::to_string(*value);
                return "";
            },
            "", "whole number"};
}

void add_machine_option(CLI::App& app, std::string& machine) {
    app.add_option("--machine", machine, "Keep what is measured of the machine in this JSON file");
}

void add_comm_options(CLI::App& app, CommArguments& comm) {
    app.add_option(
           "--progress-mode", comm.progress_mode,
           "What lets reductions advance while their rank computes: none, poll (tests inside long kernels), thread "
           "(one of ours), library (MPI's own, MPICH_ASYNC_PROGRESS=1), or auto (what a short probe finds best)")
        ->check(CLI::IsMember({"none", "poll", "thread", "library", "auto"}))
        ->capture_default_str();
    app.add_option("--emulate-latency", comm.latency,
                   "Every reduction takes at least so long while work goes on: TIME[,message=TIME][,jitter=TIME], "
                   "as 500us,message=20us");
    add_machine_option(app, comm.machine);
}

void add_device_option(CLI::App& app, std::string& device) {
    app.add_option("--device", device,
                   "What methods run on: the processor's cores, a GPU, or a GPU that this program plays, to test with")
        ->check(CLI::IsMember(std::vector<std::string>(device_names.begin(), device_names.end())))
        ->capture_default_str();
}
void add_storage_option(CLI::App& app, std::string& storage) {
    const std::vector<std::string> names(storage_names.begin(), storage_names.end());
    app.add_option(
           "--storage", storage,
           "Of the matrix: compressed rows (csr), one of the forms that move fewer bytes, where it does, or the "
           "first of these that does (auto)")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
}

void add_threads_option(CLI::App& app, int& threads) {
    app.add_option(
           "--threads", threads,
           "Threads of a rank (default: OMP_NUM_THREADS, else its share of the cores, or 1 where the problem is small)")
        ->transform(whole_number(1, 1024, "a number of threads from 1 to 1024"));
}

void add_columns_option(CLI::App& app, int& columns) {
    app.add_option("--columns", columns, "Right-hand sides solved together")
        ->transform(whole_number(1, max_columns, "a number of columns from 1 to 64"));
}

void add_json_option(CLI::App& app, std::string& json, const char* what) {
    app.add_option("--json", json, std::string("Write ") + what + " to this file (- for standard output)");
}

ChosenComm::ChosenComm(MpiComm& mpi, const CommArguments& asked) : mpi_(mpi) {
    for (const auto mode : {ProgressMode::poll, ProgressMode::thread, ProgressMode::library})
        if (name(mode) == asked.progress_mode) mpi.set_progress(mode);
    if (!asked.latency.empty()) slow_.emplace(mpi, parse_latency(asked.latency));
}

AskedMethod asked_method(const std::string& text) { return {text, choose_method(without_automatic(text)).method}; }

std::vector<AskedMethod> SolveArguments::asked_methods() const {
    std::vector<AskedMethod> all;
    std::ranges::transform(methods, std::back_inserter(all), asked_method);
    return all;
}

void add_solve_options(CLI::App& app, SolveArguments& solve) {
    app.add_option(
           "--method", solve.methods,
           "One method, NAME[:key=value,…]; several are compared: --method cg --method pipelined_cg; refine:inner=NAME "
           "is one in single precision, refined in double")
        ->required()
        ->check(one_method())
        ->option_text("NAME REQUIRED")
        ->allow_extra_args(false);
    app.add_option("--precond", solve.precond, "Preconditioner, NAME[:key=value,…]")
        ->check(one_preconditioner())
        ->capture_default_str();
    const auto tolerance = number(0, 1e300, "a tolerance from 0 up");
    app.add_option("--rtol", solve.rtol, "Converged when ‖b − Ax‖ ≤ max(rtol ‖b‖, atol), recomputed")
        ->check(tolerance)
        ->capture_default_str();
    app.add_option("--atol", solve.atol, "Absolute tolerance")->check(tolerance)->capture_default_str();
    app.add_option("--verify", solve.verify,
                   "true: what is called converged is recomputed; recurrence: what the method believes is taken, for "
                   "operators too noisy to recompute with")
        ->check(CLI::IsMember({"true", "recurrence"}))
        ->capture_default_str();
    app.add_option("--max-it", solve.max_iterations, "Iteration limit")
        ->transform(whole_number(0, 2e9, "a number of iterations from 0 to 2e9"))
        ->capture_default_str();
    app.add_option("--formulation", solve.formulation, "One pass over memory per group of statements, or per statement")
        ->check(CLI::IsMember({"merged", "basic"}))
        ->capture_default_str();
    add_threads_option(app, solve.threads);
    add_json_option(app, solve.json, "the result as JSON");
    app.add_option("--history", solve.history, "Write the recursive residuals of all iterations to this CSV file");
    app.add_option("--plot", solve.plot,
                   "Draw the residuals of all iterations and methods: FILE.png or FILE.svg, by gnuplot or Python's "
                   "matplotlib");
    app.add_flag("--true-residuals", solve.true_residuals,
                 "In history and plot also ‖b − Ax‖, for one more product an iteration");
    app.add_option("--trace", solve.trace,
                   "Write what ran and what was in flight on every rank to this file, in Chrome's trace format "
                   "(Perfetto)");
    add_comm_options(app, solve.comm);
    app.add_option("--solution", solve.solution,
                   "Write x to this file, a Matrix Market array; {} stands for the method");
    app.add_flag("--progress", solve.progress,
                 "Show the progress line also where standard error is no terminal, as under mpirun");
}
