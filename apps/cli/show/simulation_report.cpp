// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "../files.hpp"
#include "print.hpp"
#include "simulation_report.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/driver/registry.hpp"

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
    if (arguments_.json_file == "-") return;
    print_out(
        "Simulated: {}, {} rank{} per node, platform {}; {}{}, dealt by {}; {} right-hand side{}; precond {}; "
        "{}\nreductions {}{}{}; imbalance {}, detours {}, seed {}\n",
        machine_["name"].get<std::string>(), ranks_per_node_, ranks_per_node_ == 1 ? "" : "s", platform_,
        arguments_.problem, arguments_.dry ? " (dry: its costs, no numerics)" : "", arguments_.deal, arguments_.columns,
        arguments_.columns == 1 ? "" : "s", arguments_.precond, arguments_.formulation, arguments_.reductions,
        arguments_.blocking ? ", blocking" : "",
        arguments_.polls > 0 ? fmt::format(", {} polls a kernel", arguments_.polls) : "", arguments_.imbalance,
        arguments_.detours.empty() ? "none" : arguments_.detours, arguments_.seed);
    for (const auto& [name, parameter] : machine_["parameters"].items())
        print_out("  {:<18} {:<18} {}\n", name, parameter["value"].dump() + " " + parameter["unit"].get<std::string>(),
                  parameter["source"].get<std::string>());
    print_titles(fewest_nodes);
    flush_out();
}

void SimulationReport::print_titles(int fewest_nodes) const {
    if (arguments_.to_solution) {
        print_out(
            "Seconds are virtual, to ‖b − Ax‖ ≤ {:g} ‖b‖; over: the time of the family's classic method on as many "
            "nodes by "
            "this one; µs/iter: of the method's own iterations; products: with A; then what the iterations were, with "
            "their "
            "part of the time.\n\n",
            arguments_.rtol);
        print_out("{:>6} {:>7} {:<34} {:>10} {:>6} {:>9} {:>10} {:>8} {:>10} {:>8}  {:<14}  {}\n", "nodes", "ranks",
                  "method", "ms", "over", "µs/iter", "iterations", "products", "reductions", "blocking", "status",
                  "parts");
        return;
    }
    print_out("Seconds are virtual; kernels: the slowest rank's, waiting included; speed-up: over {} at {} node{}.\n\n",
              arguments_.methods.front(), fewest_nodes, fewest_nodes == 1 ? "" : "s");
    print_out("{:>6} {:>7} {:<34} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>10}  {}\n", "nodes", "ranks",
              "method", "µs/iter", "speed-up", "A", "M^-1", "vectors", "waiting", "halo", "hidden", "iterations",
              "status");
}

void SimulationReport::add(json point) {
    if (arguments_.to_solution) compare_with_classic(point);
    points_.push_back(std::move(point));
    if (arguments_.json_file == "-") return;
    arguments_.to_solution ? print_solution() : print_last();
}

/// The classic method of the family comes before the others, where it is asked for; its first form is the measure.
void SimulationReport::compare_with_classic(json& point) const {
    const auto name_of = [](const json& one) { return stretto::parse_spec(one["method"].get<std::string>()).name; };
    const std::string_view classic = stretto::find_method(name_of(point)).classic;
    double seconds = name_of(point) == classic ? number_or_nan(point["seconds_to_solution"]) : NAN;
    for (const auto& other : points_)
        if (other["nodes"] == point["nodes"] && name_of(other) == classic) {
            seconds = number_or_nan(other["seconds_to_solution"]);
            break;
        }
    const double ratio = seconds / number_or_nan(point["seconds_to_solution"]);
    point["over_classic"] = std::isfinite(ratio) ? json(ratio) : json();
}

double SimulationReport::speed_up(const json& point) const {
    const char* const seconds = arguments_.to_solution ? "seconds_to_solution" : "seconds_per_iteration";
    return number_or_nan(points_.front()[seconds]) / number_or_nan(point[seconds]);
}

void SimulationReport::print_last() const {
    const auto& point = points_.back();
    const auto us = [](const json& seconds) { return 1e6 * number_or_nan(seconds); };
    const auto& kernel = point["kernels"];
    const std::string method = point["method"], finished_by = point["finished_by"];
    print_out(
        "{:>6} {:>7} {:<34} {:>10.3f} {:>9.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>6.0f}% {:>10}  {}\n",
        point["nodes"].get<int>(), point["ranks"].get<int>(),
        method.starts_with(finished_by) ? method : method + " → " + finished_by, us(point["seconds_per_iteration"]),
        speed_up(point), us(kernel["apply"]), us(kernel["precondition"]), us(kernel["vectors"]) + us(kernel["dots"]),
        us(kernel["reductions"]), us(kernel["halo"]), 100 * point["hidden"].get<double>(),
        point["iterations"].get<int>(), arguments_.dry ? "dry" : point["status"].get<std::string>());
    flush_out();
}

void SimulationReport::print_solution() const {
    const auto& point = points_.back();
    const auto& total = point["total"];
    const auto shown = [](const json& value, double factor, int digits) {
        return value.is_number() ? fmt::format("{:.{}f}", factor * value.get<double>(), digits) : "–";
    };
    std::string parts;
    for (const auto& part : point["parts"]) {
        const std::string loop = part["loop"];
        const std::string what = loop.empty()                  ? "start and end"
                                 : part["warm_up"].get<bool>() ? loop + " warm-up"
                                                               : loop;
        const int iterations = part["iterations"];
        parts += fmt::format("{}{}{} ({:.0f} %)", parts.empty() ? "" : ", ", what,
                             iterations > 0 ? fmt::format(" {}", iterations) : "",
                             100 * part["seconds"].get<double>() / point["seconds"].get<double>());
    }
    print_out("{:>6} {:>7} {:<34} {:>10} {:>6} {:>9} {:>10} {:>8} {:>10} {:>8}  {:<14}  {}\n",
              point["nodes"].get<int>(), point["ranks"].get<int>(), point["method"].get<std::string>(),
              shown(point["seconds"], 1e3, 3), shown(point["over_classic"], 1, 2),
              shown(point["seconds_per_iteration"], 1e6, 2), point["iterations"].get<int>(),
              total["applies"].get<int>(), total["reductions"].get<int>(), total["blocking_reductions"].get<int>(),
              point["status"].get<std::string>(), parts);
    flush_out();
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
            if (point["method"] == method && std::isfinite(speed_up(point)))
                curve.emplace_back(point["nodes"].get<double>(), speed_up(point));
        plot_->add(method, std::move(curve), false);
    }
    plot_->write(fmt::format("simulated: {}, {}, {} ranks per node", arguments_.problem,
                             machine_["name"].get<std::string>(), ranks_per_node_));
}
