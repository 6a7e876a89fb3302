// SPDX-License-Identifier: BSD-3-Clause
#include "run_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <limits>

#include "rank_system.hpp"
#include "stretto/core/error.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/io/trace_file.hpp"

using namespace stretto;
using json = nlohmann::json;

namespace {

/// Where every iteration ended.
struct Iterations {
    std::vector<double> ends;   ///< virtual seconds of the slowest rank
    std::vector<int> products;  ///< with A before, in a dry run
};

/// Of an iteration, over whole periods after the first iterations: a restarted method's cycle, the block of an s-step
/// one, whose iterations all end with it, or the l iterations of a pipeline, whose sums in flight arrive in bursts of l
/// where it is they that take long. Periods with more products than others are left out, for they have a safeguard; so
/// is what is left at the end, where a block is shorter.
double seconds_over_periods(const Iterations& iterations, std::size_t first, std::size_t period) {
    const auto& [ends, products] = iterations;
    const auto begin = std::max(first, period) - 1, end = ends.size() - ends.size() % period;
    int least = std::numeric_limits<int>::max();
    for (std::size_t k = begin; k + period < end; k += period)
        least = std::min(least, products[k + period] - products[k]);
    double seconds = 0;
    std::size_t counted = 0;
    for (std::size_t k = begin; k + period < end; k += period) {
        if (products[k + period] - products[k] > least) continue;
        seconds += ends[k + period] - ends[k];
        counted += period;
    }
    return counted > 0 ? seconds / static_cast<double>(counted) : NAN;
}

double seconds_per_iteration(const Iterations& iterations, const Method& method, const Options& options, bool dry) {
    const auto has = [&](std::string_view option) {
        return std::ranges::find(method.options, option, &OptionInfo::name) != method.options.end();
    };
    const auto number = [&](std::string_view option) { return static_cast<std::size_t>(options.number(option)); };
    if (has("m")) return seconds_over_periods(iterations, 0, number("m"));
    std::size_t first = 10;  // iterations that fill a pipeline
    if (has("warmup") && !dry) first += number("warmup");
    const std::size_t period = has("s") ? number("s") : has("l") ? number("l") : 1;
    return seconds_over_periods(iterations, std::min(first, iterations.ends.size() / 2), period);
}

SolveOptions solve_options(const SimulatedSystem& system, const json& job, const std::string& method) {
    SolveOptions options;
    options.method = system.dry() ? without_safeguards(method, RankSystem::largest) : method;
    options.max_iterations = job.at("iterations");
    options.rtol = system.dry() ? 0 : job.at("rtol").get<double>();
    options.formulation = job.at("formulation") == "basic" ? Formulation::basic : Formulation::merged;
    options.history = job.at("history");
    return options;
}

/// Tells `iterations` where each one ends. `system` and `iterations` must outlive the solve.
Monitor stopwatch(SimulatedSystem& system, Iterations& iterations, int most) {
    const auto room = static_cast<std::size_t>(std::min(most, 100'000)) + 1;
    iterations.ends.reserve(room);
    iterations.products.reserve(room);
    return [&](const IterationInfo& at) {
        if (at.iteration == 0) return true;
        iterations.ends.push_back(system.now());
        iterations.products.push_back(system.products());
        return true;
    };
}

/// That of a dry run has columns that differ.
std::vector<double> right_hand_sides(SimulatedSystem& system, const json& job, int columns) {
    if (!system.dry()) return system.right_hand_sides(job.at("rhs"), columns);
    const auto width = static_cast<std::size_t>(columns);
    std::vector<double> b(static_cast<std::size_t>(system.rows()) * width, 1.0);
    for (std::size_t k = 0; k < b.size(); ++k) b[k] += 0.1 * static_cast<double>(k % width);
    return b;
}

Result solve_in_virtual_time(SimulatedSystem& system, std::vector<double>& b, int columns,
                             const SolveOptions& options) {
    const auto rows = system.rows();
    std::vector<double> x(b.size(), 0.0);
    return solve<double>(system.comm(), system.A(), system.M(), {b.data(), rows, columns}, {x.data(), rows, columns},
                         options);
}

/// Collective. What the slowest rank had, value by value; of what is hidden, the rank that hides the least.
json describe(SimulatedSystem& system, const std::string& method, const Result& result, double per_iteration) {
    const auto& mean = result.per_iteration;
    enum { of_iteration, of_solve, lost, rows, shown, neighbours, kernel };
    std::vector<double> most{per_iteration,
                             result.solve_seconds,
                             mean.lost,
                             static_cast<double>(system.rows_of_a_rank()),
                             -mean.hidden_fraction,
                             static_cast<double>(system.neighbours())};
    most.insert(most.end(), mean.seconds.begin(), mean.seconds.end());
    system.largest_of(most);
    json line{{"method", method},
              {"ranks", system.ranks()},
              {"rows", system.all_rows()},
              {"rows_of_a_rank", most[rows]},
              {"neighbours", most[neighbours]},
              {"status", name(result.status)},
              {"finished_by", result.finished_by},
              {"iterations", result.iterations},
              {"relative_residual", result.relative_residual()},
              {"seconds", most[of_solve]},
              {"seconds_per_iteration", most[of_iteration]},
              {"reductions", mean.reductions},
              {"vector_reads", mean.vector_reads},
              {"vector_writes", mean.vector_writes},
              {"hidden", -most[shown]},
              {"lost", most[lost]}};
    for (std::size_t k = 0; k < kernels.size(); ++k) line["kernels"][std::string(kernels[k].second)] = most[kernel + k];
    for (std::size_t k = 0; k < result.history.size(); ++k)
        line["history"].push_back(result.history[k] / result.columns[k % result.columns.size()].norm_b);
    return line;
}

/// Collective. What the iterations were, by the slowest rank; products are counted with A.
json parts_of(SimulatedSystem& system, const Result& result) {
    std::vector<double> seconds;
    for (const auto& part : result.parts) seconds.push_back(part.seconds);
    system.largest_of(seconds);
    json parts = json::array();
    for (std::size_t k = 0; k < seconds.size(); ++k) {
        const auto& [loop, warm_up, iterations, counts, mine] = result.parts[k];
        parts.push_back({{"loop", loop},
                         {"warm_up", warm_up},
                         {"iterations", iterations},
                         {"seconds", seconds[k]},
                         {"applies", counts.applies},
                         {"preconditionings", counts.preconditionings},
                         {"reductions", counts.reductions},
                         {"blocking_reductions", counts.reductions - counts.hidden_reductions}});
    }
    return parts;
}

/// Collective. What a line tells of a whole solve: its time, what it took, what its iterations were. The time of an
/// iteration is then that of the method's own, with their safeguards.
void describe_solution(SimulatedSystem& system, const Result& result, const std::string& method, json& line) {
    line["parts"] = parts_of(system, result);
    json total;
    for (const char* const count : {"applies", "preconditionings", "reductions", "blocking_reductions"}) {
        std::int64_t sum = 0;
        for (const auto& part : line["parts"]) sum += part[count].get<std::int64_t>();
        total[count] = sum;
    }
    line["total"] = total;
    line["seconds_to_solution"] = result.converged() ? line["seconds"] : json();
    line["seconds_per_iteration"] = nullptr;
    for (const auto& part : line["parts"])
        if (part["loop"] == method && !part["warm_up"] && part["iterations"] > 0)
            line["seconds_per_iteration"] = part["seconds"].get<double>() / part["iterations"].get<double>();
}

/// PREFIX and the method, with - for what a file's name should not have.
std::string timeline_file(const std::string& prefix, std::string method) {
    std::ranges::replace_if(method, [](unsigned char c) { return !std::isalnum(c) && c != '_'; }, '-');
    return fmt::format("{}{}.json", prefix, method);
}

}  // namespace

json run_method(SimulatedSystem& system, const json& job, const std::string& method) {
    const auto began = std::chrono::steady_clock::now();
    const auto [spec, row, method_options, in_single] = choose_method(method);
    if (in_single) throw InputError(fmt::format("{}: simulation is of methods in double precision", method));
    const int columns = job.at("columns");
    const int vectors = 2 + row->vectors(method_options, static_cast<bool>(system.M()));
    Comm& comm = system.comm();
    auto b = right_hand_sides(system, job, columns);
    system.begin(vectors, columns);
    SolveOptions options = solve_options(system, job, method);
    Iterations iterations;
    options.monitor = stopwatch(system, iterations, options.max_iterations);
    constexpr int traced_ranks = 4;
    Trace trace(comm.rank() < traced_ranks ? 1'000'000 : 0);
    const std::string timeline = job.at("trace");
    if (!timeline.empty()) options.trace = &trace;
    const Result result = solve_in_virtual_time(system, b, columns, options);
    if (system.dry() && (result.iterations < options.max_iterations || result.finished_by != spec.name))
        throw InputError(fmt::format("a dry run of {} ends after {} iterations by {}: --iterations fewer", method,
                                     result.iterations, result.finished_by));

    system.largest_of(iterations.ends);
    json line = describe(system, method, result, seconds_per_iteration(iterations, *row, method_options, system.dry()));
    if (job.at("to_solution")) describe_solution(system, result, spec.name, line);
    if (!timeline.empty()) write_trace(comm, trace, timeline_file(timeline, method));
    line["simulated_in"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return line;
}
