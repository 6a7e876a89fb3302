// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "input.hpp"
#include "machine.hpp"
#include "plot.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stretto/core/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/matrix/csr.hpp"
#include "stretto/matrix/matrix_market.hpp"
#include "stretto/precond/preconditioner.hpp"
#include "stretto/solvers/registry.hpp"
#include "stretto/solvers/solve.hpp"

using namespace stretto;

namespace {

constexpr double most_probed = 4e7;  // bytes of a product on a rank, moved within 10 ms

/// This rank's rows of the right-hand sides, row-major.
ArrayFile load_rhs(const CsrMatrix<double>& A, const SolveArguments& arguments, ProgressLine& line) {
    const Comm& comm = A.comm();
    const int columns = std::max(arguments.columns, 1);
    const auto make = [&](auto&& f) {
        ArrayFile b{{}, columns};
        const Global first = A.partition().first(comm.rank());
        for (Index row = 0; row < A.local_rows(); ++row)
            for (int j = 0; j < columns; ++j) b.values.push_back(f(first + row, j));
        return b;
    };
    if (arguments.rhs == "ones") return make([](Global, int) { return 1.0; });
    if (arguments.rhs == "A*ones") {
        auto ones = make([](Global, int) { return 1.0; });
        ArrayFile b{std::vector<double>(ones.values.size()), columns};
        A.apply({ones.values.data(), A.local_rows(), columns}, {b.values.data(), A.local_rows(), columns});
        return b;
    }
    if (arguments.rhs == "random" || arguments.rhs.starts_with("random:")) {
        static constexpr OptionInfo seed_option[] = {{.name = "seed",
                                                      .default_value = 1,
                                                      .minimum = 0,
                                                      .maximum = 9e15,
                                                      .help = "of the random numbers",
                                                      .integral = true}};
        Spec spec{arguments.rhs, "random", {}, {}};
        if (arguments.rhs.size() > 6) spec.options.emplace_back("seed", arguments.rhs.substr(7));
        const auto seed = static_cast<std::uint64_t>(Options(spec, seed_option).number("seed"));
        return make([seed](Global row, int j) { return uniform(seed, row, j); });
    }
    if (!exists(comm, arguments.rhs))
        throw InputError(fmt::format("--rhs '{}' is neither a file nor ones, A*ones or random[:SEED]", arguments.rhs));
    auto b = read_array(comm, arguments.rhs, A.partition(), A.threads(),
                        [&](double fraction) { line.show_fraction("reading " + arguments.rhs, fraction); });
    line.clear();
    if (arguments.columns != 0 && arguments.columns != b.columns)
        throw InputError(fmt::format("--columns {}, but {} has {}", arguments.columns, arguments.rhs, b.columns));
    return b;
}

/// Collective. Written beside its place and then moved there, so that no half-written file is taken for a solution.
void write_solution(const CsrMatrix<double>& A, const std::string& path, std::span<const double> x, int columns) {
    const Comm& comm = A.comm();
    std::string part;  // keeps the ending of the name, which chooses the format; empty for a pipe or a device
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        const std::filesystem::path target(path);
        if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) return;
        for (int k = 0; part.empty() || std::filesystem::exists(part); ++k)
            part = target.parent_path() / fmt::format("part{}.{}", k, target.filename().string());
    });
    part = broadcast(comm, part, 0);
    if (part.empty()) return write_array(comm, path, A.partition(), x, columns);
    write_array(comm, part, A.partition(), x, columns);
    agree(comm, [&] {
        if (comm.rank() == 0) std::filesystem::rename(part, path);
    });
}

/// Whether a method has reductions in flight while it multiplies.
bool hides(const std::string& method, bool preconditioned) {
    const Method& row = find_method(parse_spec(method).name);
    return (preconditioned ? row.hidden_reductions_preconditioned : row.hidden_reductions) > 0;
}

/// Collective. With `auto`, where there is something to hide: sets the progress mode that hides reductions best.
/// Returns what it was chosen by, and says so in the remarks.
std::optional<Probe> choose_progress(MpiComm& mpi, Comm& comm, const CsrMatrix<double>& A,
                                     const SolveArguments& arguments, std::vector<std::string>& remarks) {
    const bool preconditioned = arguments.precond != "none";
    if (arguments.comm.progress_mode != "auto" || comm.size() == 1 ||
        std::ranges::none_of(arguments.methods, [&](const auto& method) { return hides(method, preconditioned); }))
        return {};
    MachineFile machine(comm, arguments.comm.machine, arguments.comm.latency);
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
        std::vector<double> x(static_cast<std::size_t>(A.local_rows())), y(x.size());
        const auto start = Clock::now();
        A.apply({x.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
        product = fmt::format("; a product takes {:.1f} µs", 1e6 * all_max(comm, to_seconds(Clock::now() - start)));
    }
    remarks.push_back(fmt::format("progress mode: {}{}{}", to_string(*found), product,
                                  known ? fmt::format(" (as kept in {})", arguments.comm.machine) : ""));
    return found;
}

/// Where a method has nothing from hiding, says which of its family does without at as few reductions.
void advise(const Probe& probe, const std::string& method, bool preconditioned, Result& result) {
    if (probe.hides() || !hides(method, preconditioned)) return;
    const Method& own = find_method(parse_spec(method).name);
    for (const Method* other : methods())
        if (other->classic == own.classic && other->reductions == 1 && other->hidden_reductions == 0)
            result.events.insert(
                result.events.begin(),
                {0,
                 fmt::format("hiding a reduction of {:.1f} µs gains nothing here: {} has no more of them and less to "
                             "compute",
                             1e6 * probe.reduction, other->name)});
}

/// Collective. Ends a run that was asked to stop before there is anything to report.
void check_interrupt(const Comm& comm, const std::atomic<bool>& interrupt) {
    if (all_max(comm, Global{interrupt}) > 0) throw Interrupted();
}

}  // namespace

int run_solve(MpiComm& mpi, Comm& comm, const SolveArguments& arguments, const std::atomic<bool>& interrupt) {
    for (const auto& text : arguments.methods) {
        const Spec spec = parse_spec(text);
        (void)Options(spec, find_method(spec.name).options);
    }
    if (arguments.methods.size() > 1 && !(arguments.history.empty() && arguments.solution.empty()))
        throw InputError("--history and --solution belong to one method");
    if (arguments.true_residuals && arguments.history.empty() && arguments.plot.empty())
        throw InputError("--true-residuals go to --history or --plot");
    check_outputs(comm, {arguments.problem, arguments.rhs}, arguments.json,
                  {arguments.history, arguments.solution, arguments.plot, arguments.trace});
    std::optional<Plot> plot;
    agree(comm, [&] {
        if (comm.rank() == 0 && !arguments.plot.empty()) plot.emplace(arguments.plot);
    });

    ProgressLine line(comm.rank(), arguments.progress);
    const auto start = std::chrono::steady_clock::now();
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    const auto A = load_matrix(comm, arguments.problem, arguments.storage, threads, line);
    check_interrupt(comm, interrupt);
    auto b = load_rhs(A, arguments, line);
    const auto M = make_preconditioner(arguments.precond, A);
    check_interrupt(comm, interrupt);
    const std::chrono::duration<double> setup = std::chrono::steady_clock::now() - start;

    auto remarks = storage_remarks(A);
    const auto probed = choose_progress(mpi, comm, A, arguments, remarks);
    if (M) std::ranges::move(M->remarks(), std::back_inserter(remarks));
    Report report({.problem = arguments.problem,
                   .precond = arguments.precond,
                   .formulation = arguments.formulation,
                   .latency = arguments.comm.latency,
                   .rows = A.rows(),
                   .nonzeros = A.nonzeros(),
                   .columns = b.columns,
                   .ranks = comm.size(),
                   .threads = threads,
                   .rtol = arguments.rtol,
                   .atol = arguments.atol,
                   .max_iterations = arguments.max_iterations,
                   .setup_seconds = all_max(comm, setup.count()),
                   .remarks = std::move(remarks)});
    const bool json_only = arguments.json == "-";
    if (comm.rank() == 0 && !json_only) report.print_head();

    bool all_converged = true;
    Trace trace;
    std::vector<double> x;
    for (const auto& method : arguments.methods) {
        x.assign(b.values.size(), 0.0);
        SolveOptions options;
        options.method = method;
        options.rtol = arguments.rtol;
        options.atol = arguments.atol;
        options.max_iterations = arguments.max_iterations;
        options.formulation = arguments.formulation == "basic" ? Formulation::basic : Formulation::merged;
        options.threads = threads;
        options.history = !(arguments.history.empty() && arguments.plot.empty());
        options.true_history = arguments.true_residuals;
        options.interrupt = &interrupt;
        if (!arguments.trace.empty()) options.trace = &trace;
        if (line.shown()) options.progress = [&](const ProgressInfo& info) { line.show_solve(method, info); };
        Result result =
            solve<double>(comm, A, M ? AnyOperator<double>(*M) : AnyOperator<double>(),
                          {b.values.data(), A.local_rows(), b.columns}, {x.data(), A.local_rows(), b.columns}, options);
        line.clear();
        if (probed) advise(*probed, method, M != nullptr, result);
        report.add(comm, method, result);
        if (comm.rank() == 0 && !json_only) report.print_last();
        if (options.history) report.keep_history(result);
        if (plot) plot->add(method, result);
        all_converged = all_converged && result.converged();
        if (result.status == Status::interrupted) break;
    }
    if (comm.rank() == 0 && !json_only) report.print_foot();
    // Every output is tried before the first that failed is reported.
    std::string failed;
    const auto attempt = [&](auto&& write) {
        try {
            write();
        } catch (const InputError& error) {
            if (failed.empty()) failed = error.what();
        }
    };
    if (!arguments.solution.empty()) attempt([&] { write_solution(A, arguments.solution, x, b.columns); });
    if (!arguments.trace.empty()) attempt([&] { trace.write(comm, arguments.trace); });
    if (comm.rank() == 0 && !arguments.history.empty()) attempt([&] { report.write_history(arguments.history); });
    if (plot) attempt([&] { plot->write(fmt::format("{}, precond {}", arguments.problem, arguments.precond)); });
    if (comm.rank() == 0 && !arguments.json.empty()) attempt([&] { report.write_json(arguments.json); });
    agree(comm, [&] {
        if (!failed.empty()) throw InputError(failed);
    });
    return all_converged ? exit_converged : exit_not_converged;
}
