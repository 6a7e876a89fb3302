// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_system.hpp"

#include "gathered_system.hpp"
#include "rank_system.hpp"

using json = nlohmann::json;

Costs costs_of(const json& job) {
    Costs costs;
    const auto& of = job.at("costs");
    of.at("memory_bandwidth").get_to(costs.memory_bandwidth);
    of.at("cache_bandwidth").get_to(costs.cache_bandwidth);
    of.at("cache").get_to(costs.cache);
    of.at("kernel").get_to(costs.kernel);
    of.at("message").get_to(costs.message);
    of.at("node_latency").get_to(costs.node_latency);
    of.at("node_bandwidth").get_to(costs.node_bandwidth);
    of.at("network_bandwidth").get_to(costs.network_bandwidth);
    of.at("imbalance").get_to(costs.imbalance);
    of.at("detour_seconds").get_to(costs.detour_seconds);
    of.at("detour_rate").get_to(costs.detour_rate);
    of.at("all_reduce").get_to(costs.all_reduce);
    of.at("exchange").get_to(costs.exchange);
    of.at("seed").get_to(costs.seed);
    of.at("ranks_per_node").get_to(costs.ranks_per_node);
    return costs;
}

SimulationOptions options_of(const json& job) {
    SimulationOptions options;
    const std::string reductions = job.at("reductions"), exchanges = job.at("exchanges");
    options.reductions = reductions == "rd"    ? Reductions::rd
                         : reductions == "act" ? Reductions::act
                         : reductions == "ana" ? Reductions::ana
                                               : Reductions::mpi;
    options.exchanges = exchanges == "memory" ? Exchanges::memory : Exchanges::messages;
    job.at("blocking").get_to(options.blocking);
    job.at("polls").get_to(options.polls);
    job.at("dry").get_to(options.dry);
    return options;
}

std::unique_ptr<SimulatedSystem> make_system(const json& job) {
    if (job.at("numerics") == "one") return std::make_unique<GatheredSystem>(job);
    return std::make_unique<RankSystem>(job);
}
