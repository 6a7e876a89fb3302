// SPDX-License-Identifier: BSD-3-Clause
// stretto advise: what may solve a system, and why, as a page to read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../files.hpp"
#include "../model_machine.hpp"
#include "../options.hpp"
#include "../run_methods.hpp"
#include "../show/advice_page.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/text.hpp"
#include "stretto/io/right_hand_side.hpp"
#include "stretto/system/linear_system.hpp"

using namespace stretto;

namespace {

struct AdviseArguments {
    CommArguments comm;
    std::string problem, rhs = "ones", prepare, json;
    int iterations = 20, threads = 0;
    double rtol = 1e-8;
};

void add(CLI::App& app, AdviseArguments& arguments) {
    app.add_option("problem", arguments.problem, "As for solve: a file or a generated problem")->required();
    app.add_option("--rhs", arguments.rhs, "ones, A*ones, random[:SEED] or a Matrix Market file")
        ->capture_default_str();
    app.add_option("--prepare", arguments.prepare, "As for solve");
    app.add_option("--rtol", arguments.rtol, "The tolerance that is wanted")
        ->check(number(0, 1, "a tolerance from 0 to 1"))
        ->capture_default_str();
    app.add_option("--iterations", arguments.iterations, "Of a trial")
        ->transform(whole_number(1, 1e6, "a number of iterations from 1 to 1e6"))
        ->capture_default_str();
    add_threads_option(app, arguments.threads);
    add_json_option(app, arguments.json, "what was found");
    add_comm_options(app, arguments.comm);
    app.get_option("--machine")
        ->description("A file of stretto machine: its times count, and none are measured but those of the trials");
}

int run(const Context& context, const AdviseArguments& arguments) {
    ChosenComm chosen(*context.mpi, arguments.comm);
    Comm& comm = chosen.get();
    check_outputs(comm, {file_of_problem(arguments.problem), arguments.rhs}, arguments.json);
    const auto machine = known_machine(comm, arguments.comm.machine, false);
    ProgressLine line(comm.rank(), false);
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    auto matrix = load_problem(comm, arguments.problem, threads, line);
    const auto& rows = matrix.rows;
    const auto b = right_hand_sides(comm, arguments.rhs, 0, matrix.partition, threads,
                                    [&rows](Index i) {
                                        const auto row = static_cast<std::size_t>(i);
                                        return std::accumulate(rows.values.begin() + rows.start[row],
                                                               rows.values.begin() + rows.start[row + 1], 0.0);
                                    },
                                    {});
    check_interrupt(comm, context.interrupt);
    LinearSystem system(comm, std::move(matrix),
                        {.precond = std::string(automatic),
                         .prepare = arguments.prepare,
                         .threads = arguments.threads,
                         .columns = b.columns,
                         .keep_entries = false,
                         .machine = machine});
    const auto tried =
        system.trials({b.values.data(), system.local_rows(), b.columns}, arguments.iterations, arguments.rtol);
    RunInfo info = system.info({.rtol = arguments.rtol}, b.columns);
    info.program = shell_word(context.program) + " solve";
    info.problem = arguments.problem;
    info.rtol = arguments.rtol;
    info.latency = arguments.comm.latency;
    if (arguments.rhs != "ones") info.options.emplace_back("--rhs", shell_word(arguments.rhs));
    if (machine) info.options.emplace_back("--machine", shell_word(arguments.comm.machine));
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        const AdvicePage page(system.structure(), system.choice().parts, tried, info, arguments.iterations);
        if (arguments.json != "-") page.print();
        if (!arguments.json.empty()) write_json(arguments.json, page.json());
    });
    return exit_converged;
}

}  // namespace

const Command advise_command =
    CommandOf<AdviseArguments>::row<add, run>("advise", "Say what may solve a system, and why");
