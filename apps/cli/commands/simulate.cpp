// SPDX-License-Identifier: BSD-3-Clause
// stretto simulate: starts the simulator (apps/simulator, a build of its own on SimGrid's SMPI) once for each number of
// nodes and reports what it says. Runs without MPI.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "../child_process.hpp"
#include "../command.hpp"
#include "../files.hpp"
#include "../options.hpp"
#include "../show/print.hpp"
#include "../show/simulation_report.hpp"
#include "../simulated_machine.hpp"
#include "../simulation_job.hpp"
#include "stretto/core/error.hpp"
#include "stretto/driver/check.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int most_ranks = 65536;  // a process has room for

fs::path find_simulator() {
    std::vector<fs::path> places;
    if (const char* const given = std::getenv("STRETTO_SIMULATOR")) places.emplace_back(given);
    constexpr const char* file = "stretto-simulator.so";
    for (const char* const folder : {".", "../simulate", "../lib/stretto"})
        places.push_back(own_folder() / folder / file);
    if (const auto found = find_first(places)) return *found;
    throw InputError("the simulator is not built: make simulate (or name it in STRETTO_SIMULATOR)");
}

/// The file that the simulator writes a method's timelines to.
std::string trace_file(const std::string& prefix, std::string method) {
    std::ranges::replace_if(method, [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '-');
    return prefix + method + ".json";
}

/// What SimGrid said when it gave up: the message of its first error, without where in its source and how it came
/// there.
std::string reason(const fs::path& errors) {
    std::ifstream file(errors);
    std::string text(std::istreambuf_iterator<char>(file), {});
    for (const std::string level : {"/CRITICAL] ", "/ERROR] "})
        if (const auto found = text.find(level); found != text.npos) {
            std::string line = text.substr(found + level.size());
            line.erase(std::min(line.find('\n'), line.size()));
            const auto what = line.starts_with("Uncaught exception") ? line.find(": ") : line.npos;
            return what == line.npos ? line : line.substr(what + 2);
        }
    return text;
}

class Simulation {
public:
    explicit Simulation(const SimulateArguments& arguments)
        : arguments_(arguments),
          nodes_(parse_nodes(arguments.nodes)),
          machine_(read_machine(arguments.machine, arguments.settings)),
          ranks_per_node_(arguments.ranks_per_node > 0 ? arguments.ranks_per_node
                                                       : machine_["ranks_per_node"].get<int>()),
          platform_(arguments.platform.empty() ? machine_["platform"].get<std::string>() : arguments.platform),
          report_(arguments, machine_, ranks_per_node_, platform_),
          line_(0, arguments.progress) {
        check_arguments();
        check_platform();
        std::vector<std::string> outputs{arguments.plot};
        if (!arguments.trace.empty())
            for (const auto& method : arguments.methods) outputs.push_back(trace_file(arguments.trace, method));
        check_outputs({arguments.machine, platform_, arguments.hosts}, arguments.json_file, outputs);
        simulator_ = find_simulator();
        if (std::system("command -v smpirun >/dev/null") != 0)
            throw InputError("smpirun is not there: make simulate installs SimGrid");
    }

    /// The exit code. What was simulated before a signal or an error came is written.
    int run() {
        report_.print_head(nodes_.front());
        (void)signal_received();  // from now on they end the simulator, too
        try {
            for (const int nodes : nodes_) {
                run_nodes(nodes);
                if (signal_received() != 0) break;
            }
        } catch (const InputError&) {
            if (report_.points() > 0) write();
            throw;
        }
        if (report_.points() > 0) write();
        const int signal = signal_received();
        if (signal == 0) return exit_converged;
        print_error("stretto: interrupted: {} of {} points are simulated\n", report_.points(),
                    nodes_.size() * arguments_.methods.size());
        return 128 + signal;
    }

private:
    void check_arguments() const {
        for (const int nodes : nodes_)
            if (nodes > most_ranks / ranks_per_node_)
                throw InputError(fmt::format("--nodes {}: {} ranks on each are more than {} in all", nodes,
                                             ranks_per_node_, most_ranks));
        (void)problem_of_simulation(arguments_);
        (void)grid_of(arguments_);
        (void)detours_of(arguments_);
        check_numerics(arguments_);
        for (const auto& method : arguments_.methods) (void)choose_method(method);
        if (arguments_.reductions == "mpi" && !arguments_.blocking)
            throw InputError("--reductions mpi is SMPI's blocking all-reduce: it takes --blocking");
        if (arguments_.polls > 0 && arguments_.reductions != "rd")
            throw InputError("--polls are for --reductions rd: the others advance by themselves");
        if (arguments_.precond.starts_with("cost:")) {
            const double vectors = finite_number(arguments_.precond.substr(5), "--precond");
            if (vectors < 0 || vectors > 1e6 || std::fmod(vectors, 2) != 0)
                throw InputError(fmt::format("--precond {}: it moves an even number of vectors", arguments_.precond));
        }
    }

    void check_platform() {
        if (platform_.ends_with(".xml")) {
            if (!fs::is_regular_file(platform_)) throw InputError(fmt::format("there is no platform '{}'", platform_));
            if (arguments_.hosts.empty())
                throw InputError(
                    fmt::format("--platform {}: --hosts FILE says which of its hosts are nodes", platform_));
            hosts_ = read_hosts(arguments_.hosts);
            for (const int nodes : nodes_)
                if (nodes > static_cast<int>(hosts_.size()))
                    throw InputError(
                        fmt::format("--nodes {}: {} names {} hosts", nodes, arguments_.hosts, hosts_.size()));
        } else if (platform_ != "aries" && platform_ != "fattree") {
            throw InputError(fmt::format("--platform '{}' is neither aries nor fattree nor a FILE.xml", platform_));
        } else if (!arguments_.hosts.empty()) {
            throw InputError("--hosts goes with --platform FILE.xml: other platforms name their own");
        }
    }

    void run_nodes(int nodes) {
        const int ranks = nodes * ranks_per_node_;
        const TemporaryFolder folder;
        const bool own = hosts_.empty();
        const fs::path platform = own ? folder / "platform.xml" : fs::absolute(platform_);
        if (own) std::ofstream(platform) << platform_xml(platform_, nodes, ranks_per_node_, machine_["parameters"]);
        std::vector<std::string> hosts;
        for (int n = 0; n < nodes; ++n)
            hosts.push_back(own ? fmt::format("n{}", n) : hosts_[static_cast<std::size_t>(n)]);
        std::ofstream list(folder / "hosts");
        for (const auto& host : hosts) list << fmt::format("{}:{}\n", host, ranks_per_node_);
        list.close();
        const json job = simulation_job(arguments_, machine_, ranks_per_node_, hosts);
        std::ofstream(folder / "job.json") << job.dump();

        std::size_t done = 0;
        const auto show = [&] {
            if (done < arguments_.methods.size())
                line_.show_fraction(
                    fmt::format("{} nodes, {} ranks: {}", nodes, ranks, job["methods"][done].get<std::string>()),
                    static_cast<double>(report_.points()) /
                        static_cast<double>(nodes_.size() * arguments_.methods.size()));
        };
        show();
        const int processes = job["numerics"] == "one" ? 1 : ranks;
        ChildProcess simulator(simulator_command(arguments_, simulator_, processes, platform), folder.path(),
                               folder / "errors");
        std::string problem;
        while (const auto text = simulator.next_line()) {
            if (!text->starts_with("{")) continue;
            auto point = json::parse(*text, nullptr, false);
            if (point.is_discarded()) continue;  // the rest of a line whose writer was ended
            if (point.contains("error")) {
                problem = point["error"];
                continue;
            }
            point["nodes"] = nodes;
            line_.clear();
            report_.add(std::move(point));
            ++done;
            show();
        }
        line_.clear();
        const bool succeeded = simulator.succeeded();
        if (signal_received() != 0) return;
        if (!problem.empty()) throw InputError(problem);
        if (!succeeded || done < arguments_.methods.size())
            throw InputError(fmt::format("the simulation of {} ranks failed: {}", ranks, reason(folder / "errors")));
    }

    void write() {
        json options = simulation_job(arguments_, machine_, ranks_per_node_, {});
        for (const char* const one : {"costs", "hosts"}) options.erase(one);
        options["problem"] = arguments_.problem;
        options["exchanges"] = arguments_.exchanges;
        options["numerics"] = arguments_.numerics;
        options["imbalance"] = arguments_.imbalance;
        options["detours"] = arguments_.detours;
        options["seed"] = arguments_.seed;
        report_.write(options);
    }

    const SimulateArguments& arguments_;
    std::vector<int> nodes_;
    json machine_;
    int ranks_per_node_;
    std::string platform_;
    std::vector<std::string> hosts_;  ///< of a platform file
    SimulationReport report_;
    ProgressLine line_;
    fs::path simulator_;
};

/// What is simulated.
void add_problem(CLI::App& app, SimulateArguments& arguments) {
    app.add_option("--problem", arguments.problem, "A generated problem, as poisson2d:2000, or a file, as for solve")
        ->required();
    app.add_option("--method,--methods", arguments.methods, "NAME[:key=value,…], one or several, spaces between")
        ->required()
        ->option_text("NAME ... REQUIRED");
    app.add_option("--machine", arguments.machine,
                   "cori, tsubame2, lomonosov, lomonosov2, or a JSON file of parameters")
        ->capture_default_str();
    app.add_option("--platform", arguments.platform, "aries, fattree or FILE.xml of SimGrid (default: the machine's)");
    app.add_option("--hosts", arguments.hosts,
                   "With FILE.xml: names of its hosts, one a line; the first are the nodes");
    app.add_option("--nodes", arguments.nodes, "FIRST..LAST, each twice the one before, or a list with commas")
        ->capture_default_str();
    app.add_option("--ranks-per-node", arguments.ranks_per_node, "Default: the machine's")
        ->transform(whole_number(1, 1024, "a number of ranks from 1 to 1024"));
    app.add_option("--precond", arguments.precond,
                   "As for solve; cost:K moves K vectors, two in a pass; matrix moves as much as an ILU(0)")
        ->capture_default_str();
    app.add_option("--columns", arguments.columns, "Right-hand sides")
        ->transform(whole_number(1, max_columns, "a number of columns from 1 to 64"));
    app.add_option("--rhs", arguments.rhs, "As for solve, where there are numerics")->capture_default_str();
    app.add_option("--deal", arguments.deal,
                   "How ranks share the grid: rows, as solve does, boxes, or columns: boxes of whole lines along x")
        ->check(CLI::IsMember({"rows", "columns", "boxes"}))
        ->capture_default_str();
    app.add_option("--grid", arguments.grid,
                   "Of a file: its cells along x, y and z, as 50x100x100, each with as many rows as there are");
    app.add_option("--formulation", arguments.formulation, "merged or basic")
        ->check(CLI::IsMember({"merged", "basic"}))
        ->capture_default_str();
    app.add_option("--storage", arguments.storage, "Of the matrix, as for solve; dry runs have csr")
        ->check(CLI::IsMember({"auto", "csr"}))
        ->capture_default_str();
    app.add_flag("--to-solution", arguments.to_solution,
                 "Whole solves: seconds to the solution, what they took, what their iterations were");
    app.add_option("--iterations", arguments.iterations, "Of a solve, at most (60; with --to-solution 100000)")
        ->transform(whole_number(1, 1e6, "a number of iterations from 1 to 1e6"));
    app.add_option("--rtol", arguments.rtol, "As for solve")
        ->check(number(0, 1e300, "a tolerance from 0 up"))
        ->capture_default_str();
}

/// How, and what is written.
void add_network(CLI::App& app, SimulateArguments& arguments) {
    app.add_option(
           "--numerics", arguments.numerics,
           "Who computes: ranks (each its rows), one (process for all; no preconditioner, jacobi or block_jacobi) or "
           "auto (one for --to-solution, where it can)")
        ->check(CLI::IsMember({"auto", "ranks", "one"}))
        ->capture_default_str();
    app.add_flag("--dry", arguments.dry,
                 "Costs and messages of the problem, on a short surrogate: for the largest sizes");
    app.add_option(
           "--reductions", arguments.reductions,
           "What carries sums: rd (messages, advanced inside calls), act (they advance by themselves), ana (the "
           "same computed, without contention), mpi (SMPI's, blocking)")
        ->check(CLI::IsMember({"rd", "act", "ana", "mpi"}))
        ->capture_default_str();
    app.add_option("--exchanges", arguments.exchanges,
                   "What carries halos: messages, memory (computed arrivals) or auto (memory above 1024 ranks and with "
                   "--to-solution)")
        ->check(CLI::IsMember({"auto", "messages", "memory"}))
        ->capture_default_str();
    app.add_flag("--blocking", arguments.blocking, "Every sum is waited for where it is started");
    app.add_option("--polls", arguments.polls, "For rd: tests in every kernel")
        ->transform(whole_number(0, 1000, "a number of tests from 0 to 1000"));
    app.add_option("--imbalance", arguments.imbalance, "Mean of an exponential part by which kernels take longer")
        ->check(number(0, 100, "a mean from 0 to 100"));
    app.add_option("--detours", arguments.detours,
                   "SECONDS,RATE: the operating system interrupts a rank for so long, so many times a second");
    app.add_option("--seed", arguments.seed, "Of the noise")
        ->transform(whole_number(0, 2e9, "a seed from 0 to 2e9"))
        ->capture_default_str();
    app.add_option("--set", arguments.settings, "PARAMETER=VALUE or PARAMETER=xFACTOR of the machine, or LAW=C0,C1,…");
    app.add_flag("--history", arguments.history, "The recursive residuals of all iterations, in the JSON output");
    app.add_option("--json", arguments.json_file,
                   "Write all parameters and results to this file (- for standard output)");
    app.add_option("--plot", arguments.plot, "Draw the speed-up over the nodes: FILE.png or FILE.svg");
    app.add_option("--trace", arguments.trace,
                   "Write the timelines of the first four ranks to PREFIXmethod.json, in Chrome's trace format");
    app.add_flag("--progress", arguments.progress, "Show the progress line also where standard error is no terminal");
}

void add(CLI::App& app, SimulateArguments& arguments) { add_problem(app, arguments), add_network(app, arguments); }

int run(const Context&, const SimulateArguments& arguments) { return Simulation(arguments).run(); }

}  // namespace

const Command simulate_command =
    CommandOf<SimulateArguments>::row<add, run>("simulate", "Run methods on a simulated cluster", false);
