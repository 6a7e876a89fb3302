// SPDX-License-Identifier: BSD-3-Clause
#include "simulation_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulated_machine.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/text.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/io/problem.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int most_messages = 1024;  // ranks; beyond, exchanges are in memory unless asked for otherwise
constexpr int iterations_of_a_sample = 60, iterations_of_a_solution = 100'000;

/// Whether one process can compute for all ranks: where the machine's times are computed, and A and M are the same on
/// any number of ranks.
bool one_can_compute(const SimulateArguments& arguments) {
    const auto has_powers = [](const std::string& method) {
        const Spec spec = parse_spec(method);
        return std::ranges::any_of(spec.options,
                                   [](const auto& option) { return option.first == "h" && option.second != "1"; });
    };
    return !arguments.dry && arguments.reductions == "ana" && arguments.exchanges != "messages" &&
           arguments.storage == "csr" &&
           (arguments.precond == "none" || arguments.precond == "jacobi" ||
            parse_spec(arguments.precond).name == "block_jacobi") &&
           arguments.trace.empty() && std::ranges::none_of(arguments.methods, has_powers);
}

/// Its file by its absolute path.
std::string rhs_of(const SimulateArguments& arguments) {
    return fs::is_regular_file(arguments.rhs) ? fs::absolute(arguments.rhs).string() : arguments.rhs;
}

std::string numerics_of(const SimulateArguments& arguments) {
    if (arguments.numerics != "auto") return arguments.numerics;
    return arguments.to_solution && one_can_compute(arguments) ? "one" : "ranks";
}

std::string exchanges_of(const SimulateArguments& arguments, int ranks) {
    if (arguments.exchanges != "auto") return arguments.exchanges;
    return ranks > most_messages || arguments.to_solution || arguments.numerics == "one" ? "memory" : "messages";
}

/// The methods; of whole solves the classic ones first, for others are measured by them.
std::vector<std::string> methods_in_order(const SimulateArguments& arguments) {
    auto methods = arguments.methods;
    if (arguments.to_solution)
        std::ranges::stable_partition(methods, [](const std::string& method) {
            const auto& row = find_method(parse_spec(method).name);
            return row.name == row.classic;
        });
    return methods;
}

}  // namespace

std::array<Global, 3> grid_of(const SimulateArguments& arguments) {
    std::array<Global, 3> grid{};
    if (arguments.grid.empty()) return grid;
    std::string_view rest = arguments.grid;
    for (auto& cells : grid) {
        const auto end = std::min(rest.find('x'), rest.size());
        cells = parse_count(rest.substr(0, end)).value_or(0);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || !rest.empty())
        throw InputError(
            fmt::format("--grid '{}': three numbers of cells, along x, y and z, as 50x100x100", arguments.grid));
    return grid;
}

std::string problem_of_simulation(const SimulateArguments& arguments) {
    std::string problem = arguments.problem;
    const std::string file = file_of_problem(problem);
    if (file.empty()) {
        if (!arguments.grid.empty()) throw InputError(fmt::format("--grid is for files: {} has its own", problem));
        (void)generator(problem);
        return problem;
    }
    if (!fs::is_regular_file(file))
        throw InputError(fmt::format("--problem {}: '{}' is neither a file nor a problem", problem, file));
    if (arguments.deal != "rows" && arguments.grid.empty())
        throw InputError(
            fmt::format("--deal {}: {} has no grid: type --grid, its cells as 50x100x100", arguments.deal, problem));
    return problem.replace(problem.find(file), file.size(), fs::absolute(file).string());
}

std::pair<double, double> detours_of(const SimulateArguments& arguments) {
    if (arguments.detours.empty()) return {0, 0};
    const auto comma = arguments.detours.find(',');
    if (comma == std::string::npos) throw InputError("--detours takes SECONDS,RATE");
    const double seconds = finite_number(arguments.detours.substr(0, comma), "--detours");
    const double rate = finite_number(arguments.detours.substr(comma + 1), "--detours");
    if (!(seconds >= 0 && rate >= 0)) throw InputError(fmt::format("--detours {}: out of range", arguments.detours));
    return {seconds, rate};
}

void check_numerics(const SimulateArguments& arguments) {
    if (arguments.to_solution && arguments.dry)
        throw InputError("--to-solution takes real numerics, which a --dry run has not");
    if (arguments.numerics == "one" && !one_can_compute(arguments))
        throw InputError(
            "--numerics one takes --reductions ana, --exchanges memory, --storage csr, no preconditioner, jacobi or "
            "block_jacobi, and no --dry, --trace or matrix powers (h)");
    if (arguments.dry && arguments.rhs != "ones")
        throw InputError("--rhs takes real numerics, which a --dry run has not");
}

json simulation_job(const SimulateArguments& arguments, const json& machine, int ranks_per_node,
                    const std::vector<std::string>& hosts) {
    const auto value = [&](const char* name) { return machine["parameters"][name]["value"].get<double>(); };
    const auto [detour_seconds, detour_rate] = detours_of(arguments);
    const int iterations = arguments.iterations > 0 ? arguments.iterations
                           : arguments.to_solution  ? iterations_of_a_solution
                                                    : iterations_of_a_sample;
    return {{"problem", problem_of_simulation(arguments)},
            {"deal", arguments.deal},
            {"grid", grid_of(arguments)},
            {"rhs", rhs_of(arguments)},
            {"dry", arguments.dry},
            {"columns", arguments.columns},
            {"methods", methods_in_order(arguments)},
            {"precond", arguments.precond},
            {"formulation", arguments.formulation},
            {"iterations", iterations},
            {"rtol", arguments.rtol},
            {"storage", arguments.storage},
            {"reductions", arguments.reductions},
            {"exchanges", exchanges_of(arguments, ranks_per_node * static_cast<int>(hosts.size()))},
            {"blocking", arguments.blocking},
            {"polls", arguments.polls},
            {"history", arguments.history},
            {"to_solution", arguments.to_solution},
            {"numerics", numerics_of(arguments)},
            {"hosts", hosts},
            {"trace", arguments.trace.empty() ? "" : fs::absolute(arguments.trace).string()},
            {"costs",
             {{"memory_bandwidth", value("memory_bandwidth") / ranks_per_node},
              {"cache_bandwidth", value("cache_bandwidth") / ranks_per_node},
              {"cache", value("cache") / ranks_per_node},
              {"kernel", value("kernel")},
              {"message", value("message")},
              {"node_latency", value("node_latency")},
              {"node_bandwidth", value("node_bandwidth")},
              {"network_bandwidth", value("network_bandwidth")},
              {"imbalance", arguments.imbalance},
              {"detour_seconds", detour_seconds},
              {"detour_rate", detour_rate},
              {"all_reduce", machine["parameters"]["all_reduce"]["value"]},
              {"exchange", machine["parameters"].contains("exchange") ? machine["parameters"]["exchange"]["value"]
                                                                      : json(std::array<double, 7>())},
              {"seed", arguments.seed},
              {"ranks_per_node", ranks_per_node}}}};
}

std::vector<std::string> simulator_command(const SimulateArguments& arguments, const fs::path& simulator, int processes,
                                           const fs::path& platform) {
    std::vector<std::string> words{"smpirun",   "-np",  std::to_string(processes), "-platform", platform.string(),
                                   "-hostfile", "hosts"};
    // Costs are all our own: SMPI adds none to those of the platform's links.
    for (const char* const setting : {"smpi/privatization:no",
                                      "smpi/simulate-computation:no",
                                      "smpi/host-speed:1Gf",
                                      "network/model:SMPI",
                                      "smpi/lat-factor:0:1",
                                      "smpi/bw-factor:0:1",
                                      "network/TCP-gamma:1e20",
                                      "network/weight-S:0",
                                      "network/crosstraffic:0",
                                      "smpi/os:0:0:0",
                                      "smpi/ois:0:0:0",
                                      "smpi/or:0:0:0",
                                      "smpi/wtime:0",
                                      "smpi/init:0",
                                      "smpi/test:100e-9",
                                      "smpi/iprobe:100e-9",
                                      "smpi/grow-injected-times:no",
                                      "smpi/alltoall:bruck",
                                      "smpi/reduce:binomial",
                                      "smpi/bcast:binomial_tree",
                                      "smpi/send-is-detached-thresh:0",
                                      "contexts/stack-size:512",
                                      "surf/precision:1e-9"})
        words.push_back(std::string("--cfg=") + setting);
    words.emplace_back("--log=root.thres:error");
    words.push_back(std::string("--cfg=smpi/allreduce:") + (arguments.reductions == "mpi" ? "rdb" : "redbcast"));
    words.push_back(simulator.string());
    words.emplace_back("job.json");
    return words;
}
