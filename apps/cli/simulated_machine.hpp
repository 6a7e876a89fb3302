// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

/// A number, all of the text. Throws stretto::InputError, which names what it is of, for others and where it is not
/// finite.
double finite_number(const std::string& text, const std::string& what);

/// Of --nodes: FIRST..LAST, each twice the one before, or a list with commas; the fewest first, each once. Throws
/// stretto::InputError.
std::vector<int> parse_nodes(const std::string& text);

/// Where the program lies.
std::filesystem::path own_folder();

/// The first of these that is there and no folder.
std::optional<std::filesystem::path> find_first(const std::vector<std::filesystem::path>& places);

/// The machine of this name or in this JSON file: parameters with their units and sources, changed by settings
/// PARAMETER=VALUE or PARAMETER=xFACTOR. Throws stretto::InputError.
nlohmann::ordered_json read_machine(const std::string& name, const std::vector<std::string>& settings);

/// SimGrid's description of so many nodes: "aries", a dragonfly as Aries builds it, or "fattree", switches with 16
/// nodes each.
std::string platform_xml(const std::string& kind, int nodes, int ranks_per_node,
                         const nlohmann::ordered_json& parameters);

/// The names in a file, one a line. Throws stretto::InputError.
std::vector<std::string> read_hosts(const std::string& path);
