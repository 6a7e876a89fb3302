// SPDX-License-Identifier: BSD-3-Clause
// stretto simulate: starts the simulator (apps/simulator, a build of its own on SimGrid's SMPI) once for each number of
// nodes and reports what it says. Runs without MPI.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "plot.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stretto/core/error.hpp"
#include "stretto/matrix/generators.hpp"
#include "stretto/solvers/registry.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

constexpr int most_ranks = 65536;    // a process has room for
constexpr int most_messages = 1024;  // ranks; beyond, exchanges are in memory unless asked for otherwise

struct Arguments {
    std::string machine = "cori", platform, hosts, nodes = "8..1024";
    int ranks_per_node = 0;  ///< 0: as the machine has
    std::string problem;
    std::vector<std::string> methods;
    std::string precond = "none", deal = "rows", formulation = "merged", storage = "csr";
    int columns = 1, iterations = 60;
    double rtol = 1e-8;
    bool dry = false, blocking = false, history = false, progress = false;
    std::string reductions = "ana", exchanges = "auto";
    int polls = 0;
    double imbalance = 0;
    std::string detours;
    int seed = 1;
    std::vector<std::string> settings;
    std::string json_file, plot, trace;
};

double number(const std::string& text, const std::string& what) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw InputError(fmt::format("'{}' of {} is not a number", text, what));
    return value;
}

/// 8..1024 (each twice the one before), or a list with commas.
std::vector<int> parse_nodes(const std::string& text) {
    const auto count = [&](const std::string& part) {
        const double value = number(part, "--nodes " + text);
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
    return nodes;
}

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

/// The first of these that is there.
std::optional<fs::path> find_first(const std::vector<fs::path>& places) {
    for (const auto& place : places)
        if (fs::exists(place)) return fs::canonical(place);
    return {};
}

fs::path find_simulator() {
    std::vector<fs::path> places;
    if (const char* const given = std::getenv("STRETTO_SIMULATOR")) places.emplace_back(given);
    constexpr const char* file = "stretto-simulator.so";
    for (const char* const folder : {".", "../simulate", "../lib/stretto"})
        places.push_back(own_folder() / folder / file);
    if (const auto found = find_first(places)) return *found;
    throw InputError("the simulator is not built: make simulate (or name it in STRETTO_SIMULATOR)");
}

/// A parameter of a machine: seconds and bytes may be none, bytes per second not.
bool in_range(const std::string& name, double value) {
    return std::isfinite(value) && (name.ends_with("bandwidth") ? value > 0 : value >= 0);
}

/// The parameters of a machine, with their units and sources, changed as --set says.
json read_machine(const Arguments& arguments) {
    const fs::path share = own_folder() / "..";
    const auto found = find_first({arguments.machine, share / "../share/machines" / (arguments.machine + ".json"),
                                   share / "share/stretto/machines" / (arguments.machine + ".json")});
    if (!found)
        throw InputError(fmt::format("there is no machine '{}': cori, tsubame2, lomonosov, lomonosov2 or a JSON file",
                                     arguments.machine));
    json machine;
    try {
        machine = json::parse(std::ifstream(*found));
        for (const char* const name :
             {"memory_bandwidth", "cache", "cache_bandwidth", "kernel", "message", "node_latency", "node_bandwidth",
              "link_latency", "link_bandwidth", "network_bandwidth"})
            if (!in_range(name, machine.at("parameters").at(name).at("value").get<double>()))
                throw InputError(fmt::format("{}: {} is out of range", found->string(), name));
        (void)machine.at("parameters").at("all_reduce").at("value").get<std::array<double, 4>>();
        (void)machine.at("name").get<std::string>();
        (void)machine.at("platform").get<std::string>();
        if (machine.at("ranks_per_node").get<int>() < 1)
            throw InputError(fmt::format("{}: ranks_per_node is out of range", found->string()));
    } catch (const json::exception& error) {
        throw InputError(fmt::format("{} is not a machine file: {}", found->string(), error.what()));
    }
    for (const auto& setting : arguments.settings) {
        const auto equals = setting.find('=');
        const std::string name = setting.substr(0, equals);
        if (equals == setting.npos || !machine["parameters"].contains(name) || name == "all_reduce")
            throw InputError(
                fmt::format("--set '{}' is not PARAMETER=VALUE or PARAMETER=xFACTOR of the machine", setting));
        auto& parameter = machine["parameters"][name];
        const std::string text = setting.substr(equals + 1);
        const bool factor = text.starts_with("x");
        const double given = number(text.substr(factor ? 1 : 0), "--set " + setting);
        const double value = factor ? given * parameter["value"].get<double>() : given;
        if (!in_range(name, value)) throw InputError(fmt::format("--set {}: out of range", setting));
        parameter["value"] = value;
        parameter["source"] =
            fmt::format("set on the command line ({}); before: {}", setting, parameter["source"].get<std::string>());
    }
    return machine;
}

/// A folder that is gone when this is.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "stretto-XXXXXX").string();
        if (!mkdtemp(name.data())) throw InputError("cannot make a folder for temporary files");
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    fs::path operator/(const char* name) const { return path_ / name; }

private:
    fs::path path_;
};

/// SimGrid's description of so many nodes, a dragonfly as Aries builds it or a fat tree of switches with 16 nodes each.
std::string platform_xml(const std::string& kind, int nodes, int ranks, const json& parameters) {
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
        count - 1, ranks, value("link_bandwidth"), value("link_latency"), value("node_bandwidth"),
        value("node_latency"), topology);
}

/// The names in a file, one a line.
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

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
    return result + "'";
}

/// What SimGrid said when it gave up: the message of its first error, without where in its source and how it came
/// there.
std::string reason(const fs::path& errors) {
    std::ifstream file(errors);
    std::string text(std::istreambuf_iterator<char>(file), {});
    for (const std::string level : {"/CRITICAL] ", "/ERROR] "})
        if (const auto found = text.find(level); found != text.npos) {
            std::string line = text.substr(found + level.size());
            line.erase(std::min(line.find('\n'), line.size()));
            const auto what = line.starts_with("Uncaught exception") ? line.find(": ") : line.npos;
            return what == line.npos ? line : line.substr(what + 2);
        }
    return text;
}

class Simulation {
public:
    explicit Simulation(const Arguments& arguments)
        : arguments_(arguments),
          nodes_(parse_nodes(arguments.nodes)),
          machine_(read_machine(arguments)),
          ranks_per_node_(arguments.ranks_per_node > 0 ? arguments.ranks_per_node
                                                       : machine_["ranks_per_node"].get<int>()),
          platform_(arguments.platform.empty() ? machine_["platform"].get<std::string>() : arguments.platform),
          line_(0, arguments.progress) {
        for (const int nodes : nodes_)
            if (nodes > most_ranks / ranks_per_node_)
                throw InputError(fmt::format("--nodes {}: {} ranks on each are more than {} in all", nodes,
                                             ranks_per_node_, most_ranks));
        (void)generator(arguments.problem);
        for (const auto& method : arguments.methods) {
            const Spec spec = parse_spec(method);
            (void)Options(spec, find_method(spec.name).options);
        }
        if (arguments.reductions == "mpi" && !arguments.blocking)
            throw InputError("--reductions mpi is SMPI's blocking all-reduce: it takes --blocking");
        if (arguments.polls > 0 && arguments.reductions != "rd")
            throw InputError("--polls are for --reductions rd: the others advance by themselves");
        if (platform_.ends_with(".xml")) {
            if (!fs::is_regular_file(platform_)) throw InputError(fmt::format("there is no platform '{}'", platform_));
            if (arguments.hosts.empty())
                throw InputError(
                    fmt::format("--platform {}: --hosts FILE says which of its hosts are nodes", platform_));
            hosts_ = read_hosts(arguments.hosts);
            for (const int nodes : nodes_)
                if (nodes > static_cast<int>(hosts_.size()))
                    throw InputError(
                        fmt::format("--nodes {}: {} names {} hosts", nodes, arguments.hosts, hosts_.size()));
        } else if (platform_ != "aries" && platform_ != "fattree") {
            throw InputError(fmt::format("--platform '{}' is neither aries nor fattree nor a FILE.xml", platform_));
        } else if (!arguments.hosts.empty()) {
            throw InputError("--hosts goes with --platform FILE.xml: other platforms name their own");
        }
        if (!arguments.detours.empty()) {
            const auto comma = arguments.detours.find(',');
            if (comma == std::string::npos) throw InputError("--detours takes SECONDS,RATE");
            detour_seconds_ = number(arguments.detours.substr(0, comma), "--detours");
            detour_rate_ = number(arguments.detours.substr(comma + 1), "--detours");
            if (!(detour_seconds_ >= 0 && detour_rate_ >= 0))
                throw InputError(fmt::format("--detours {}: out of range", arguments.detours));
        }
        simulator_ = find_simulator();
        if (std::system("command -v smpirun >/dev/null") != 0)
            throw InputError("smpirun is not there: make simulate installs SimGrid");
        if (!arguments.plot.empty()) plot_.emplace(arguments.plot, Plot::Axes{"nodes", "speed-up", true});
    }

    int run() {
        print_head();
        for (const int nodes : nodes_) run_nodes(nodes);
        if (!arguments_.json_file.empty()) write_text(arguments_.json_file, report().dump(2) + "\n");
        if (plot_) draw();
        return exit_converged;
    }

private:
    json job(int ranks) const {
        const auto value = [&](const char* name) { return machine_["parameters"][name]["value"].get<double>(); };
        const std::string exchanges = arguments_.exchanges != "auto" ? arguments_.exchanges
                                      : ranks > most_messages        ? "memory"
                                                                     : "messages";
        return {{"problem", arguments_.problem},
                {"boxes", arguments_.deal == "boxes"},
                {"dry", arguments_.dry},
                {"columns", arguments_.columns},
                {"methods", arguments_.methods},
                {"precond", arguments_.precond},
                {"formulation", arguments_.formulation},
                {"iterations", arguments_.iterations},
                {"rtol", arguments_.rtol},
                {"storage", arguments_.storage},
                {"reductions", arguments_.reductions},
                {"exchanges", exchanges},
                {"blocking", arguments_.blocking},
                {"polls", arguments_.polls},
                {"history", arguments_.history},
                {"trace", arguments_.trace.empty() ? "" : fs::absolute(arguments_.trace).string()},
                {"costs",
                 {{"memory_bandwidth", value("memory_bandwidth") / ranks_per_node_},
                  {"cache_bandwidth", value("cache_bandwidth") / ranks_per_node_},
                  {"cache", value("cache") / ranks_per_node_},
                  {"kernel", value("kernel")},
                  {"message", value("message")},
                  {"node_latency", value("node_latency")},
                  {"node_bandwidth", value("node_bandwidth")},
                  {"network_bandwidth", value("network_bandwidth")},
                  {"imbalance", arguments_.imbalance},
                  {"detour_seconds", detour_seconds_},
                  {"detour_rate", detour_rate_},
                  {"all_reduce", machine_["parameters"]["all_reduce"]["value"]},
                  {"exchange", machine_["parameters"].contains("exchange") ? machine_["parameters"]["exchange"]["value"] : json(std::array<double, 7>())},
                  {"seed", arguments_.seed},
                  {"ranks_per_node", ranks_per_node_}}}};
    }

    std::string command(int ranks, const fs::path& platform, const fs::path& hosts, const fs::path& job_file,
                        const fs::path& errors) const {
        // Costs are all our own: SMPI adds none to those of the platform's links.
        constexpr const char* settings =
            "--cfg=smpi/privatization:no --cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1Gf "
            "--cfg=network/model:SMPI --cfg=smpi/lat-factor:0:1 --cfg=smpi/bw-factor:0:1 --cfg=network/TCP-gamma:1e20 "
            "--cfg=network/weight-S:0 --cfg=network/crosstraffic:0 --cfg=smpi/os:0:0:0 --cfg=smpi/ois:0:0:0 "
            "--cfg=smpi/or:0:0:0 --cfg=smpi/wtime:0 --cfg=smpi/init:0 --cfg=smpi/test:100e-9 --cfg=smpi/iprobe:100e-9 "
            "--cfg=smpi/grow-injected-times:no --cfg=smpi/alltoall:bruck --cfg=smpi/reduce:binomial "
            "--cfg=smpi/bcast:binomial_tree --cfg=smpi/send-is-detached-thresh:0 --cfg=contexts/stack-size:512 "
            "--cfg=surf/precision:1e-9 --log=root.thres:error";
        return fmt::format("cd {} && smpirun -np {} -platform {} -hostfile {} {} --cfg=smpi/allreduce:{} {} {} 2>{}",
                           quoted(job_file.parent_path()), ranks, quoted(platform), quoted(hosts), settings,
                           arguments_.reductions == "mpi" ? "rdb" : "redbcast", quoted(simulator_), quoted(job_file),
                           quoted(errors));
    }

    void run_nodes(int nodes) {
        const int ranks = nodes * ranks_per_node_;
        const TemporaryFolder folder;
        const bool own = hosts_.empty();
        const fs::path platform = own ? folder / "platform.xml" : fs::absolute(platform_), hosts = folder / "hosts";
        if (own) std::ofstream(platform) << platform_xml(platform_, nodes, ranks_per_node_, machine_["parameters"]);
        std::ofstream list(hosts);
        for (int n = 0; n < nodes; ++n)
            list << fmt::format("{}:{}\n", own ? fmt::format("n{}", n) : hosts_[static_cast<std::size_t>(n)],
                                ranks_per_node_);
        list.close();
        const fs::path job_file = folder / "job.json", errors = folder / "errors";
        std::ofstream(job_file) << job(ranks).dump();

        std::size_t done = 0;
        const auto show = [&] {
            if (done < arguments_.methods.size())
                line_.show_fraction(fmt::format("{} nodes, {} ranks: {}", nodes, ranks, arguments_.methods[done]),
                                    static_cast<double>(points_.size()) /
                                        static_cast<double>(nodes_.size() * arguments_.methods.size()));
        };
        show();
        std::FILE* const pipe = popen(command(ranks, platform, hosts, job_file, errors).c_str(), "r");
        if (!pipe) throw InputError("cannot start smpirun");
        std::string problem;
        char* text = nullptr;
        std::size_t capacity = 0;
        while (getline(&text, &capacity, pipe) >= 0) {
            if (text[0] != '{') continue;
            auto point = json::parse(text);
            if (point.contains("error")) {
                problem = point["error"];
                continue;
            }
            point["nodes"] = nodes;
            points_.push_back(std::move(point));
            line_.clear();
            print_last();
            ++done;
            show();
        }
        free(text);
        line_.clear();
        const int status = pclose(pipe);
        if (!problem.empty()) throw InputError(problem);
        if (status != 0 || done < arguments_.methods.size())
            throw InputError(fmt::format("the simulation of {} ranks failed: {}", ranks, reason(errors)));
    }

    void print_head() const {
        fmt::print(
            "Simulated: {}, {} ranks per node, platform {}; {}{}, dealt by {}; {} right-hand side{}; precond {}; "
            "{}\nreductions {}{}{}; imbalance {}, detours {}, seed {}\n",
            machine_["name"].get<std::string>(), ranks_per_node_, platform_, arguments_.problem,
            arguments_.dry ? " (dry: its costs, no numerics)" : "", arguments_.deal, arguments_.columns,
            arguments_.columns == 1 ? "" : "s", arguments_.precond, arguments_.formulation, arguments_.reductions,
            arguments_.blocking ? ", blocking" : "",
            arguments_.polls > 0 ? fmt::format(", {} polls a kernel", arguments_.polls) : "", arguments_.imbalance,
            arguments_.detours.empty() ? "none" : arguments_.detours, arguments_.seed);
        for (const auto& [name, parameter] : machine_["parameters"].items())
            fmt::print("  {:<18} {:<18} {}\n", name,
                       parameter["value"].dump() + " " + parameter["unit"].get<std::string>(),
                       parameter["source"].get<std::string>());
        fmt::print(
            "Seconds are virtual; kernels: the slowest rank's, waiting included; speed-up: over {} at {} nodes.\n\n",
            arguments_.methods.front(), nodes_.front());
        fmt::print("{:>6} {:>7} {:<34} {:>10} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>9}\n", "nodes", "ranks",
                   "method", "µs/iter", "speed-up", "A", "M^-1", "vectors", "waiting", "halo", "hidden", "iterations");
    }

    double speed_up(const json& point) const {
        return points_.front()["seconds_per_iteration"].get<double>() / point["seconds_per_iteration"].get<double>();
    }

    void print_last() const {
        const auto& point = points_.back();
        const auto us = [](const json& seconds) { return seconds.is_number() ? 1e6 * seconds.get<double>() : NAN; };
        const auto& kernel = point["kernels"];
        const std::string method = point["method"], finished_by = point["finished_by"];
        fmt::print(
            "{:>6} {:>7} {:<34} {:>10.3f} {:>9.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>6.0f}% {:>9}\n",
            point["nodes"].get<int>(), point["ranks"].get<int>(),
            method.starts_with(finished_by) ? method : method + " → " + finished_by, us(point["seconds_per_iteration"]),
            point["seconds_per_iteration"].is_number() && points_.front()["seconds_per_iteration"].is_number()
                ? speed_up(point)
                : NAN,
            us(kernel["apply"]), us(kernel["precondition"]), us(kernel["vectors"]) + us(kernel["dots"]),
            us(kernel["reductions"]), us(kernel["halo"]), 100 * point["hidden"].get<double>(),
            point["iterations"].get<int>());
        std::fflush(stdout);
    }

    json report() const {
        json options = job(0);
        options.erase("costs");
        options["exchanges"] = arguments_.exchanges;
        options["imbalance"] = arguments_.imbalance;
        options["detours"] = arguments_.detours;
        options["seed"] = arguments_.seed;
        return {{"stretto", STRETTO_VERSION}, {"simulated", true},
                {"platform", platform_},      {"ranks_per_node", ranks_per_node_},
                {"machine", machine_},        {"options", options},
                {"points", points_}};
    }

    void draw() {
        std::vector<std::pair<double, double>> ideal;
        for (const int nodes : nodes_) ideal.emplace_back(nodes, static_cast<double>(nodes) / nodes_.front());
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

    const Arguments& arguments_;
    std::vector<int> nodes_;
    json machine_;
    int ranks_per_node_;
    std::string platform_;
    std::vector<std::string> hosts_;  ///< of a platform file
    ProgressLine line_;
    double detour_seconds_ = 0, detour_rate_ = 0;
    fs::path simulator_;
    std::optional<Plot> plot_;
    std::vector<json> points_;
};

}  // namespace

int run_simulate(int argc, char** argv) {
    Arguments arguments;
    CLI::App app("Run methods on a simulated cluster", "stretto simulate");
    app.add_option("--problem", arguments.problem, "A generated problem, as poisson2d:2000")->required();
    app.add_option("--method,--methods", arguments.methods, "NAME[:key=value,…], several with spaces between")
        ->required();
    app.add_option("--machine", arguments.machine,
                   "cori, tsubame2, lomonosov, lomonosov2, or a JSON file of parameters")
        ->capture_default_str();
    app.add_option("--platform", arguments.platform, "aries, fattree or FILE.xml of SimGrid (default: the machine's)");
    app.add_option("--hosts", arguments.hosts,
                   "With FILE.xml: names of its hosts, one a line; the first are the nodes");
    app.add_option("--nodes", arguments.nodes, "FIRST..LAST, each twice the one before, or a list with commas")
        ->capture_default_str();
    app.add_option("--ranks-per-node", arguments.ranks_per_node, "Default: the machine's")->check(CLI::Range(1, 1024));
    app.add_option("--precond", arguments.precond,
                   "As for solve; cost:K moves K vectors, two in a pass; matrix moves as much as an ILU(0)")
        ->capture_default_str();
    app.add_option("--columns", arguments.columns, "Right-hand sides")->check(CLI::Range(1, max_columns));
    app.add_option("--deal", arguments.deal, "How ranks share the grid: rows, as solve does, or boxes")
        ->check(CLI::IsMember({"rows", "boxes"}))
        ->capture_default_str();
    app.add_option("--formulation", arguments.formulation, "merged or basic")
        ->check(CLI::IsMember({"merged", "basic"}))
        ->capture_default_str();
    app.add_option("--storage", arguments.storage, "Of the matrix, as for solve; dry runs have csr")
        ->check(CLI::IsMember({"auto", "csr"}))
        ->capture_default_str();
    app.add_option("--iterations", arguments.iterations, "Of a solve, at most")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--rtol", arguments.rtol, "As for solve")->check(CLI::NonNegativeNumber)->capture_default_str();
    app.add_flag("--dry", arguments.dry,
                 "Costs and messages of the problem, on a short surrogate: for the largest sizes");
    app.add_option(
           "--reductions", arguments.reductions,
           "What carries sums: rd (messages, advanced inside calls), act (they advance by themselves), ana (the "
           "same computed, without contention), mpi (SMPI's, blocking)")
        ->check(CLI::IsMember({"rd", "act", "ana", "mpi"}))
        ->capture_default_str();
    app.add_option("--exchanges", arguments.exchanges,
                   "What carries halos: messages, memory (computed arrivals) or auto (memory above 1024 ranks)")
        ->check(CLI::IsMember({"auto", "messages", "memory"}))
        ->capture_default_str();
    app.add_flag("--blocking", arguments.blocking, "Every sum is waited for where it is started");
    app.add_option("--polls", arguments.polls, "For rd: tests in every kernel")->check(CLI::Range(0, 1000));
    app.add_option("--imbalance", arguments.imbalance, "Mean of an exponential part by which kernels take longer")
        ->check(CLI::Range(0.0, 100.0));
    app.add_option("--detours", arguments.detours,
                   "SECONDS,RATE: the operating system interrupts a rank for so long, so many times a second");
    app.add_option("--seed", arguments.seed, "Of the noise")->check(CLI::NonNegativeNumber)->capture_default_str();
    app.add_option("--set", arguments.settings, "PARAMETER=VALUE or PARAMETER=xFACTOR of the machine");
    app.add_flag("--history", arguments.history, "The recursive residuals of all iterations, in the JSON output");
    app.add_option("--json", arguments.json_file,
                   "Write all parameters and results to this file (- for standard output)");
    app.add_option("--plot", arguments.plot, "Draw the speed-up over the nodes: FILE.png or FILE.svg");
    app.add_option("--trace", arguments.trace,
                   "Write the timelines of the first four ranks to PREFIXmethod.json, in Chrome's trace format");
    app.add_flag("--progress", arguments.progress, "Show the progress line also where standard error is no terminal");
    try {
        app.parse(argc, argv);
        return Simulation(arguments).run();
    } catch (const CLI::Success& done) {
        return app.exit(done);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "stretto: {}\nTry: stretto simulate --help\n", error.what());
    } catch (const InputError& error) {
        fmt::print(stderr, "stretto: {}\n", error.what());
    }
    return exit_bad_input;
}
