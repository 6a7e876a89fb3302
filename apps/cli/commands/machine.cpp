// SPDX-License-Identifier: BSD-3-Clause
// stretto machine: measures what stretto predict needs to know of this machine.
#include <fmt/format.h>

#include <cmath>

#include "../command.hpp"
#include "../files.hpp"
#include "../machine.hpp"
#include "../show/print.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/model/measured.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;

namespace {

/// To four digits: more would be noise.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

json parameter(const json& value, const char* unit, const std::string& source) {
    return {{"value", value}, {"unit", unit}, {"source", source}};
}

/// In the format of share/machines.
json machine_file(const MeasuredMachine& found) {
    const bool one = found.nodes == 1;
    const int ranks = found.ranks_per_node * found.nodes;
    const std::string network = ranks == 1 ? "one rank has no network: predictions are for it alone"
                                : one      ? "extrapolated: as measured between the ranks of one node"
                                           : fmt::format("measured on {} nodes", found.nodes);
    const double caches = last_level_cache(found.ranks_per_node), memory = rounded(found.sweep.back().second);
    double in_cache = memory;
    const auto table = [](const std::vector<std::pair<double, double>>& rates) {
        json rows = json::array();
        for (const auto& [bytes, rate] : rates) rows.push_back({rounded(bytes), rounded(rate)});
        return rows;
    };
    for (const auto& [bytes, rate] : found.sweep)
        if (bytes <= caches / 2) in_cache = rounded(rate);
    const auto& [limit, small, large] = found.exchange;
    json law = {0, 0, 0, 0};
    if (found.all_reduce) {
        const auto& of = *found.all_reduce;  // by ranks, of which a node has some
        law = {rounded(of.c0), rounded(of.c1 * std::pow(found.ranks_per_node, of.n1)), rounded(of.n0), rounded(of.n1)};
    }
    // Where there is no law a sum is recursive doubling, each of whose steps takes what all of them took here.
    const double step = rounded(found.reduction / std::max(1.0, std::ceil(std::log2(ranks))));
    const double rate = rounded(large.c1 > 0 ? 1 / large.c1 : memory);
    json parameters = {
        {"memory_bandwidth", parameter(memory, "B/s of a node", "measured: updates of the most bytes")},
        {"cache", parameter(caches, "B of a node", "as the operating system tells it")},
        {"cache_bandwidth", parameter(in_cache, "B/s of a node", "measured: updates of half the cache")},
        {"kernel", parameter(rounded(found.kernel), "s", "measured: a statement on eight rows")},
        {"message", parameter(0, "s", "contained in the latencies")},
        {"node_latency", parameter(step, "s", "measured: a sum over all ranks, by its steps")},
        {"node_bandwidth", parameter(rate, "B/s", "measured: long exchanges")},
        {"link_latency", parameter(rounded(step / 2), "s", network)},
        {"link_bandwidth", parameter(rate, "B/s", network)},
        {"network_bandwidth", parameter(rate, "B/s", network)},
        {"all_reduce", parameter(law, "s, B, nodes",
                                 found.all_reduce ? fmt::format("measured on 2 to {} ranks; {}", ranks, network)
                                                  : "too few ranks for a law: steps of node_latency and link_latency")},
        {"exchange", parameter({limit, rounded(small.c0), rounded(small.c1), rounded(small.n0), rounded(large.c0),
                                rounded(large.c1), rounded(large.n0)},
                               "B; s, B", fmt::format("measured with 2 and 4 neighbours; {}", network))},
        {"bandwidth_by_bytes",
         parameter(table(found.sweep), "B, B/s of a node", "measured: updates y = (x + y)/2, all ranks at once")},
        {"reads_by_bytes",
         parameter(table(found.reads), "B, B/s of a node", "measured: dot products, all ranks at once")}};
    if (found.gamma)
        parameters["gamma"] =
            parameter(rounded(*found.gamma), "", "measured: what of a sum behind as much work remains");
    return {{"name", fmt::format("measured here, {} ranks, {}", ranks, mpi_library())},
            {"platform", "fattree"},
            {"ranks_per_node", found.ranks_per_node},
            {"network_measured_to", found.nodes},
            {"parameters", parameters}};
}

struct MachineArguments {
    std::string file;
};

void add(CLI::App& app, MachineArguments& arguments) {
    app.add_option("file", arguments.file, "The JSON file to write")->required();
}

int run(const Context& context, const MachineArguments& arguments) {
    auto& mpi = *context.mpi;
    check_outputs(mpi, {}, "", {arguments.file});
    const auto found = measure_machine(mpi);
    agree(mpi, [&] {
        if (mpi.rank() != 0) return;
        const json file = machine_file(found);
        write_text(arguments.file, file.dump(2) + "\n");
        for (const auto& [name, one] : file["parameters"].items())
            print_out("  {:<18} {} {}  ({})\n", name, one["value"].dump(), one["unit"].get<std::string>(),
                      one["source"].get<std::string>());
        print_out("Try: stretto predict poisson3d:100 --nodes 1 --machine {}\n", arguments.file);
        if (mpi.size() == 1)
            print_out("One rank has no network: mpirun -n 2 stretto machine {} measures one\n", arguments.file);
    });
    return exit_converged;
}

}  // namespace

const Command machine_command =
    CommandOf<MachineArguments>::row<add, run>("machine", "Measure this machine for predictions, into a file");
