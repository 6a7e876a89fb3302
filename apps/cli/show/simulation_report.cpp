// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "../files.hpp"
#include "simulation_report.hpp"

using json = nlohmann::ordered_json;

namespace {

double number_or_nan(const json& value) { return value.is_number() ? value.get<double>() : NAN; }

}  // namespace

SimulationReport::SimulationReport(const SimulateArguments& arguments, const json& machine, int ranks_per_node,
                                   std::string platform)
    : arguments_(arguments), machine_(machine), ranks_per_node_(ranks_per_node), platform_(std::move(platform)) {
    if (!arguments.plot.empty()) plot_.emplace(arguments.plot, Plot::Axes{"nodes", "speed-up", true});
}

void SimulationReport::print_head(int fewest_nodes) const {
    fmt::print(
        "Simulated: {}, {} rank{} per node, platform {}; {}{}, dealt by {}; {} right-hand side{}; precond {}; "
        "{}\nreductions {}{}{}; imbalance {}, detours {}, seed {}\n",
        machine_["name"].get<std::string>(), ranks_per_node_, ranks_per_node_ == 1 ? "" : "s", platform_,
        arguments_.problem, arguments_.dry ? " (dry: its costs, no numerics)" : "", arguments_.deal, arguments_.columns,
        arguments_.columns == 1 ? "" : "s", arguments_.precond, arguments_.formulation, arguments_.reductions,
        arguments_.blocking ? ", blocking" : "",
        arguments_.polls > 0 ? fmt::format(", {} polls a kernel", arguments_.polls) : "", arguments_.imbalance,
        arguments_.detours.empty() ? "none" : arguments_.detours, arguments_.seed);
    for (const auto& [name, parameter] : machine_["parameters"].items())
        fmt::print("  {:<18} {:<18} {}\n", name, parameter["value"].dump() + " " + parameter["unit"].get<std::string>(),
                   parameter["source"].get<std::string>());
    fmt::print(
        "Seconds are virtual; kernels: the slowest rank's, waiting included; speed-up: over {} at {} node{}.\n\n",
        arguments_.methods.front(), fewest_nodes, fewest_nodes == 1 ? "" : "s");
    fmt::print("{:>6} {:>7} {:<34} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>10}  {}\n", "nodes", "ranks",
               "method", "µs/iter", "speed-up", "A", "M^-1", "vectors", "waiting", "halo", "hidden", "iterations",
               "status");
    std::fflush(stdout);
}

void SimulationReport::add(json point) {
    points_.push_back(std::move(point));
    print_last();
}

double SimulationReport::speed_up(const json& point) const {
    return number_or_nan(points_.front()["seconds_per_iteration"]) / number_or_nan(point["seconds_per_iteration"]);
}

void SimulationReport::print_last() const {
    const auto& point = points_.back();
    const auto us = [](const json& seconds) { return 1e6 * number_or_nan(seconds); };
    const auto& kernel = point["kernels"];
    const std::string method = point["method"], finished_by = point["finished_by"];
    fmt::print(
        "{:>6} {:>7} {:<34} {:>10.3f} {:>9.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>6.0f}% {:>10}  {}\n",
        point["nodes"].get<int>(), point["ranks"].get<int>(),
        method.starts_with(finished_by) ? method : method + " → " + finished_by, us(point["seconds_per_iteration"]),
        speed_up(point), us(kernel["apply"]), us(kernel["precondition"]), us(kernel["vectors"]) + us(kernel["dots"]),
        us(kernel["reductions"]), us(kernel["halo"]), 100 * point["hidden"].get<double>(),
        point["iterations"].get<int>(), arguments_.dry ? "dry" : point["status"].get<std::string>());
    std::fflush(stdout);
}

void SimulationReport::write(const json& options) {
    if (!arguments_.json_file.empty())
        write_json(arguments_.json_file, json{{"simulated", true},
                                              {"platform", platform_},
                                              {"ranks_per_node", ranks_per_node_},
                                              {"machine", machine_},
                                              {"options", options},
                                              {"points", points_}});
    if (!plot_ || points_.empty()) return;
    const double fewest = points_.front()["nodes"].get<double>();
    std::vector<std::pair<double, double>> ideal;
    for (const auto& point : points_) {
        const double nodes = point["nodes"].get<double>();
        if (ideal.empty() || ideal.back().first < nodes) ideal.emplace_back(nodes, nodes / fewest);
    }
    plot_->add("ideal", std::move(ideal), true);
    for (const auto& method : arguments_.methods) {
        std::vector<std::pair<double, double>> curve;
        for (const auto& point : points_)
            if (point["method"] == method && point["seconds_per_iteration"].is_number())
                curve.emplace_back(point["nodes"].get<double>(), speed_up(point));
        plot_->add(method, std::move(curve), false);
    }
    plot_->write(fmt::format("simulated: {}, {}, {} ranks per node", arguments_.problem,
                             machine_["name"].get<std::string>(), ranks_per_node_));
}
