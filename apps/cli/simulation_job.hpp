// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "show/simulation_report.hpp"
#include "stretto/core/types.hpp"

/// The problem of a simulation, its file by its absolute path. Throws stretto::InputError for one that there is not.
std::string problem_of_simulation(const SimulateArguments& arguments);

/// The cells of --grid along x, y and z; all 0 without it. Throws stretto::InputError.
std::array<stretto::Global, 3> grid_of(const SimulateArguments& arguments);

/// Seconds and rate of --detours. Throws stretto::InputError.
std::pair<double, double> detours_of(const SimulateArguments& arguments);

/// Throws stretto::InputError where one process cannot compute for all ranks and is asked to.
void check_numerics(const SimulateArguments& arguments);

/// What the simulator is to do, the methods in the order in which it tells of them. `hosts`: the nodes, by name.
nlohmann::ordered_json simulation_job(const SimulateArguments& arguments, const nlohmann::ordered_json& machine,
                                      int ranks_per_node, const std::vector<std::string>& hosts);

/// What starts the simulator, in a folder with the job and the hosts.
std::vector<std::string> simulator_command(const SimulateArguments& arguments, const std::filesystem::path& simulator,
                                           int processes, const std::filesystem::path& platform);
