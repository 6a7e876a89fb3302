// SPDX-License-Identifier: BSD-3-Clause
#include "advice_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "print.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/system/describe.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

std::string seconds(double value) {
    if (!std::isfinite(value)) return "never";
    if (value < 1e-3) return fmt::format("{:.3g} µs", 1e6 * value);
    return value < 1 ? fmt::format("{:.3g} ms", 1e3 * value) : fmt::format("{:.3g} s", value);
}

std::string row_of(const Expectation& way) {
    if (way.from != Expectation::From::trial)
        return fmt::format("  {:<48} cannot be made: {}", way.step.precond, way.ended);
    std::string text =
        fmt::format("  {:<48} {:>10} {:>12} {:>9} {:>10.1e} {:>11}", way.step.precond, seconds(way.setup),
                    seconds(way.iteration), way.trial, way.residual, seconds(way.seconds()));
    if (!way.ended.empty()) text += fmt::format("  it ended as {}", way.ended);
    return text;
}

}  // namespace

AdvicePage::AdvicePage(const Structure& structure, const PartTimes& parts, const std::vector<Expectation>& tried,
                       const RunInfo& run, int iterations) {
    const auto say = [&](std::string line = {}) { lines_.push_back(std::move(line)); };
    say(fmt::format("{}: {} rows, {} nonzeros, on {} rank{}", run.problem, run.rows, run.nonzeros, run.ranks,
                    run.ranks == 1 ? "" : "s"));
    say();
    say("What its entries tell:");
    for (const auto& line : structure.lines()) say("  " + line);
    say();
    say(fmt::format("What an iteration is made of here ({}):", parts.of_machine ? "by the machine file" : "measured"));
    say(fmt::format("  a product with A {}, a vector read or written {}, a reduction {}{}", seconds(parts.product),
                    seconds(parts.vector), seconds(parts.reduction),
                    parts.remains < 1 ? fmt::format(", of which {:.0f} % remain behind work", 100 * parts.remains)
                                      : ", which nothing is known to hide"));
    say();
    say(fmt::format(
        "Nobody can say beforehand how fast a method converges. So each preconditioner that suits was set up and"));
    say(fmt::format(
        "tried for {} iterations from x = 0. The last column goes on at that rate down to {:.0e}: a guess, for",
        iterations, run.rtol));
    say("Krylov methods speed up and slow down on their way.");
    say();
    say(fmt::format("  {:<48} {:>10} {:>12} {:>9} {:>10} {:>11}", "preconditioner", "set-up", "iteration", "iterations",
                    "residual", "in all"));
    auto ways = ordered_json::array();
    for (const auto& way : tried) say(row_of(way));
    say();

    const auto& first = tried.front();
    const std::string classic(find_method(parse_spec(first.step.method).name).classic);
    const double products = classic == "bicgstab" ? 2 : 1;
    const double preconditioner =
        first.step.precond == "none"
            ? 0
            : std::max(0.0, (first.iteration - 2 * parts.reduction) / products - parts.product - 6 * parts.vector);
    const auto methods = rank_methods(parts, classic, first.step.precond, preconditioner, first.iterations);
    const auto why = why_method(parts, methods.front().step.method, preconditioner);
    say(fmt::format(
        "The method: all of the family of {} come to the same iterates, so the time of an iteration decides.",
        classic));
    say("  " + why);
    for (const auto& way : methods)
        say(fmt::format("  {:<48} {:>10} an iteration", way.step.method, seconds(way.iteration)));
    say();
    say("To type, the likeliest first; the first line does all of this by itself and changes its mind where it was "
        "wrong:");
    auto commands = ordered_json::array();
    const auto command = [&](const NextStep& step) {
        commands.push_back(run.command(step));
        say("  " + run.command(step));
    };
    command({.method = "auto", .precond = "auto", .prepare = run.prepare});
    for (const auto& way : tried) {
        if (way.trial == 0 || !std::isfinite(way.seconds())) continue;
        NextStep step = way.step;
        step.prepare = run.prepare;
        if (&way == &first) step.method = methods.front().step.method;
        command(step);
    }
    for (const auto& way : tried) ways.push_back(ordered_json::parse(to_json(way)));
    auto of_methods = ordered_json::array();
    for (const auto& way : methods)
        of_methods.push_back({{"method", way.step.method}, {"iteration_seconds", way.iteration}});
    json_ = {{"problem", run.problem}, {"ranks", run.ranks},    {"structure", ordered_json::parse(run.structure)},
             {"trials", ways},         {"methods", of_methods}, {"why", why},
             {"commands", commands}};
}

void AdvicePage::print() const {
    for (const auto& line : lines_) print_out("{}\n", line);
}
