// SPDX-License-Identifier: BSD-3-Clause
#include "run_methods.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "stretto/comm/collective.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/io/checkpoint_file.hpp"
#include "stretto/io/trace_file.hpp"

using namespace stretto;

namespace {

constexpr double most_probed = 4e7;  // bytes of a product on a rank, moved within 10 ms

/// Whether a method has reductions in flight while it multiplies.
bool hides(const Method& method, bool preconditioned) {
    return (preconditioned ? method.hidden_reductions_preconditioned : method.hidden_reductions) > 0;
}

SolveOptions options_of(const SolveArguments& arguments, const SystemToSolve& system) {
    SolveOptions options;
    options.rtol = arguments.rtol;
    options.atol = arguments.atol;
    options.max_iterations = arguments.max_iterations;
    options.formulation = arguments.formulation == "basic" ? Formulation::basic : Formulation::merged;
    options.threads = system.threads;
    options.verify = arguments.verify == "recurrence" ? Verify::recurrence : Verify::true_residual;
    options.history = !(arguments.history.empty() && arguments.plot.empty());
    options.true_history = arguments.true_residuals;
    options.interrupt = &system.interrupt;
    options.checkpoint = system.checkpoint;
    return options;
}

}  // namespace

void check_outputs_of_methods(const SolveArguments& arguments) {
    if (arguments.methods.size() > 1 && !arguments.history.empty()) throw InputError("--history belongs to one method");
    if (arguments.true_residuals && arguments.history.empty() && arguments.plot.empty())
        throw InputError("--true-residuals go to --history or --plot");
    if (arguments.methods.size() > 1 && !(arguments.checkpoint.empty() && arguments.resume.empty()))
        throw InputError("--checkpoint and --resume belong to one method");
}

std::unique_ptr<CheckpointFile> make_checkpoint(const Comm& comm, const SolveArguments& arguments, Index rows) {
    if (arguments.checkpoint.empty() && arguments.resume.empty()) return nullptr;
    auto checkpoint = std::make_unique<CheckpointFile>(comm, arguments.checkpoint);
    if (!arguments.resume.empty()) checkpoint->from = read_checkpoint(comm, arguments.resume, rows);
    return checkpoint;
}

std::optional<Plot> make_plot(const Comm& comm, const SolveArguments& arguments) {
    std::optional<Plot> plot;
    agree(comm, [&] {
        if (comm.rank() == 0 && !arguments.plot.empty()) plot.emplace(arguments.plot);
    });
    return plot;
}

std::vector<std::string> files_of_methods(std::span<const AskedMethod> methods, std::string_view option,
                                          const std::string& file) {
    const auto at = file.find("{}");
    if (file.empty()) return {};
    if (at == std::string::npos) {
        if (methods.size() > 1)
            throw InputError(fmt::format("{} of several methods: write {{}} where their names are to stand", option));
        return {file};
    }
    std::vector<std::string> files;
    for (const auto& each : methods) files.push_back(std::string(file).replace(at, 2, parse_spec(each.text).name));
    return files;
}

void check_interrupt(const Comm& comm, const std::atomic<bool>& interrupt) {
    if (any_of(comm, interrupt)) throw Interrupted();
}

int solve_methods(const Comm& comm, const SolveArguments& arguments, std::span<const AskedMethod> methods,
                  const SystemToSolve& system, Report& report, ProgressLine& line, std::optional<Plot>& plot,
                  const ResultUse& use) {
    const bool table = comm.rank() == 0 && arguments.json != "-";
    if (table) report.print_head(comm.size());
    // Every output is tried before the first that failed is reported.
    std::string failed;
    const auto attempt = [&](auto&& write) {
        try {
            write();
        } catch (const InputError& error) {
            if (failed.empty()) failed = error.what();
        }
    };
    bool all_converged = true;
    Trace trace;
    for (std::size_t k = 0; k < methods.size(); ++k) {
        const auto& method = methods[k];
        auto x = system.guess;
        SolveOptions options = options_of(arguments, system);
        options.method = method.text;
        if (!arguments.trace.empty()) options.trace = &trace;
        if (line.shown())
            options.monitor = [&](const IterationInfo& info) {
                line.show_solve(method.text, info);
                return true;
            };
        Result result = system.solve(options, x);
        line.clear();
        if (use.review) use.review(method, result, x);
        if (system.checkpoint && system.checkpoint->saved() > 0)
            result.events.push_back(
                {result.iterations,
                 fmt::format("{} checkpoint{} in {}, {:.2g} s{}", system.checkpoint->saved(),
                             system.checkpoint->saved() > 1 ? "s" : "", system.checkpoint->path(),
                             system.checkpoint->took(), result.passed() ? "" : ": --resume goes on from the last")});
        const std::string name = use.name ? use.name(method) : method.text;
        report.add(comm, name, result);
        if (table) report.print_last();
        if (options.history) report.keep_history(result);
        if (plot) plot->add(name, result);
        attempt([&] { use.keep(k, x); });
        const bool least_squares = system.least_squares && result.status == Status::least_squares;
        all_converged = all_converged && (result.passed() || least_squares);
        if (result.status == Status::interrupted) break;
    }
    if (table) report.print_foot();
    if (!arguments.trace.empty()) attempt([&] { write_trace(comm, trace, arguments.trace); });
    if (comm.rank() == 0 && !arguments.history.empty()) attempt([&] { report.write_history(arguments.history); });
    if (plot) attempt([&] { plot->write(fmt::format("{}, precond {}", arguments.problem, arguments.precond)); });
    if (comm.rank() == 0 && !arguments.json.empty()) attempt([&] { report.write_json(arguments.json); });
    agree(comm, [&] {
        if (!failed.empty()) throw InputError(failed);
    });
    return all_converged ? exit_converged : exit_not_converged;
}

ChosenProgress choose_progress(MpiComm& mpi, Comm& comm, const AnyOperator<double>& A, Index rows, bool preconditioned,
                               const CommArguments& arguments, std::span<const AskedMethod> methods, int columns) {
    MachineFile machine(comm, arguments.machine, arguments.latency);
    if (arguments.progress_mode != "auto" || comm.size() == 1 || std::ranges::none_of(methods, [&](const auto& each) {
            return each.method && hides(*each.method, preconditioned);
        })) {
        if (arguments.machine.empty()) return {};
        return {
            {},
            fmt::format("{}: not read, for there is no progress mode to choose (auto chooses by what stretto machine "
                        "writes)",
                        arguments.machine)};
    }
    auto found = machine.probe();
    const bool known = found.has_value();
    if (!known) {
        found = probe(comm, mpi);
        machine.keep(*found);
    }
    mpi.set_progress(found->choice());
    // What a reduction can hide behind. A long product hides any, and would not fit into the time of a probe.
    std::string product;
    if (all_max(comm, A.bytes(1)) < most_probed) {
        std::vector<double> x(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)), y(x.size());
        const auto start = Clock::now();
        A.apply({x.data(), rows, columns}, {y.data(), rows, columns});
        product = fmt::format("; a product takes {:.1f} µs", 1e6 * all_max(comm, to_seconds(Clock::now() - start)));
    }
    return {found, fmt::format("progress mode: {}{}{}", to_string(*found), product,
                               known ? fmt::format(" (as kept in {})", arguments.machine) : "")};
}

void advise(const Comm& comm, const Probe& probe, const Method& own, bool preconditioned, Result& result) {
    constexpr double little = 0.1, half = 0.5;
    const double hidden = all_min(comm, result.per_iteration.hidden_fraction);
    if (!hides(own, preconditioned) || hidden > half || (hidden > little && probe.hides())) return;
    const auto other = std::ranges::find_if(methods(), [&](const Method* each) {
        return each->classic == own.classic && each->reductions <= own.reductions + 0.1 && each->hidden_reductions == 0;
    });
    std::string text =
        fmt::format("{:.0f} % of the time of reductions was hidden, one takes {:.1f} µs alone: ", 100 * hidden,
                    1e6 * probe.reduction);
    if (probe.hides())
        text += "there is little work to hide them behind; more of them in flight (l) would help";
    else
        text += "this machine hides next to nothing";
    if (other != methods().end()) text += fmt::format("; {} has no more of them and less to compute", (*other)->name);
    result.events.insert(result.events.begin(), {0, std::move(text)});
}
