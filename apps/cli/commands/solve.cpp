// SPDX-License-Identifier: BSD-3-Clause
// stretto solve: a sparse system.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "../files.hpp"
#include "../model_machine.hpp"
#include "../run_methods.hpp"
#include "solve_complex.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/text.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/io/right_hand_side.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/checkpoint_identity.hpp"
#include "stretto/system/describe.hpp"
#include "stretto/system/linear_system.hpp"
#include "stretto/tasks/execution.hpp"

using namespace stretto;

namespace {

struct SparseArguments : SolveArguments {
    std::string prepare;  ///< steps with commas between
    std::string null_space = "auto";
    std::string storage = "auto", device = "cpu", execution = "threads", scalar = "auto";
    double trial_budget = 0.05;
    bool reproducible = false;
};

std::string no_empty_name(const std::string& value) { return value.empty() ? "the name of a file is wanted" : ""; }

void add(CLI::App& app, SparseArguments& solve) {
    app.add_option("problem", solve.problem,
                   "Matrix Market (.mtx, .mtx.gz) or PETSc binary file, problem, as poisson3d:100, or kron:FILE,N "
                   "(extruded to N "
                   "layers)")
        ->required();
    app.add_option("--rhs", solve.rhs, "ones, A*ones, random[:SEED] or a file, as for A")->capture_default_str();
    app.add_option("--guess", solve.guess,
                   "Initial guess: a Matrix Market array, of a column for each right-hand side");
    add_columns_option(app, solve.columns);
    solve.precond = {};
    add_solve_options(app, solve);
    app.get_option("--method")
        ->required(false)
        ->option_text("NAME")
        ->description(
            "One method, NAME[:key=value,…], or auto: what is expected to take least, and another where it does not "
            "(default); l=auto and s=auto choose a depth; refine:inner=NAME is one in single precision, refined in "
            "double; repeat it to compare several");
    app.get_option("--precond")
        ->description(
            "Preconditioner, NAME[:key=value,…], or auto: what is expected to take least (default: none, where no "
            "--method is given auto)");
    app.get_option("--machine")
        ->description(
            "A file of stretto machine: auto chooses by its times, the same in every run; else, keep what is measured "
            "of "
            "the machine in this JSON file");
    app.add_option("--checkpoint", solve.checkpoint,
                   "Keep what a solve can go on from in this file, now and then and when it is interrupted: "
                   "FILE[,every=10min], or 30s, 1h; every=500: iterations")
        ->check(no_empty_name);
    app.add_option("--resume", solve.resume,
                   "Go on from the checkpoint in this file, on any number of ranks, with its method and preconditioner "
                   "where none are named")
        ->check(no_empty_name);
    app.add_option("--trial-budget", solve.trial_budget,
                   "What auto may take for trials before it chooses, as a part of what the solve is expected to take")
        ->check(number(0, 1, "a part from 0 to 1"))
        ->capture_default_str();
    app.add_option("--prepare", solve.prepare,
                   "Steps before: equilibrate, rcm, and metis or nonzeros, with commas between");
    app.add_option("--null-space", solve.null_space,
                   "What is kept out of b and x where A is singular: auto (constants, also by component, where A takes "
                   "them to zero), constant (the same, and a least-squares solution is what is wanted), a Matrix "
                   "Market array of vectors (likewise), or none")
        ->capture_default_str();
    app.add_flag("--insist", solve.insist,
                 "Run a method for SPD matrices also where the matrix or the preconditioner is not symmetric");
    app.add_flag("--reproducible", solve.reproducible,
                 "The same bits on any number of ranks and threads: sums without rounding, rows in the order of "
                 "columns, and preconditioners that are the same on all of them (none, jacobi, chebyshev)");
    add_storage_option(app, solve.storage);
    add_device_option(app, solve.device);
    app.add_option("--scalar", solve.scalar,
                   "Values: real, complex, or auto: complex where a file or problem is; single: vectors, matrix and "
                   "preconditioner in single precision, b − A x and x in double (refine:inner=…, precision=single)")
        ->check(CLI::IsMember({"auto", "real", "complex", "single"}))
        ->capture_default_str();
    app.add_option("--execution", solve.execution,
                   "How the processor's cores are used: threads, which meet after every pass, or "
                   "tasks[:tiles=N,communication=any|main], tiles of rows that wait for what they need alone")
        ->capture_default_str();
}

/// Collective. What nobody asked for is that of the checkpoint, or chosen.
SparseArguments with_defaults(const Comm& comm, SparseArguments arguments) {
    if (!arguments.resume.empty() && !arguments.guess.empty())
        throw InputError("--guess and --resume do not go together: x is that of the checkpoint");
    if (!arguments.resume.empty() && arguments.methods.empty()) {
        const auto kept = read_checkpoint_header(comm, arguments.resume);
        arguments.methods.push_back(kept.method);
        if (arguments.precond.empty()) {
            const auto of = identified(kept.precond);
            arguments.precond = of.precond;
            if (arguments.prepare.empty()) arguments.prepare = of.prepare;
        }
    }
    if (arguments.precond.empty()) arguments.precond = arguments.methods.empty() ? automatic : "none";
    if (arguments.methods.empty()) arguments.methods.emplace_back(automatic);
    if (comm.reproducible() &&
        (arguments.precond == automatic || std::ranges::any_of(arguments.methods, [](const std::string& method) {
             return method == automatic || has_automatic_depth(method);
         })))
        throw InputError(
            "--reproducible and auto do not go together, for auto chooses by times: name a method and a "
            "preconditioner, as in --method cg --precond jacobi");
    if (arguments.scalar != "single") return arguments;
    if (arguments.precond == automatic || std::ranges::count(arguments.methods, automatic) > 0)
        throw InputError(
            "--scalar single and auto do not go together: name a method and a preconditioner, as in "
            "--method gmres --precond jacobi");
    for (auto& method : arguments.methods) method = in_single(method);
    arguments.precond = preconditioner_in_single(arguments.precond);
    arguments.scalar = "auto";
    return arguments;
}

Plan check(const Comm& comm, const SparseArguments& arguments) {
    Plan plan;
    for (const auto& text : arguments.methods)
        plan.methods.push_back(text == automatic ? AskedMethod{text, nullptr} : asked_method(text));
    check_outputs_of_methods(arguments);
    (void)parse_prepare(arguments.prepare);
    plan.solutions = files_of_methods(plan.methods, "--solution", arguments.solution);
    std::vector<std::string> outputs{arguments.history, arguments.plot, arguments.trace};
    std::ranges::copy(plan.solutions, std::back_inserter(outputs));
    const auto kept = arguments.checkpoint.empty() ? "" : parse_checkpoint(arguments.checkpoint).path;
    outputs.push_back(kept);
    const auto resumed = arguments.resume == kept ? "" : arguments.resume;  // or goes on in the same file
    check_outputs(comm,
                  {file_of_problem(arguments.problem), arguments.rhs, arguments.guess, arguments.null_space, resumed},
                  arguments.json, outputs);
    plan.plot = make_plot(comm, arguments);
    return plan;
}

/// b and the initial guess.
std::pair<ArrayFile, ArrayFile> load_vectors(const Comm& comm, const DistributedRows& matrix,
                                             const SparseArguments& arguments, int threads, ProgressLine& line) {
    const auto& [partition, rows] = matrix;
    const auto reading = [&](const std::string& file) {
        return [&line, file](double fraction) { line.show_fraction("reading " + file, fraction); };
    };
    auto b = right_hand_sides(
        comm, arguments.rhs, arguments.columns, partition, threads,
        [&rows](Index i) {
            const auto row = static_cast<std::size_t>(i);
            return std::accumulate(rows.values.begin() + rows.start[row], rows.values.begin() + rows.start[row + 1],
                                   0.0);
        },
        reading(arguments.rhs));
    ArrayFile guess{std::vector<double>(b.values.size(), 0.0), b.columns};
    if (!arguments.guess.empty())
        guess = read_guess(comm, arguments.guess, b.columns, partition, threads, reading(arguments.guess));
    line.clear();
    return {std::move(b), std::move(guess)};
}

/// The options that say which system it was, for commands that solve it otherwise.
std::vector<std::pair<std::string, std::string>> what_was_solved(const SparseArguments& arguments) {
    const SparseArguments usual;
    std::vector<std::pair<std::string, std::string>> words;
    const auto given = [&](const char* name, const auto& value, const auto& usual_value) {
        if (value != usual_value) words.emplace_back(name, shell_word(fmt::format("{}", value)));
    };
    given("--rhs", arguments.rhs, usual.rhs);
    given("--guess", arguments.guess, usual.guess);
    given("--columns", arguments.columns, usual.columns);
    given("--machine", arguments.comm.machine, usual.comm.machine);
    given("--device", arguments.device, usual.device);
    given("--execution", arguments.execution, usual.execution);
    given("--null-space", arguments.null_space, usual.null_space);
    given("--solution", arguments.solution, usual.solution);
    return words;
}

/// Whoever names a null space wants what can be had without it.
bool wants_least_squares(const SparseArguments& arguments) {
    return arguments.null_space != "auto" && arguments.null_space != "none";
}

/// Collective. What is to be said, before the solve, of a b outside of the range of A; empty: nothing.
std::string outside_range(const LinearSystem& system, MultiVector<const double> b, const SparseArguments& arguments) {
    const auto outside = system.outside_range(b);
    const double most = outside.empty() ? 0 : std::ranges::max(outside);
    if (!(most > arguments.rtol)) return {};
    const std::string text =
        fmt::format("b is outside of the range of A, by {:.2e} of its length: no x solves the system", most);
    if (!system.null_space()) return text + " (--null-space constant seeks one that minimises ‖b − A x‖)";
    return text + (wants_least_squares(arguments) ? "; sought is one that minimises ‖b − A x‖"
                                                  : "; sought is one that minimises ‖b − A x‖ (--null-space constant "
                                                    "says that it is an answer)");
}

/// Collective. What is to be known of b before the solve.
std::vector<std::string> remarks_on_b(const LinearSystem& system, MultiVector<const double> b,
                                      const SparseArguments& arguments) {
    const auto& found = system.structure().null_vectors;
    if (arguments.rhs == "A*ones" && !found.empty() && found.front().of == 1)
        return {"warning: A takes constants to zero, so that b = A·1 is nothing but rounding (--rhs random)"};
    const auto remark = outside_range(system, b, arguments);
    return remark.empty() ? std::vector<std::string>() : std::vector{remark};
}

/// Whether there was something to choose.
bool left_open(const SparseArguments& arguments, const AskedMethod& method) {
    return arguments.precond == automatic || !method.method || has_automatic_depth(method.text);
}

/// Throws InputError for what is there for real systems alone.
void check_complex(const SparseArguments& arguments) {
    const auto refuse = [](const char* option, const std::string& value) {
        throw InputError(fmt::format("{} {} is for real systems, and this one is complex", option, value));
    };
    const auto is_one_of = [](const std::string& value, std::initializer_list<const char*> usual) {
        return std::ranges::count(usual, value) > 0;
    };
    if (!arguments.prepare.empty()) refuse("--prepare", arguments.prepare);
    if (!is_one_of(arguments.null_space, {"auto", "none"})) refuse("--null-space", arguments.null_space);
    if (arguments.device != "cpu") refuse("--device", arguments.device);
    if (arguments.execution != "threads") refuse("--execution", arguments.execution);
}

int run(const Context& context, const SparseArguments& given) {
    context.mpi->set_reproducible(given.reproducible);
    ChosenComm chosen(*context.mpi, given.comm);
    Comm& comm = chosen.get();
    const SparseArguments arguments = with_defaults(comm, given);
    Plan plan = check(comm, arguments);
    const bool named =
        std::ranges::any_of(plan.methods, [](const AskedMethod& each) { return each.method != nullptr; });
    const auto machine = known_machine(comm, arguments.comm.machine, named);  // a probe for methods by name is kept
    const Device* device = nullptr;
    std::unique_ptr<Device> tasks;
    agree(comm, [&] {
        device = find_device(arguments.device);
        tasks = task_execution(arguments.execution);
        if (tasks && device)
            throw InputError(
                fmt::format("--execution tasks is for the processor, not for --device {}", device->name()));
        if (tasks) device = tasks.get();
    });
    ProgressLine line(comm.rank(), arguments.progress);
    if (is_complex_solve(comm, arguments, arguments.scalar)) {
        check_complex(arguments);
        return solve_complex(context, comm, arguments, arguments.storage, plan, line);
    }
    const auto start = Clock::now();
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    auto matrix = load_problem(comm, arguments.problem, threads, line);
    check_interrupt(comm, context.interrupt);
    auto [b, guess] = load_vectors(comm, matrix, arguments, threads, line);
    LinearSystem system(comm, std::move(matrix),
                        {.precond = arguments.precond,
                         .prepare = arguments.prepare,
                         .null_space = arguments.null_space,
                         .storage = Storage(arguments.storage),
                         .threads = arguments.threads,
                         .columns = b.columns,
                         .insist = arguments.insist,
                         .keep_entries = false,
                         .device = device,
                         .methods = arguments.methods,
                         .machine = machine,
                         .trial_budget = arguments.trial_budget,
                         .probe = arguments.comm.progress_mode == automatic && !machine});
    check_interrupt(comm, context.interrupt);

    const int columns = b.columns;
    const double setup = to_seconds(Clock::now() - start);
    RunInfo info = system.info({}, columns);
    info.setup_seconds = all_max(comm, setup);
    info.program = shell_word(context.program) + " solve";
    info.problem = arguments.problem;
    info.formulation = arguments.formulation;
    info.latency = arguments.comm.latency;
    info.rtol = arguments.rtol;
    info.atol = arguments.atol;
    info.max_iterations = arguments.max_iterations;
    info.options = what_was_solved(arguments);
    const auto& A = system.matrix();
    const auto* M = system.preconditioner();
    const auto progress =
        machine ? ChosenProgress{}
                : choose_progress(*context.mpi, comm, A, A.local_rows(), M != nullptr, arguments.comm, plan.methods);
    // What the preconditioner has to say comes last.
    if (!progress.remark.empty())
        info.remarks.insert(info.remarks.end() - (M ? std::ssize(M->remarks()) : 0), progress.remark);
    const Index rows = system.local_rows();
    std::ranges::move(remarks_on_b(system, {b.values.data(), rows, columns}, arguments),
                      std::back_inserter(info.remarks));
    const auto checkpoint = make_checkpoint(comm, arguments, rows);
    if (arguments.precond == automatic) info.choice = to_json(system.choice());
    Report report(std::move(info));
    return solve_methods(comm, arguments, plan.methods,
                         {.solve =
                              [&](SolveOptions options, std::vector<double>& x) {
                                  return system.solve({b.values.data(), rows, columns}, {x.data(), rows, columns},
                                                      std::move(options));
                              },
                          .guess = std::move(guess.values),
                          .threads = threads,
                          .interrupt = context.interrupt,
                          .least_squares = wants_least_squares(arguments),
                          .checkpoint = checkpoint.get()},
                         report, line, plan.plot,
                         {.review =
                              [&](const AskedMethod& method, Result& result, const std::vector<double>&) {
                                  auto now = system.info({}, columns);
                                  if (left_open(arguments, method)) now.choice = to_json(system.choice());
                                  report.solved_with(now);
                                  if (progress.probe && method.method)
                                      advise(comm, *progress.probe, *method.method, M != nullptr, result);
                              },
                          .keep =
                              [&](std::size_t k, const std::vector<double>& x) {
                                  if (!plan.solutions.empty())
                                      write_solution(comm, system.partition(), plan.solutions[k], x, columns);
                              },
                          .name =
                              [&](const AskedMethod& method) {
                                  return left_open(arguments, method) ? system.choice().method : method.text;
                              }});
}

}  // namespace

const Command solve_command = CommandOf<SparseArguments>::row<add, run>("solve", "Solve A x = b");
