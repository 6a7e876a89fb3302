// SPDX-License-Identifier: BSD-3-Clause
#include "solve_complex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "../files.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/text.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/io/right_hand_side.hpp"
#include "stretto/system/complex_system.hpp"

using namespace stretto;

namespace {

using Complex = std::complex<double>;

/// Two numbers each, as solve_methods keeps vectors.
MultiVector<Complex> as_complex(std::vector<double>& pairs, Index rows, int columns) {
    return {reinterpret_cast<Complex*>(pairs.data()), rows, columns};
}
std::vector<double> pairs_of(const std::vector<Complex>& values) {
    std::vector<double> pairs;
    pairs.reserve(2 * values.size());
    for (const auto& value : values) pairs.insert(pairs.end(), {value.real(), value.imag()});
    return pairs;
}

bool is_file(const Comm& comm, const std::string& path) {
    std::error_code error;
    return any_of(comm, comm.rank() == 0 && std::filesystem::is_regular_file(path, error));
}

ArrayFile read_pairs(const Comm& comm, const std::string& path, int columns, const Partition& partition, int threads) {
    const auto file = read_array<Complex>(comm, path, partition, threads);
    if (columns != 0 && columns != file.columns)
        throw InputError(fmt::format("{} has {} columns, not {}", path, file.columns, columns));
    return {pairs_of(file.values), file.columns};
}

/// This rank's rows of b, as pairs.
ArrayFile load_b(const Comm& comm, const DistributedRowsOf<Complex>& matrix, const SolveArguments& arguments,
                 int threads) {
    const auto& [partition, rows] = matrix;
    const int columns = std::max(arguments.columns, 1);
    if (is_file(comm, arguments.rhs)) return read_pairs(comm, arguments.rhs, arguments.columns, partition, threads);
    if (arguments.rhs != "ones" && arguments.rhs != "A*ones")  // random, in both parts
        return {
            right_hand_sides(comm, arguments.rhs, 2 * columns, partition, threads, [](Index) { return 0.0; }).values,
            columns};
    std::vector<Complex> b;
    for (Index i = 0; i < rows.rows(); ++i) {
        Complex sum = 1;
        if (arguments.rhs == "A*ones") {
            sum = 0;
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) sum += rows.values[static_cast<std::size_t>(k)];
        }
        b.insert(b.end(), static_cast<std::size_t>(columns), sum);
    }
    return {pairs_of(b), columns};
}

}  // namespace

bool is_complex_solve(const Comm& comm, const SolveArguments& arguments, const std::string& scalar) {
    const std::string file = is_complex_problem(arguments.problem) ? "" : file_of_problem(arguments.problem);
    bool found = is_complex_problem(arguments.problem);
    for (const auto& path : {file, arguments.rhs, arguments.guess})
        found = found || (!path.empty() && is_file(comm, path) && holds_complex(comm, path));
    if (found && scalar == "real") throw InputError("the system is complex: type --scalar complex, or leave it out");
    return found || scalar == "complex";
}

int solve_complex(const Context& context, Comm& comm, const SolveArguments& arguments, const std::string& storage,
                  Plan& plan, ProgressLine& line) {
    const auto start = Clock::now();
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    auto problem = load_complex_problem(comm, arguments.problem, threads, [&](double fraction) {
        line.show_fraction("reading " + arguments.problem, fraction);
    });
    line.clear();
    check_interrupt(comm, context.interrupt);
    auto b = load_b(comm, problem, arguments, threads);
    const int columns = b.columns;
    std::vector<double> guess(b.values.size(), 0.0);
    if (!arguments.guess.empty()) guess = read_pairs(comm, arguments.guess, columns, problem.partition, threads).values;
    const Partition partition = problem.partition;
    const ComplexSystem system(
        comm, std::move(problem),
        {.precond = arguments.precond, .storage = Storage(storage), .threads = threads, .insist = arguments.insist});
    for (auto& method : plan.methods) method = asked_method(system.chosen(method.text));

    SolveOptions asked;
    asked.method = plan.methods.front().text;
    asked.rtol = arguments.rtol;
    asked.atol = arguments.atol;
    asked.max_iterations = arguments.max_iterations;
    RunInfo info = system.info(asked, columns);
    info.program = shell_word(context.program) + " solve";
    info.problem = arguments.problem;
    info.formulation = arguments.formulation;
    info.latency = arguments.comm.latency;
    info.setup_seconds = all_max(comm, to_seconds(Clock::now() - start));
    const SolveArguments usual;
    const auto given = [&](const char* name, const auto& value, const auto& usual_value) {
        if (value != usual_value) info.options.emplace_back(name, shell_word(fmt::format("{}", value)));
    };
    given("--rhs", arguments.rhs, usual.rhs);
    given("--guess", arguments.guess, usual.guess);
    given("--columns", arguments.columns, usual.columns);
    given("--solution", arguments.solution, usual.solution);

    const Index rows = system.matrix().local_rows();
    const auto checkpoint = make_checkpoint(comm, arguments, rows);
    Report report(std::move(info));
    return solve_methods(
        comm, arguments, plan.methods,
        {.solve =
             [&](const SolveOptions& options, std::vector<double>& x) {
                 return system.solve(as_complex(b.values, rows, columns), as_complex(x, rows, columns), options);
             },
         .guess = std::move(guess),
         .threads = threads,
         .interrupt = context.interrupt,
         .checkpoint = checkpoint.get()},
        report, line, plan.plot,
        {.review = {},
         .keep =
             [&](std::size_t k, const std::vector<double>& x) {
                 if (plan.solutions.empty()) return;
                 const auto* const values = reinterpret_cast<const Complex*>(x.data());
                 write_solution(comm, partition, plan.solutions[k], std::span(values, x.size() / 2), columns);
             },
         .name = {}});
}
