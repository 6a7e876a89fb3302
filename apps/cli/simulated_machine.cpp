// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "stretto/core/error.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// The parameters that are one number.
constexpr std::array numbers = {
    "memory_bandwidth", "cache",          "cache_bandwidth", "kernel",         "message",
    "node_latency",     "node_bandwidth", "link_latency",    "link_bandwidth", "network_bandwidth"};
/// Those that are several numbers, the coefficients of a law above all, and how many. All but all_reduce may be
/// missing.
constexpr std::array<std::pair<const char*, std::size_t>, 3> laws = {
    {{"all_reduce", 4}, {"exchange", 7}, {"one_kernel", 2}}};
/// What a measured machine may have besides, for `stretto predict`.
constexpr std::array sweeps = {"bandwidth_by_bytes", "reads_by_bytes"};
constexpr const char* remaining = "gamma";

std::size_t coefficients(const std::string& parameter) {
    const auto found = std::ranges::find(laws, parameter, [](const auto& law) { return law.first; });
    return found == laws.end() ? 0 : found->second;
}

/// Seconds and bytes may be none, bytes per second not.
bool in_range(const std::string& name, double value) {
    return std::isfinite(value) && (name.ends_with("bandwidth") ? value > 0 : value >= 0);
}

void refuse_others(const json& object, const std::vector<std::string>& known, const std::string& what) {
    for (const auto& [name, value] : object.items())
        if (std::ranges::find(known, name) == known.end())
            throw InputError(fmt::format("{} has no '{}'; it has {}", what, name, fmt::join(known, ", ")));
}

void check(const json& machine, const std::string& file) {
    const auto out_of_range = [&](const std::string& name) {
        return InputError(fmt::format("{}: {} is out of range", file, name));
    };
    refuse_others(machine, {"name", "platform", "ranks_per_node", "parameters", "network_measured_to"},
                  file + ": a machine");
    if (const auto nodes = machine.value("network_measured_to", 1.0); !(nodes >= 1) || nodes != std::floor(nodes))
        throw out_of_range("network_measured_to");
    (void)machine.at("name").get<std::string>();
    (void)machine.at("platform").get<std::string>();
    const auto ranks = machine.at("ranks_per_node").get<double>();
    if (!(ranks >= 1 && ranks <= 1024) || ranks != std::floor(ranks)) throw out_of_range("ranks_per_node");
    const auto& parameters = machine.at("parameters");
    std::vector<std::string> known(numbers.begin(), numbers.end());
    for (const auto& [name, count] : laws) known.emplace_back(name);
    known.insert(known.end(), sweeps.begin(), sweeps.end());
    known.emplace_back(remaining);
    refuse_others(parameters, known, file + ": a machine's parameters");
    if (parameters.contains(remaining)) {
        const auto gamma = parameters.at(remaining).at("value").get<double>();
        if (!(gamma >= 0 && gamma <= 1)) throw out_of_range(remaining);
    }
    for (const char* const sweep : sweeps) {
        if (!parameters.contains(sweep)) continue;
        const auto rows = parameters.at(sweep).at("value").get<std::vector<std::pair<double, double>>>();
        const bool rises = std::ranges::is_sorted(rows, std::ranges::less(), &std::pair<double, double>::first);
        const auto good = [](const auto& row) {
            return in_range("bandwidth", row.first) && in_range("bandwidth", row.second);
        };
        if (rows.empty() || !rises || !std::ranges::all_of(rows, good)) throw out_of_range(sweep);
    }
    for (const char* const name : numbers)
        if (!in_range(name, parameters.at(name).at("value").get<double>())) throw out_of_range(name);
    for (const auto& [name, count] : laws) {
        if (name != std::string("all_reduce") && !parameters.contains(name)) continue;
        const auto values = parameters.at(name).at("value").get<std::vector<double>>();
        if (values.size() != count || !std::ranges::all_of(values, [](double v) { return std::isfinite(v) && v >= 0; }))
            throw out_of_range(name);
    }
    for (const auto& [name, parameter] : parameters.items()) {
        refuse_others(parameter, {"value", "unit", "source"}, fmt::format("{}: {}", file, name));
        (void)parameter.at("unit").get<std::string>();
        (void)parameter.at("source").get<std::string>();
    }
}

/// PARAMETER=VALUE, PARAMETER=xFACTOR, or LAW=C0,C1,…
void set(json& machine, const std::string& setting) {
    const auto equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (equals == setting.npos || !machine["parameters"].contains(name))
        throw InputError(fmt::format("--set '{}' is not PARAMETER=VALUE or PARAMETER=xFACTOR of the machine", setting));
    auto& parameter = machine["parameters"][name];
    const std::string text = setting.substr(equals + 1);
    if (const auto count = coefficients(name); count > 0) {
        std::vector<double> values;
        std::stringstream list(text);
        for (std::string part; std::getline(list, part, ',');)
            values.push_back(finite_number(part, "--set " + setting));
        if (values.size() != count || std::ranges::any_of(values, [](double v) { return v < 0; }))
            throw InputError(fmt::format("--set {}: {} numbers from 0 up, with commas between", setting, count));
        parameter["value"] = values;
    } else {
        const bool factor = text.starts_with("x");
        const double given = finite_number(text.substr(factor ? 1 : 0), "--set " + setting);
        const double value = factor ? given * parameter["value"].get<double>() : given;
        if (!in_range(name, value)) throw InputError(fmt::format("--set {}: out of range", setting));
        parameter["value"] = value;
    }
    parameter["source"] =
        fmt::format("set on the command line ({}); before: {}", setting, parameter["source"].get<std::string>());
}

}  // namespace

double finite_number(const std::string& text, const std::string& what) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        throw InputError(fmt::format("'{}' of {} is not a finite number", text, what));
    return value;
}

std::vector<int> parse_nodes(const std::string& text) {
    const auto count = [&](const std::string& part) {
        const double value = finite_number(part, "--nodes " + text);
        if (value < 1 || value > 65536 || value != std::floor(value))
            throw InputError(fmt::format("--nodes {}: a number of nodes is 1 to 65536", text));
        return static_cast<int>(value);
    };
    std::vector<int> nodes;
    if (const auto dots = text.find(".."); dots != text.npos) {
        const int last = count(text.substr(dots + 2));
        for (int n = count(text.substr(0, dots)); n <= last; n *= 2) nodes.push_back(n);
        if (nodes.empty()) throw InputError(fmt::format("--nodes {}: the first is larger than the last", text));
        return nodes;
    }
    std::stringstream list(text);
    for (std::string part; std::getline(list, part, ',');) nodes.push_back(count(part));
    if (nodes.empty()) throw InputError("--nodes: which?");
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    return nodes;
}

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::optional<fs::path> find_first(const std::vector<fs::path>& places) {
    std::error_code error;
    for (const auto& place : places)
        if (fs::exists(place, error) && !fs::is_directory(place, error)) return fs::canonical(place);
    return {};
}

json read_machine(const std::string& name, const std::vector<std::string>& settings) {
    const fs::path own = own_folder();  // in a build, a prefix, or the Python package
    const auto found =
        find_first({name, own / "../../share/machines" / (name + ".json"),
                    own / "../share/stretto/machines" / (name + ".json"), own / "share/machines" / (name + ".json")});
    if (!found)
        throw InputError(
            fmt::format("there is no machine '{}': cori, tsubame2, lomonosov, lomonosov2 or a JSON file, as stretto "
                        "machine writes it",
                        name));
    json machine;
    try {
        machine = json::parse(std::ifstream(*found));
        if (!machine.is_object() || !machine.contains("parameters"))
            throw InputError(found->string() +
                             " is not a machine file: it has no parameters, as those that stretto machine writes");
        check(machine, found->string());
    } catch (const json::exception& error) {
        throw InputError(fmt::format("{} is not a machine file: {}", found->string(), error.what()));
    }
    for (const auto& setting : settings) set(machine, setting);
    return machine;
}

std::string platform_xml(const std::string& kind, int nodes, int ranks_per_node, const json& parameters) {
    const auto value = [&](const char* name) { return parameters.at(name).at("value").get<double>(); };
    int count = 0;
    std::string topology;
    if (kind == "aries") {  // a group is 6 chassis of 16 routers with 4 nodes each
        const int groups = std::max(2, (nodes + 383) / 384);
        count = groups * 384;
        topology = fmt::format(R"(topology="DRAGONFLY" topo_parameters="{},4;6,3;16,1;4")", groups);
    } else {
        const int leaves = (nodes + 15) / 16;
        count = 16 * leaves;
        topology = fmt::format(R"(topology="FAT_TREE" topo_parameters="2;16,{};1,8;1,1")", leaves);
    }
    return fmt::format(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform "
        "version=\"4.1\">\n<zone id=\"world\" routing=\"Full\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" "
        "radical=\"0-{}\" speed=\"1Gf\" core=\"{}\" bw=\"{}Bps\" lat=\"{}s\" loopback_bw=\"{}Bps\" "
        "loopback_lat=\"{}s\" "
        "{} sharing_policy=\"SPLITDUPLEX\"/>\n</zone>\n</platform>\n",
        count - 1, ranks_per_node, value("link_bandwidth"), value("link_latency"), value("node_bandwidth"),
        value("node_latency"), topology);
}

std::vector<std::string> read_hosts(const std::string& path) {
    std::ifstream file(path);
    if (!file || fs::is_directory(path)) throw InputError(fmt::format("--hosts: cannot read {}", path));
    std::vector<std::string> hosts;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) continue;
        if (line.find_first_of(" \t:") != line.npos)
            throw InputError(fmt::format("--hosts: '{}' of {} is no name of a host", line, path));
        if (std::ranges::find(hosts, line) != hosts.end())
            throw InputError(fmt::format("--hosts: {} has {} twice", path, line));
        hosts.push_back(line);
    }
    return hosts;
}
