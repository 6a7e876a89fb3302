// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "commands.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stretto/core/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/matrix/csr.hpp"
#include "stretto/matrix/generators.hpp"
#include "stretto/matrix/matrix_market.hpp"
#include "stretto/precond/preconditioner.hpp"
#include "stretto/solvers/registry.hpp"
#include "stretto/solvers/solve.hpp"

using namespace stretto;

namespace {

/// OMP_NUM_THREADS where set; else this rank's share of the node's cores, and no more than it is bound to.
int default_threads(const Comm& comm) {
    if (const char* set = std::getenv("OMP_NUM_THREADS")) {
        int threads = 0;
        agree(comm, [&] {
            const std::string_view text(set);
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
            // A list gives a number for each level of nesting; the first is ours.
            if (error != std::errc() || threads < 1 || (end != text.data() + text.size() && *end != ','))
                throw InputError(fmt::format("OMP_NUM_THREADS={} is not a number of threads", text));
        });
        return threads;
    }
    MPI_Comm node = MPI_COMM_NULL;
    int ranks = 1;
    MPI_Comm_split_type(comm.mpi(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    cpu_set_t bound;
    CPU_ZERO(&bound);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const Global allowed = sched_getaffinity(0, sizeof bound, &bound) == 0 ? CPU_COUNT(&bound) : online;
    return static_cast<int>(all_min(comm, std::max<Global>(1, std::min<Global>(allowed, online / ranks))));
}

/// Collective. Rank 0 alone looks: the others may see another disk.
bool exists(const Comm& comm, const std::string& path) {
    std::error_code error;
    return all_max(comm, Global{comm.rank() == 0 && std::filesystem::exists(path, error)}) > 0;
}

bool is_problem(const std::string& text) {
    const auto name = text.substr(0, text.find(':'));
    return std::ranges::any_of(problems(), [&](const ProblemKind& kind) { return kind.name == name; });
}

CsrMatrix<double> load_matrix(Comm& comm, const std::string& problem, int threads, ProgressLine& line) {
    if (is_problem(problem)) {
        auto [partition, rows] = generate(comm, problem);
        return {comm, std::move(partition), std::move(rows), threads};
    }
    if (!exists(comm, problem)) {
        std::string names;
        for (const auto& kind : problems()) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
        throw InputError(fmt::format("'{}' is neither a file nor a problem; the problems are {}", problem, names));
    }
    auto [partition, rows] = read_matrix(comm, problem, threads,
                                         [&](double fraction) { line.show_fraction("reading " + problem, fraction); });
    line.clear();
    return {comm, std::move(partition), std::move(rows), threads};
}

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

/// Collective. So that nothing is lost after a long solve: output files that cannot be written, or would overwrite
/// each other or the input, end the run before it starts. Leaves no file behind.
void check_outputs(const Comm& comm, const SolveArguments& arguments) {
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        const auto place = [](const std::string& path) {
            return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
        };
        std::set<std::filesystem::path> taken;
        for (const auto* path : {&arguments.problem, &arguments.rhs})
            if (std::error_code error; std::filesystem::exists(*path, error)) taken.insert(place(*path));
        for (const auto* path : {&arguments.json, &arguments.history, &arguments.solution}) {
            if (path->empty() || (path == &arguments.json && *path == "-")) continue;
            if (*path == "-") throw InputError("only --json can go to standard output (-)");
            std::error_code error;
            const bool existed = std::filesystem::exists(*path, error);
            const bool device = existed && !std::filesystem::is_regular_file(*path, error);
            if (!std::ofstream(*path, std::ios::app)) throw InputError("cannot write " + *path);
            if (!existed) std::filesystem::remove(*path);
            if (!device && !taken.insert(place(*path)).second)
                throw InputError(*path + " is an input, or another output too");
        }
    });
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

/// Collective. Ends a run that was asked to stop before there is anything to report.
void check_interrupt(const Comm& comm, const std::atomic<bool>& interrupt) {
    if (all_max(comm, Global{interrupt}) > 0) throw Interrupted();
}

}  // namespace

int run_solve(Comm& comm, const SolveArguments& arguments, const std::atomic<bool>& interrupt) {
    for (const auto& text : arguments.methods) {
        const Spec spec = parse_spec(text);
        (void)Options(spec, find_method(spec.name).options);
    }
    if (arguments.methods.size() > 1 && !(arguments.history.empty() && arguments.solution.empty()))
        throw InputError("--history and --solution belong to one method");
    check_outputs(comm, arguments);

    ProgressLine line(comm.rank(), arguments.progress);
    const auto start = std::chrono::steady_clock::now();
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    const auto A = load_matrix(comm, arguments.problem, threads, line);
    check_interrupt(comm, interrupt);
    auto b = load_rhs(A, arguments, line);
    const auto M = make_preconditioner(arguments.precond, A);
    check_interrupt(comm, interrupt);
    const std::chrono::duration<double> setup = std::chrono::steady_clock::now() - start;

    Report report({.problem = arguments.problem,
                   .precond = arguments.precond,
                   .formulation = arguments.formulation,
                   .rows = A.rows(),
                   .nonzeros = A.nonzeros(),
                   .columns = b.columns,
                   .ranks = comm.size(),
                   .threads = threads,
                   .rtol = arguments.rtol,
                   .atol = arguments.atol,
                   .max_iterations = arguments.max_iterations,
                   .setup_seconds = all_max(comm, setup.count()),
                   .remarks = M ? M->remarks() : std::vector<std::string>{}});
    const bool json_only = arguments.json == "-";
    if (comm.rank() == 0 && !json_only) report.print_head();

    bool all_converged = true;
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
        options.history = !arguments.history.empty();
        options.interrupt = &interrupt;
        if (line.shown()) options.progress = [&](const ProgressInfo& info) { line.show_solve(method, info); };
        const Result result =
            solve<double>(comm, A, M ? AnyOperator<double>(*M) : AnyOperator<double>(),
                          {b.values.data(), A.local_rows(), b.columns}, {x.data(), A.local_rows(), b.columns}, options);
        line.clear();
        report.add(comm, method, result);
        if (comm.rank() == 0 && !json_only) report.print_last();
        if (options.history) report.keep_history(result);
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
    if (comm.rank() == 0 && !arguments.history.empty()) attempt([&] { report.write_history(arguments.history); });
    if (comm.rank() == 0 && !arguments.json.empty()) attempt([&] { report.write_json(arguments.json); });
    agree(comm, [&] {
        if (!failed.empty()) throw InputError(failed);
    });
    return all_converged ? exit_converged : exit_not_converged;
}
