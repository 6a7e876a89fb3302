// SPDX-License-Identifier: BSD-3-Clause
#include "prediction_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "print.hpp"

using json = nlohmann::ordered_json;

namespace {

void print_head(const json& result) {
    const auto& options = result["options"];
    const auto& machine = result["machine"];
    const int ranks = options["ranks_per_node"], columns = options["columns"];
    print_out(
        "Predicted: {}, {} rank{} per node; {}: {} rows, {:.4g} nonzeros in a row; {} right-hand side{}; precond {}; "
        "{}{}\n",
        machine["name"].get<std::string>(), ranks, ranks == 1 ? "" : "s", options["problem"].get<std::string>(),
        result["rows"].get<std::int64_t>(), result["nonzeros_per_row"].get<double>(), columns, columns == 1 ? "" : "s",
        options["precond"].get<std::string>(), options["formulation"].get<std::string>(),
        options["published"].get<bool>() ? "; products by formulas (3) and (14)" : "");
    for (const auto& [name, parameter] : machine["parameters"].items())
        print_out("  {:<18} {:<18} {}\n", name, parameter["value"].dump() + " " + parameter["unit"].get<std::string>(),
                  parameter["source"].get<std::string>());
    print_out("  {:<18} {:<18} what of a sum behind work remains ({})\n", "γ", options["gamma"].get<double>(),
              options["gamma_source"].get<std::string>());
    print_out("{}\n\n", result["network"].get<std::string>());
    for (const auto& [method, formula] : result["formulas"].items())
        print_out("T({}) = {}\n", method, formula.get<std::string>());
    print_out(
        "\nµs of an iteration, by part: passes over vectors, products, halos and sums as far as they are not hidden, "
        "preconditioner.\nS = T(1)/T(p); R: the best of the family over this; P: the family's classic method on one "
        "node "
        "over this. How many\niterations a method takes is not predicted.\n\n");
    const bool measured = !result["points"].empty() && result["points"].front().contains("measured");
    print_out("{:>6} {:<34} {:>11} {:>10} {:>10} {:>9} {:>10} {:>9} {:>8} {:>6} {:>8}{}\n", "nodes", "method",
              "µs/iter", "vectors", "A", "halo", "M^-1", "sums", "S", "R", "P",
              measured ? fmt::format(" {:>11} {:>9}", "measured", "pred/meas") : "");
}

/// What the iteration took, and predicted over that.
std::string measured(const json& point) {
    if (!point.contains("measured")) return "";
    if (point["measured"].is_null()) return fmt::format(" {:>11} {:>9}", "-", "-");
    const double seconds = point["measured"];
    return fmt::format(" {:>11.2f} {:>9.2f}", 1e6 * seconds, point["seconds_per_iteration"].get<double>() / seconds);
}

void print_point(const json& point) {
    const auto us = [&](const char* part) { return 1e6 * point["parts"][part].get<double>(); };
    print_out("{:>6} {:<34} {:>11.2f} {:>10.2f} {:>10.2f} {:>9.2f} {:>10.2f} {:>9.2f} {:>8.2f} {:>6.3f} {:>8.2f}{}{}\n",
              point["nodes"].get<int>(), point["method"].get<std::string>(),
              1e6 * point["seconds_per_iteration"].get<double>(), us("vectors"), us("products"), us("exchanges"),
              us("preconditioner"), us("sums"), point["speed_up"].get<double>(),
              point["relative_performance"].get<double>(), point["over_classic"].get<double>(), measured(point),
              point["extrapolated"].get<bool>() ? " *" : "");
}

std::string title_of(const json& result) {
    return fmt::format("predicted: {}, {}", result["options"]["problem"].get<std::string>(),
                       result["machine"]["name"].get<std::string>());
}

}  // namespace

void plot_prediction(const json& result, Plot& plot) {
    for (const auto& [method, formula] : result["formulas"].items()) {
        std::vector<std::pair<double, double>> curve;
        for (const auto& point : result["points"])
            if (point["method"] == method)
                curve.emplace_back(point["nodes"].get<double>(), point["over_classic"].get<double>());
        plot.add(method, std::move(curve), false);
    }
    plot.write(title_of(result));
}

void plot_parts(const json& result, SharePlot& plot) {
    const std::vector<std::pair<const char*, std::string>> parts{{"vectors", "passes over vectors"},
                                                                 {"products", "products"},
                                                                 {"exchanges", "halos, not hidden"},
                                                                 {"preconditioner", "preconditioner"},
                                                                 {"sums", "sums, not hidden"}};
    for (const auto& [method, formula] : result["formulas"].items()) {
        SharePlot::Panel panel{method, {}, std::vector<std::vector<double>>(parts.size())};
        for (const auto& point : result["points"]) {
            if (point["method"] != method) continue;
            panel.x.push_back(point["nodes"]);
            for (std::size_t k = 0; k < parts.size(); ++k)
                panel.shares[k].push_back(point["parts"][parts[k].first].get<double>() /
                                          point["seconds_per_iteration"].get<double>());
        }
        plot.add(std::move(panel));
    }
    std::vector<std::string> names;
    for (const auto& [key, words] : parts) names.push_back(words);
    plot.write(title_of(result), "nodes", names);
}

void print_prediction(const json& result) {
    print_head(result);
    for (const auto& point : result["points"]) print_point(point);
    print_out("\nOf a family the quickest iteration, by nodes:\n");
    for (const auto& [family, stretches] : result["best"].items()) {
        print_out("  {:<10}", family);
        for (const auto& stretch : stretches)
            print_out(" {} ({}–{})", stretch["method"].get<std::string>(), stretch["first"].get<int>(),
                      stretch["last"].get<int>());
        print_out("\n");
    }
    print_out("{}\n", result["range"]["in_words"].get<std::string>());
}
