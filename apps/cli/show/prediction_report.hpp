// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plot.hpp"

/// The arguments of `stretto predict`.
struct PredictArguments {
    std::string problem, machine = "cori", nodes;  ///< none: 1..1024, or those of this run
    std::vector<std::string> methods;              ///< empty: all that suit the problem
    std::string precond = "none", formulation = "merged", storage = "auto";
    int columns = 1;
    int ranks_per_node = 0;  ///< 0: as the machine has
    double gamma = -1;       ///< below 0: the machine's
    bool published = false;
    bool trial = false, measure = false;
    double seconds = 0.2;  ///< of a method's measurement
    std::vector<std::string> settings;
    std::string json_file, plot, plot_parts;
};

/// What is said of a prediction: `result`, as the JSON has it, in words and a table.
void print_prediction(const nlohmann::ordered_json& result);

/// P over the nodes, a curve for each method.
void plot_prediction(const nlohmann::ordered_json& result, Plot& plot);
/// What part of an iteration takes how much of it, over the nodes, a panel for each method.
void plot_parts(const nlohmann::ordered_json& result, SharePlot& plot);
