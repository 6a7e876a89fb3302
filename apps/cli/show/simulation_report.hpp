// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plot.hpp"

/// The arguments of `stretto simulate`.
struct SimulateArguments {
    std::string machine = "cori", platform, hosts, nodes = "8..1024";
    int ranks_per_node = 0;  ///< 0: as the machine has
    std::string problem, grid, rhs = "ones";
    std::vector<std::string> methods;
    std::string precond = "none", deal = "rows", formulation = "merged", storage = "csr";
    int columns = 1, iterations = 0;  ///< 0: as many as usual
    double rtol = 1e-8;
    bool to_solution = false, dry = false, blocking = false, history = false, progress = false;
    std::string numerics = "auto", reductions = "ana", exchanges = "auto";
    int polls = 0;
    double imbalance = 0;
    std::string detours;  ///< SECONDS,RATE; empty: none
    int seed = 1;
    std::vector<std::string> settings;
    std::string json_file, plot, trace;
};

/// What the points of a sweep have to tell: a table that grows, JSON, and a plot. A point is what the simulator says of
/// a method, with the number of its nodes; the first is that of the first method on the fewest nodes.
class SimulationReport {
public:
    /// Throws stretto::InputError where there is nothing to draw the plot with.
    SimulationReport(const SimulateArguments& arguments, const nlohmann::ordered_json& machine, int ranks_per_node,
                     std::string platform);

    void print_head(int fewest_nodes) const;
    void add(nlohmann::ordered_json point);
    std::size_t points() const { return points_.size(); }
    /// The plot and, with these options in it, the JSON, of what points there are. Throws stretto::InputError if they
    /// cannot be written.
    void write(const nlohmann::ordered_json& options);

private:
    double speed_up(const nlohmann::ordered_json& point) const;
    void print_titles(int fewest_nodes) const;
    void print_last() const;
    void print_solution() const;
    void compare_with_classic(nlohmann::ordered_json& point) const;

    const SimulateArguments& arguments_;
    const nlohmann::ordered_json& machine_;
    int ranks_per_node_;
    std::string platform_;
    std::optional<Plot> plot_;
    std::vector<nlohmann::ordered_json> points_;
};
