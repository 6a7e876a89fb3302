// SPDX-License-Identifier: BSD-3-Clause
#include "model_machine.hpp"

#include <fmt/format.h>

#include <fstream>
#include <vector>

#include "simulated_machine.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;

ModelMachine model_machine(const json& machine) {
    const auto& parameters = machine.at("parameters");
    const auto value = [&](const char* name) { return parameters.at(name).at("value").get<double>(); };
    const auto law = [&](const char* name) {
        return parameters.contains(name) ? parameters.at(name).at("value").get<std::vector<double>>()
                                         : std::vector<double>(7);
    };
    ModelMachine model{.ranks_per_node = machine.at("ranks_per_node").get<int>(),
                       .memory_bandwidth = value("memory_bandwidth"),
                       .cache = value("cache"),
                       .cache_bandwidth = value("cache_bandwidth"),
                       .kernel = value("kernel"),
                       .message = value("message"),
                       .node_latency = value("node_latency"),
                       .node_bandwidth = value("node_bandwidth"),
                       .link_latency = value("link_latency"),
                       .network_bandwidth = std::min(value("link_bandwidth"), value("network_bandwidth")),
                       .dragonfly = machine.at("platform") == "aries"};
    for (const auto& [name, sweep] : {std::pair("bandwidth_by_bytes", &model.sweep), {"reads_by_bytes", &model.reads}})
        if (parameters.contains(name))
            *sweep = parameters.at(name).at("value").get<std::vector<std::pair<double, double>>>();
    const auto a = law("all_reduce"), e = law("exchange"), loop = law("one_kernel");
    if (a[0] + a[1] > 0) model.all_reduce = {a[0], a[1], a[2], a[3]};
    if (e[0] > 0) model.exchange = {e[0], {e[1], e[2], e[3]}, {e[4], e[5], e[6]}};
    model.barrier = loop[0];
    model.one_kernel_rows = loop[1];
    return model;
}

double gamma_of(const json& machine) {
    const auto& parameters = machine.at("parameters");
    return parameters.contains("gamma") ? parameters.at("gamma").at("value").get<double>() : 0;
}

bool has_network(const json& machine) {
    const auto& latency = machine.at("parameters").at("node_latency").at("value");
    return machine.at("ranks_per_node") != 1 || network_measured_to(machine) != 1 || latency != 0.0;
}

int network_measured_to(const json& machine) { return machine.value("network_measured_to", 0); }

std::optional<KnownMachine> known_machine(const Comm& comm, const std::string& path, bool or_kept) {
    std::string text;
    agree(comm, [&] {
        if (path.empty() || comm.rank() != 0) return;
        const bool there = std::filesystem::exists(path), readable = there && !std::filesystem::is_directory(path);
        const json file = readable ? json::parse(std::ifstream(path), nullptr, false) : json();
        const bool kept = file.is_object() && file.contains("stretto_machine");
        if (or_kept && (kept || (!there && path.ends_with(".json")))) return;
        const json machine = read_machine(path, {});
        if (comm.size() > 1 && !has_network(machine))
            throw InputError(
                fmt::format("--machine {}: it was measured on one rank and has no network; measure it on "
                            "several: mpirun -n {} stretto machine {}",
                            path, comm.size(), path));
        text = machine.dump();
    });
    text = broadcast(comm, text, 0);
    if (text.empty()) return {};
    const json machine = json::parse(text);
    return KnownMachine{model_machine(machine), gamma_of(machine)};
}
