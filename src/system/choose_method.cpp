// SPDX-License-Identifier: BSD-3-Clause
// Which method of a family: all have about the same iterates, so the time of an iteration decides.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "stretto/core/spec.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/model/iteration.hpp"
#include "stretto/system/choice.hpp"

namespace stretto {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 8> cg_family{"cg",
                                                    "single_reduction_cg",
                                                    "pipelined_cg",
                                                    "deep_pipelined_cg:l=2",
                                                    "deep_pipelined_cg:l=3",
                                                    "deep_pipelined_cg:l=4",
                                                    "s_step_cg",
                                                    "pipelined_s_step_cg"};
constexpr std::array<std::string_view, 4> bicgstab_family{"bicgstab", "improved_bicgstab", "reordered_bicgstab",
                                                          "pipelined_bicgstab"};
constexpr std::array<std::string_view, 4> gmres_family{"gmres", "s_step_gmres", "pipelined_gmres:l=2",
                                                       "pipelined_s_step_gmres"};
constexpr std::array<std::string_view, 1> minres_family{"minres"};

Names family(const std::string& classic) {
    if (classic == "cg") return cg_family;
    if (classic == "bicgstab") return bicgstab_family;
    if (classic == "gmres") return gmres_family;
    return minres_family;
}

/// Their text is run once in a program: it takes a fraction of a millisecond.
const MethodIteration& traced(const std::string& method, bool preconditioned) {
    static std::map<std::pair<std::string, bool>, MethodIteration> known;
    const auto key = std::pair(method, preconditioned);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known.emplace(key, trace_iteration(method, Formulation::merged, preconditioned)).first->second;
}

std::string time(double seconds) {
    if (seconds < 1e-3) return fmt::format("{:.3g} µs", 1e6 * seconds);
    return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

/// l=auto or s=auto.
bool is_automatic_depth(const std::pair<std::string, std::string>& option) {
    return option.second == "auto" && (option.first == "l" || option.first == "s");
}

std::string text_of(const Spec& spec) {
    std::string text = spec.name;
    const auto add = [&](const std::string& word) { text += (text == spec.name ? ":" : ",") + word; };
    std::ranges::for_each(spec.positional, add);
    for (const auto& [name, value] : spec.options) add(name + "=" + value);
    return text;
}

bool has_option(const Method& method, std::string_view name) {
    return std::ranges::count(method.options, name, &OptionInfo::name) > 0;
}

/// A method of a family, as the registry has it.
struct Row {
    std::string_view name;
    const Method* method;
    double applies, preconditionings, reductions;
    bool hides, hides_preconditioned;
    double moved, moved_preconditioned;  // vectors
    double in_flight;                    // reductions
    double block;                        // iterations that come together
    double restart;                      // iterations from one to the next; 0: there are none

    explicit Row(std::string_view text) : name(text) {
        const Spec spec = parse_spec(std::string(text));
        method = &find_method(spec.name);
        const Options options(spec, method->options);
        applies = method->applies;
        preconditionings = method->preconditionings;
        reductions = method->reductions;
        hides = method->hidden_reductions > 0;
        hides_preconditioned = method->hidden_reductions_preconditioned > 0;
        const auto vectors = [&](bool preconditioned) {
            return 4 + 1.2 * std::min(12, method->vectors(options, preconditioned));
        };
        moved = vectors(false);
        moved_preconditioned = vectors(true);
        const bool deep = has_option(*method, "l"), blocks = has_option(*method, "t");
        in_flight = deep ? std::max(1.0, options.number("l") - (blocks ? 1 : 0)) : 1;  // of l blocks one is being made
        block = has_option(*method, "s") ? options.number("s") : blocks ? options.number("t") : 1;
        restart = has_option(*method, "m") ? options.number("m") : 0;
    }
};

/// Read once in a program.
const std::vector<Row>& rows_of(const std::string& classic) {
    static std::map<std::string, std::vector<Row>> known;
    auto& rows = known[classic];
    if (rows.empty())
        for (const auto name : family(classic)) rows.emplace_back(name);
    return rows;
}

/// About the same as iteration_seconds, by the row of the method alone.
double about(const PartTimes& parts, const Row& row, double preconditioner) {
    const double moved = preconditioner > 0 ? row.moved_preconditioned : row.moved;
    const double work =
        row.applies * parts.product + row.preconditionings * preconditioner + moved * parts.vector + 3 * parts.kernel;
    const double sums = row.reductions * parts.reduction;
    if (!(preconditioner > 0 ? row.hides_preconditioned : row.hides)) return work + sums;
    return std::max(work + parts.remains * sums, sums / row.in_flight);
}

/// Of vectors in single precision: half of the bytes.
PartTimes in_single(PartTimes parts) {
    parts.product /= 2;
    parts.vector /= 2;
    return parts;
}

constexpr double little = 0.3;  // of the work of an iteration: a reduction that is not worth a look at other methods
constexpr double at_both_ends = 3;  // reductions
constexpr double a_block = 5;       // iterations: of fewer GMRES methods that work in blocks make no whole one
constexpr double of_restart = 2;    // reductions: a restart waits for its residual and its first vector

bool is_worth_a_look(const PartTimes& parts, double preconditioner) {
    return parts.reduction > little * (parts.product + preconditioner);
}

/// What an iteration takes, and what is outside of iterations. `seconds` are those of an iteration of a row.
template <class Seconds>
Expectation expected_of(const PartTimes& parts, const std::vector<Row>& rows, const Row& row, double iterations,
                        Seconds&& seconds) {
    Expectation way;
    way.step.method = row.name;
    const double iteration = way.iteration = seconds(row);
    if (row.restart > 0 && iterations > row.restart) way.iteration += of_restart * parts.reduction / row.restart;
    way.iterations = iterations;
    // Of the last block part is done in vain; blocks wait once more at the start, and those in a pipeline of CG twice.
    const double before = row.block == 1 ? 0 : row.method->name == "pipelined_s_step_cg" ? 3 : 1;
    way.outside = (at_both_ends + before) * parts.reduction + parts.product + (row.block - 1) / 2 * iteration;
    if (row.method->name == "deep_pipelined_cg") {  // what leads into it has one reduction in flight
        const double lead = std::min(iterations, Options(Spec{}, row.method->options).number("warmup"));
        const auto entry = std::ranges::find(rows, std::string_view("pipelined_cg"), &Row::name);
        way.outside += lead * std::max(0.0, seconds(*entry) - iteration);
    }
    return way;
}

}  // namespace

double iteration_seconds(const PartTimes& parts, const std::string& method, double preconditioner) {
    // A machine of one node on which the parts take what they take here.
    const double bandwidth = parts.vector > 0 ? 8 * parts.columns * parts.rows / parts.vector : 1;
    ModelMachine machine{
        .memory_bandwidth = bandwidth, .cache = 0, .cache_bandwidth = bandwidth, .kernel = parts.kernel};
    machine.all_reduce = PowerLaw{.c0 = parts.reduction};
    ModelSystem system;
    system.N = parts.rows;
    system.product = {std::max(0.0, parts.product - parts.kernel) * bandwidth, 0};
    system.preconditioner = {std::max(0.0, preconditioner - parts.kernel) * bandwidth, 0};
    system.boundary = [rows = parts.rows](int) { return Boundary{.rows = rows}; };
    const ExecutionTime time(std::move(machine), std::move(system), parts.columns, parts.remains);
    return time(traced(method, preconditioner > 0), 1).total();
}

Expectation quickest_of_family(const PartTimes& parts, const std::string& classic, double preconditioner,
                               double iterations) {
    const auto& rows = rows_of(classic);
    const auto expected = [&](const auto& row) {
        return expected_of(parts, rows, row, iterations,
                           [&](const Row& of) { return about(parts, of, preconditioner); });
    };
    auto best = expected(rows.front());  // the classic one
    const bool look = is_worth_a_look(parts, preconditioner) && !(classic == "gmres" && iterations < a_block);
    if (!look) return best;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].hides && parts.remains >= 1) continue;
        if (auto way = expected(rows[i]); way.seconds() < best.seconds()) best = std::move(way);
    }
    return best;
}

std::vector<Expectation> rank_methods(const PartTimes& parts, const std::string& classic, const std::string& precond,
                                      double preconditioner, double iterations, bool transposes) {
    constexpr double budget = 0.05, a_trace = 5e-4;  // of the solve, for the model, and seconds for a method
    const double work = parts.product + preconditioner;
    const bool look = is_worth_a_look(parts, preconditioner);
    const auto& rows = rows_of(classic);
    const bool model =
        look && budget * iterations * (work + parts.reduction) > a_trace * static_cast<double>(rows.size());
    std::vector<Expectation> ranked;
    for (const auto& row : rows) {
        if ((row.hides && parts.remains >= 1) || (row.method->transpose && !transposes)) continue;
        if (row.name != classic && (!look || (classic == "gmres" && iterations < a_block))) continue;
        const auto seconds = [&](const Row& of) {
            return model ? iteration_seconds(parts, std::string(of.name), preconditioner)
                         : about(parts, of, preconditioner);
        };
        auto way = expected_of(parts, rows, row, iterations, seconds);
        way.step.precond = precond;
        ranked.push_back(std::move(way));
    }
    std::ranges::stable_sort(ranked, {}, &Expectation::seconds);
    return ranked;
}

std::string why_method(const PartTimes& parts, const std::string& chosen, double preconditioner, int own_reductions) {
    std::string with = preconditioner > 0 ? fmt::format(" and preconditioner {}", time(preconditioner)) : "";
    if (own_reductions > 0)
        with += fmt::format(" (with {} of its own, which nothing hides)",
                            own_reductions == 1 ? "a reduction" : fmt::format("{} reductions", own_reductions));
    const std::string start =
        fmt::format("reduction {}, product {}{}: ", time(parts.reduction), time(parts.product), with);
    const auto [spec, found, options, single] = choose_method(chosen);
    const Method& method = *found;
    const double work = (parts.product + preconditioner) / (single ? 2 : 1);
    if (family(spec.name).size() == 1 && spec.name == family(spec.name).front())
        return start + fmt::format("{} is the only one of its kind", spec.name);
    if (spec.name == method.classic)
        return start + (parts.remains >= 1 && parts.reduction > 0.1 * work
                            ? "nothing is known to let reductions advance behind work here, and to have fewer of them "
                              "costs more"
                            : "to hide reductions or to have fewer of them costs more than they do");
    const char* const part = work < parts.reduction ? " in part" : "";
    if (spec.name == "deep_pipelined_cg" || spec.name == "pipelined_gmres") {
        const int l = static_cast<int>(options.number("l"));
        return start + fmt::format("depth {} hides it{}; l = {} would cost another vector", l,
                                   l * work < parts.reduction ? " in part" : "", l + 1);
    }
    if (method.hidden_reductions == 0) return start + "fewer reductions pay for the vectors that they take";
    if (method.reductions < 1)
        return start + fmt::format("one for several iterations, hidden behind their work{}", part);
    return start + fmt::format("hidden behind the work of an iteration{}", part);
}

bool has_automatic_depth(const std::string& method) {
    return std::ranges::any_of(parse_spec(method).options, is_automatic_depth);
}

std::string without_automatic(const std::string& method) {
    Spec spec = parse_spec(method);
    std::erase_if(spec.options, is_automatic_depth);
    return text_of(spec);
}

std::string with_depth(const PartTimes& parts, const std::string& method, double preconditioner) {
    constexpr int deepest = 6;  // deeper pipelines lose more to rounding than they hide
    std::string text = method;
    while (has_automatic_depth(text)) {
        Spec spec = parse_spec(text);
        auto& open = *std::ranges::find_if(spec.options, is_automatic_depth);
        double least = INFINITY;
        std::string best;
        for (int depth = 1; depth <= deepest; ++depth) {
            open.second = std::to_string(depth);
            const auto asked = choose_method(without_automatic(text_of(spec)));
            const double seconds = iteration_seconds(asked.in_single ? in_single(parts) : parts, text_of(asked.spec),
                                                     asked.in_single ? preconditioner / 2 : preconditioner);
            if (!(seconds < (1 - 1e-9) * least)) continue;
            least = seconds;
            best = text_of(spec);
        }
        text = best;
    }
    return text;
}

}  // namespace stretto
