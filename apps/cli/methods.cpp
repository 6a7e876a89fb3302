// SPDX-License-Identifier: BSD-3-Clause
#include "methods.hpp"

#include <fmt/core.h>

#include <filesystem>

#include "stretto/core/collective.hpp"
#include "stretto/matrix/matrix_market.hpp"
#include "stretto/solvers/registry.hpp"

using namespace stretto;

void check_methods(const SolveArguments& arguments) {
    for (const auto& text : arguments.methods) {
        const Spec spec = parse_spec(text);
        (void)Options(spec, find_method(spec.name).options);
    }
    if (arguments.methods.size() > 1 && !arguments.history.empty()) throw InputError("--history belongs to one method");
    if (arguments.true_residuals && arguments.history.empty() && arguments.plot.empty())
        throw InputError("--true-residuals go to --history or --plot");
}

std::optional<Plot> make_plot(const Comm& comm, const SolveArguments& arguments) {
    std::optional<Plot> plot;
    agree(comm, [&] {
        if (comm.rank() == 0 && !arguments.plot.empty()) plot.emplace(arguments.plot);
    });
    return plot;
}

void write_solution(const Comm& comm, const Partition& partition, const std::string& path, std::span<const double> x,
                    int columns) {
    std::string part;  // keeps the ending of the name, which chooses the format; empty for a pipe or a device
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        const std::filesystem::path target(path);
        if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) return;
        for (int k = 0; part.empty() || std::filesystem::exists(part); ++k)
            part = target.parent_path() / fmt::format("part{}.{}", k, target.filename().string());
    });
    part = broadcast(comm, part, 0);
    if (part.empty()) return write_array(comm, path, partition, x, columns);
    write_array(comm, part, partition, x, columns);
    agree(comm, [&] {
        if (comm.rank() == 0) std::filesystem::rename(part, path);
    });
}

std::vector<std::string> solution_files(const SolveArguments& arguments) {
    const auto at = arguments.solution.find("{}");
    if (arguments.solution.empty()) return {};
    if (at == std::string::npos) {
        if (arguments.methods.size() > 1)
            throw InputError("--solution of several methods: write {} where their names are to stand");
        return {arguments.solution};
    }
    std::vector<std::string> files;
    for (const auto& method : arguments.methods)
        files.push_back(std::string(arguments.solution).replace(at, 2, parse_spec(method).name));
    return files;
}

void check_interrupt(const Comm& comm, const std::atomic<bool>& interrupt) {
    if (all_max(comm, Global{interrupt}) > 0) throw Interrupted();
}

int solve_methods(Comm& comm, const SolveArguments& arguments, const SystemToSolve& system, Report& report,
                  ProgressLine& line, std::optional<Plot>& plot, const ResultUse& use) {
    const bool table = comm.rank() == 0 && arguments.json != "-";
    if (table) report.print_head();
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
    std::vector<double> x;
    for (std::size_t k = 0; k < arguments.methods.size(); ++k) {
        const auto& method = arguments.methods[k];
        x.assign(system.b.size(), 0.0);
        SolveOptions options;
        options.method = method;
        options.rtol = arguments.rtol;
        options.atol = arguments.atol;
        options.max_iterations = arguments.max_iterations;
        options.formulation = arguments.formulation == "basic" ? Formulation::basic : Formulation::merged;
        options.threads = system.threads;
        options.history = !(arguments.history.empty() && arguments.plot.empty());
        options.true_history = arguments.true_residuals;
        options.interrupt = system.interrupt;
        if (!arguments.trace.empty()) options.trace = &trace;
        if (line.shown()) options.progress = [&](const ProgressInfo& info) { line.show_solve(method, info); };
        Result result = solve<double>(*system.comm, system.A, system.M, {system.b.data(), system.rows, system.columns},
                                      {x.data(), system.rows, system.columns}, options);
        line.clear();
        if (use.judge) use.judge(method, result, x);
        report.add(comm, method, result);
        if (table) report.print_last();
        if (options.history) report.keep_history(result);
        if (plot) plot->add(method, result);
        attempt([&] { use.keep(k, x); });
        all_converged = all_converged && result.converged();
        if (result.status == Status::interrupted) break;
    }
    if (table) report.print_foot();
    if (!arguments.trace.empty()) attempt([&] { trace.write(comm, arguments.trace); });
    if (comm.rank() == 0 && !arguments.history.empty()) attempt([&] { report.write_history(arguments.history); });
    if (plot) attempt([&] { plot->write(fmt::format("{}, precond {}", arguments.problem, arguments.precond)); });
    if (comm.rank() == 0 && !arguments.json.empty()) attempt([&] { report.write_json(arguments.json); });
    agree(comm, [&] {
        if (!failed.empty()) throw InputError(failed);
    });
    return all_converged ? exit_converged : exit_not_converged;
}
