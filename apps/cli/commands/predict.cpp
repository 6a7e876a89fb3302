// SPDX-License-Identifier: BSD-3-Clause
// stretto predict: the execution-time model of Krasnopolsky 2019 for any method, problem and machine.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "../command.hpp"
#include "../files.hpp"
#include "../model_machine.hpp"
#include "../options.hpp"
#include "../show/prediction_report.hpp"
#include "../simulated_machine.hpp"
#include "predict_here.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/model/matrix.hpp"

using namespace stretto;
using json = nlohmann::ordered_json;

namespace {

class Prediction {
public:
    Prediction(Comm& comm, const PredictArguments& arguments)
        : arguments_(arguments),
          comm_(comm),
          machine_file_(read_machine(arguments.machine, arguments.settings)),
          machine_(model_machine(machine_file_)),
          gamma_(arguments.gamma >= 0 ? arguments.gamma : gamma_of(machine_file_)),
          matrix_(arguments.problem) {
        for (const auto& method : arguments.methods) (void)asked_method(method);
        if (arguments.ranks_per_node > 0) machine_.ranks_per_node = arguments.ranks_per_node;
        const bool here = arguments.trial || arguments.measure;
        const int own = std::max(1, comm.size() / machine_.ranks_per_node);
        nodes_ = here && arguments.nodes.empty() ? std::vector{own}
                                                 : parse_nodes(arguments.nodes.empty() ? "1..1024" : arguments.nodes);
        check_rows();
        system_ = matrix_.system(arguments.precond, Storage(arguments.storage));
        if (arguments.published) {
            system_ = system_.published();
            machine_.kernel = machine_.message = 0;  // contained in bandwidths and laws
        }
        const auto formulation = arguments.formulation == "basic" ? Formulation::basic : Formulation::merged;
        const auto trace = [&](const std::string& method) {
            return trace_iteration(method, formulation, arguments.precond != "none", system_.rows_on);
        };
        for (const auto& method : methods_asked()) iterations_.push_back(trace(method));
        for (const auto& iteration : iterations_) {
            const std::string classic(method_of(iteration).classic);
            if (!classics_.contains(classic)) classics_[classic] = trace(classic);
        }
        if (here) look_here();
    }

    json result() const {
        const ExecutionTime T(machine_, system_, arguments_.columns, gamma_);
        json points = json::array(), formulas;
        for (const auto& iteration : iterations_) formulas[iteration.method] = formula(iteration);
        for (const int p : nodes_) {
            std::map<std::string_view, double> least;  // by family
            for (const auto& iteration : iterations_) {
                auto& best = least.try_emplace(method_of(iteration).classic, INFINITY).first->second;
                best = std::min(best, T(iteration, p).total());
            }
            for (const auto& iteration : iterations_) {
                const auto& family = method_of(iteration).classic;
                points.push_back(point(T, iteration, p, least.at(family)));
            }
        }
        return {{"predicted", true},
                {"machine", machine_file_},
                {"options", options()},
                {"rows", matrix_.rows()},
                {"nonzeros_per_row", system_.C},
                {"network", network()},
                {"formulas", formulas},
                {"points", points},
                {"best", best(points)},
                {"range", range(T)}};
    }

private:
    static const Method& method_of(const MethodIteration& iteration) {
        return find_method(parse_spec(iteration.method).name);
    }

    /// Times the parts on the ranks of this run.
    void look_here() {
        check_ranks();
        here_ = std::make_unique<SystemHere>(comm_, arguments_.problem, arguments_.storage, arguments_.precond,
                                             arguments_.columns);
        if (!arguments_.trial) return;
        system_.trial = [this](int vectors) -> const TrialTimes& { return here_->parts(vectors); };
        const auto time = [&](MethodIteration& iteration) {
            iteration.text =
                time_text(iteration, here_->rows(), arguments_.columns, machine_.ranks_per_node, system_.rows_on);
        };
        std::ranges::for_each(iterations_, time);
        for (auto& [name, iteration] : classics_) {
            const auto same = std::ranges::find(iterations_, iteration.method, &MethodIteration::method);
            if (same != iterations_.end()) iteration.text = same->text;
            if (!iteration.text) time(iteration);
        }
    }

    void check_ranks() const {
        const int ranks = machine_.ranks_per_node;
        const auto* const what = arguments_.trial ? "--trial" : "--measure";
        if (arguments_.published) throw InputError(fmt::format("{} and --published exclude each other", what));
        if (arguments_.precond.starts_with("cost:") || arguments_.precond == "matrix")
            throw InputError(
                fmt::format("{} takes a preconditioner that there is, not --precond {}", what, arguments_.precond));
        if (nodes_.size() != 1 || nodes_.front() * ranks != comm_.size())
            throw InputError(fmt::format(
                "{} times the ranks of this run, {}: the machine has {} per node; start {} for --nodes {}, or "
                "say --nodes 1 --ranks-per-node {}",
                what, comm_.size(), ranks, nodes_.front() * ranks, nodes_.front(), comm_.size()));
    }

    void check_rows() {
        if (!has_network(machine_file_) && (nodes_.back() > 1 || machine_.ranks_per_node > 1))
            throw InputError(
                fmt::format("--machine {}: it was measured on one rank and has no network; ask for --nodes 1, "
                            "or measure it on several: mpirun -n 2 stretto machine {}",
                            arguments_.machine, arguments_.machine));
        const auto too_many = [this](int p) { return Global{p} * machine_.ranks_per_node > matrix_.rows(); };
        if (arguments_.nodes.empty() && !too_many(nodes_.front())) std::erase_if(nodes_, too_many);
        for (const int p : nodes_)
            if (too_many(p))
                throw InputError(fmt::format("--nodes {}: {} has {} rows for {} ranks; ask for fewer nodes", p,
                                             arguments_.problem, matrix_.rows(), Global{p} * machine_.ranks_per_node));
    }

    std::vector<std::string> methods_asked() const {
        if (!arguments_.methods.empty()) return arguments_.methods;
        std::vector<std::string> all;
        for (const Method* method : methods())
            if (method->needs == Needs::any || matrix_.positive_definite()) all.emplace_back(method->name);
        return all;
    }

    json point(const ExecutionTime& T, const MethodIteration& iteration, int p, double least) const {
        const auto time = T(iteration, p);
        const auto& classic = classics_.at(std::string(method_of(iteration).classic));
        json point{{"nodes", p},
                   {"method", iteration.method},
                   {"seconds_per_iteration", time.total()},
                   {"parts",
                    {{"vectors", time.vectors},
                     {"products", time.products},
                     {"exchanges", time.exchanges},
                     {"preconditioner", time.preconditioner},
                     {"sums", time.sums}}},
                   {"speed_up", T(iteration, 1).total() / time.total()},
                   {"relative_performance", least / time.total()},
                   {"over_classic", T(classic, 1).total() / time.total()},
                   {"extrapolated", extrapolated(p)}};
        if (arguments_.measure) add_measured(iteration, point);
        return point;
    }

    /// Null where the method did not last.
    void add_measured(const MethodIteration& iteration, json& point) const {
        const auto timed = here_->iteration(iteration.method, arguments_.seconds);
        point["measured"] = timed ? json(timed->seconds) : json();
        if (!timed) return;
        json& parts = point["measured_parts"];
        for (const auto& [kernel, kernel_name] : kernels)
            parts[std::string(kernel_name)] = timed->account.seconds[static_cast<std::size_t>(kernel)];
    }

    bool extrapolated(int p) const {
        const int measured = network_measured_to(machine_file_);
        return measured > 0 && p > measured;
    }

    std::string network() const {
        const int measured = network_measured_to(machine_file_);
        if (measured == 0)
            return "The network is not measured: its parameters are documented or assumed, as their sources say.";
        return fmt::format("The network was measured on up to {} node{}; what is said of more (*) is extrapolated.",
                           measured, measured == 1 ? "" : "s");
    }

    json options() const {
        const bool measured = machine_file_["parameters"].contains("gamma");
        return {{"problem", arguments_.problem},
                {"precond", arguments_.precond},
                {"columns", arguments_.columns},
                {"formulation", arguments_.formulation},
                {"storage", arguments_.storage},
                {"published", arguments_.published},
                {"trial", arguments_.trial},
                {"ranks_per_node", machine_.ranks_per_node},
                {"gamma", gamma_},
                {"gamma_source", arguments_.gamma >= 0 ? "--gamma"
                                 : measured            ? "the machine's"
                                                       : "assumed: sums advance by themselves; set by --gamma"}};
    }

    /// By family, stretches of nodes with the same quickest method.
    json best(const json& points) const {
        json families;
        for (const auto& point : points) {
            if (point["relative_performance"].get<double>() < 1) continue;
            const int p = point["nodes"];
            const Spec spec = parse_spec(point["method"].get<std::string>());
            auto& stretches = families[std::string(find_method(spec.name).classic)];
            if (!stretches.empty() && stretches.back()["last"] == p) continue;  // another is as quick
            if (!stretches.empty() && stretches.back()["method"] == point["method"])
                stretches.back()["last"] = p;
            else
                stretches.push_back({{"method", point["method"]}, {"first", p}, {"last", p}});
        }
        return families;
    }

    /// (21), for the first method.
    json range(const ExecutionTime& T) const {
        const int vectors = iterations_.front().vectors_stored;
        json by_nodes = json::array();
        int from = 0;
        double rows = 0;
        for (const int p : nodes_) {
            const double limit = T.range_of_optimality(p, vectors), own = system_.N * arguments_.columns / p;
            by_nodes.push_back({{"nodes", p}, {"rows_of_a_node", own}, {"sum_is_a_vector_at", limit}});
            if (from == 0 && own <= limit) from = p, rows = limit;
        }
        const std::string words =
            from == 0 ? "A sum takes less time than a pass over one vector on all these nodes (21): to have fewer of "
                        "them or to hide them gains little."
                      : fmt::format(
                            "From {} node{} on, at {:.2g} rows times right-hand sides on a node, a sum takes as "
                            "long as a pass over one vector (21).",
                            from, from == 1 ? "" : "s", rows);
        return {{"by_nodes", by_nodes}, {"in_words", words}};
    }

    const PredictArguments& arguments_;
    Comm& comm_;
    std::vector<int> nodes_;
    json machine_file_;
    ModelMachine machine_;
    double gamma_;
    ModelMatrix matrix_;
    ModelSystem system_;
    std::unique_ptr<SystemHere> here_;  // with --trial or --measure
    std::vector<MethodIteration> iterations_;
    std::map<std::string, MethodIteration> classics_;  // of the families
};

void add(CLI::App& app, PredictArguments& arguments) {
    app.add_option("problem", arguments.problem, "A generated problem, as poisson2d:1000, or a file, as for solve")
        ->required();
    app.add_option("--method,--methods", arguments.methods,
                   "NAME[:key=value,…], one or several, spaces between (default: all that suit the problem)")
        ->option_text("NAME ...");
    app.add_option("--machine", arguments.machine,
                   "cori, tsubame2, lomonosov, lomonosov2, or a JSON file, as stretto machine measures it")
        ->capture_default_str();
    app.add_option("--nodes", arguments.nodes,
                   "FIRST..LAST, each twice the one before, or a list with commas (default: 1..1024, with --trial and "
                   "--measure the nodes of this run)");
    app.add_option("--ranks-per-node", arguments.ranks_per_node, "Default: the machine's")
        ->transform(whole_number(1, 1024, "a number of ranks from 1 to 1024"));
    add_columns_option(app, arguments.columns);
    app.add_option("--precond", arguments.precond,
                   "As for solve; cost:K moves K vectors, two in a pass; matrix moves as much as an ILU(0)")
        ->capture_default_str();
    app.add_option(
           "--gamma", arguments.gamma,
           "What of a sum behind work remains: 0 (all is hidden) to 1 (nothing is); default: the machine's, or 0")
        ->check(number(0, 1, "a number from 0 to 1"));
    app.add_option("--formulation", arguments.formulation, "merged or basic")
        ->check(CLI::IsMember({"merged", "basic"}))
        ->capture_default_str();
    add_storage_option(app, arguments.storage);
    app.add_flag("--trial", arguments.trial,
                 "The machine is this one: time products, the preconditioner, sums and the methods' texts here");
    app.add_flag("--measure", arguments.measure, "Also run the methods here, and say what their iterations take");
    app.add_option("--seconds", arguments.seconds, "With --measure: for how long, each")
        ->check(number(0, 1000, "a number of seconds from 0 to 1000"))
        ->capture_default_str();
    app.add_flag("--published", arguments.published,
                 "Products as Krasnopolsky 2019 has them: bytes by formula (3), all of a product hides its halo (14); "
                 "no costs of kernels");
    app.add_option("--set", arguments.settings, "PARAMETER=VALUE or PARAMETER=xFACTOR of the machine, or LAW=C0,C1,…");
    add_json_option(app, arguments.json_file, "formulas, parameters and times");
    app.add_option("--plot", arguments.plot,
                   "Draw the speed-up over the classic method on one node: FILE.png or FILE.svg");
    app.add_option("--plot-parts", arguments.plot_parts,
                   "Draw what its parts take of an iteration, a panel for each method: FILE.png or FILE.svg");
}

/// Every rank predicts, so that all refuse alike; one of them says it.
int run(const Context& context, const PredictArguments& arguments) {
    check_outputs(*context.mpi, {arguments.machine, file_of_problem(arguments.problem)}, arguments.json_file,
                  {arguments.plot, arguments.plot_parts});
    std::optional<Plot> plot;
    if (!arguments.plot.empty()) plot.emplace(arguments.plot, Plot::Axes{"nodes", "speed-up", true});
    std::optional<SharePlot> parts;
    if (!arguments.plot_parts.empty()) parts.emplace(arguments.plot_parts, "--plot-parts");
    const json result = Prediction(*context.mpi, arguments).result();
    agree(*context.mpi, [&] {
        if (context.mpi->rank() != 0) return;
        if (arguments.json_file != "-") print_prediction(result);
        if (!arguments.json_file.empty()) write_json(arguments.json_file, result);
        if (plot) plot_prediction(result, *plot);
        if (parts) plot_parts(result, *parts);
    });
    return exit_converged;
}

}  // namespace

const Command predict_command =
    CommandOf<PredictArguments>::row<add, run>("predict", "Predict the time of an iteration on other machines");
