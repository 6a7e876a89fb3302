// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/result_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "stretto/comm/collective.hpp"
#include "stretto/core/instruction_set.hpp"
#include "stretto/core/text.hpp"
#include "stretto/driver/solver.hpp"

namespace stretto {
namespace {

using nlohmann::ordered_json;

/// JSON has no NaN.
ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

double mean(const Comm& comm, double mine) { return all_sum(comm, mine) / comm.size(); }

/// The whole solve: set-up, iterations of all methods that ran, safeguards; and the safeguards' part in it.
ordered_json totals(const Comm& comm, const Ledger& ledger) {
    Counts all;
    for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard}) all += ledger.at(phase);
    const Counts& safeguards = ledger.at(Phase::safeguard);
    return {{"applies", all.applies},
            {"preconditionings", all.preconditionings},
            {"reductions", all.reductions},
            {"hidden_reductions", all.hidden_reductions},
            {"blocking_reductions", all.reductions - all.hidden_reductions},
            {"hidden_fraction", all.reductions > 0 ? mean(comm, all.hidden) / static_cast<double>(all.reductions) : 0},
            {"lost_seconds", all_max(comm, all.lost)},
            {"bytes", all_sum(comm, all.bytes)},
            {"safeguard_applies", safeguards.applies},
            {"safeguard_reductions", safeguards.reductions}};
}

ordered_json per_iteration(const Comm& comm, const PerIteration& per) {
    return {{"applies", per.applies},
            {"preconditionings", per.preconditionings},
            {"reductions", per.reductions},
            {"hidden_reductions", per.hidden_reductions},
            {"hidden_fraction", mean(comm, per.hidden_fraction)},
            {"lost_seconds", all_max(comm, per.lost)},
            {"seconds", all_max(comm, per.wall)},
            {"vector_reads", per.vector_reads},
            {"vector_writes", per.vector_writes},
            {"bytes", all_sum(comm, per.bytes)}};
}

/// Blocking reductions of a part are those started less those hidden in it: one that is hidden is counted where it
/// arrives.
ordered_json parts_of(const Comm& comm, const Result& result) {
    auto parts = ordered_json::array();
    for (const auto& part : result.parts)
        parts.push_back({{"loop", part.loop},
                         {"warm_up", part.warm_up},
                         {"iterations", part.iterations},
                         {"seconds", all_max(comm, part.seconds)},
                         {"applies", part.counts.applies},
                         {"preconditionings", part.counts.preconditionings},
                         {"reductions", part.counts.reductions},
                         {"blocking_reductions", part.counts.reductions - part.counts.hidden_reductions}});
    return parts;
}

ordered_json columns_of(const Result& result) {
    auto columns = ordered_json::array();
    for (const auto& column : result.columns)
        columns.push_back(
            {{"status", name(column.status)},
             {"iterations", column.iterations},
             {"relative_residual", number(column.relative_residual)},
             {"recursive_residual", number(column.recursive_residual)},
             {"outside_range", result.projected ? number(column.outside_range) : ordered_json()},
             {"projected_residual", result.projected ? number(column.projected_residual) : ordered_json()}});
    return columns;
}

ordered_json events_of(const Result& result) {
    auto events = ordered_json::array();
    for (const auto& event : result.events)
        events.push_back(
            {{"iteration", event.iteration}, {"text", event.text}, {"times", event.times}, {"last", event.last}});
    return events;
}

ordered_json next_of(const RunInfo& run, const Result& result) {
    auto steps = ordered_json::array();
    for (const auto& step : result.next) steps.push_back({{"command", run.command(step)}, {"why", step.why}});
    return steps;
}

ordered_json parsed(const std::string& json) { return json.empty() ? ordered_json() : ordered_json::parse(json); }

}  // namespace

std::string RunInfo::command(const NextStep& step) const {
    std::string text = step.one_rank || ranks == 1 ? "" : fmt::format("mpirun -n {} ", ranks);
    text += fmt::format("{} {}", program, shell_word(problem));
    const auto add = [&](std::string_view name, const auto& value) {
        if ((step.more + " ").find(fmt::format("{} ", name)) == std::string::npos)
            text += fmt::format(" {} {}", name, value);
    };
    for (const auto& [name, value] : options) add(name, value);
    if (!latency.empty()) add("--emulate-latency", latency);
    const SolveOptions usual;
    if (rtol != usual.rtol) add("--rtol", fmt::format("{:g}", rtol));
    if (atol != usual.atol) add("--atol", fmt::format("{:g}", atol));
    if (max_iterations > usual.max_iterations) add("--max-it", max_iterations);
    return text + " " + step.options();
}

std::string_view version() { return STRETTO_VERSION; }

std::string result_json(const Comm& comm, const RunInfo& run, const Result& result) {
    ordered_json seconds;
    for (const auto& [kernel, kernel_name] : kernels)
        seconds[std::string(kernel_name)] = all_max(comm, result.ledger.seconds(kernel));
    const double solve_seconds = all_max(comm, result.solve_seconds), digits = -std::log10(result.relative_residual());
    const auto colon = run.method.find(':');
    return ordered_json{{"stretto", version()},
                        {"method", run.method.substr(0, colon)},
                        {"options", colon == run.method.npos ? "" : run.method.substr(colon + 1)},
                        {"precond", run.precond},
                        {"precond_bytes", run.precond_bytes},
                        {"prepare", run.prepare},
                        {"formulation", run.formulation},
                        {"problem", run.problem},
                        {"rows", run.rows},
                        {"nonzeros", run.nonzeros},
                        {"columns", run.columns},
                        {"scalar", run.scalar},
                        {"ranks", comm.size()},
                        {"threads", run.threads},
                        {"reproducible", run.reproducible},
                        {"instruction_set", instruction_set()},
                        {"device", run.device},
                        {"rtol", run.rtol},
                        {"atol", run.atol},
                        {"max_iterations", run.max_iterations},
                        {"progress_mode", name(comm.progress_mode())},
                        {"emulated_latency", run.latency},
                        {"status", name(result.status)},
                        {"converged", result.converged()},
                        {"verified", result.verified},
                        {"iterations", result.iterations},
                        {"resumed_after", result.resumed_after},
                        {"columns_detail", columns_of(result)},
                        {"relative_residual", number(result.relative_residual())},
                        {"seconds",
                         {{"setup", run.setup_seconds},
                          {"precond_setup", run.precond_seconds},
                          {"solve", solve_seconds},
                          {"per_digit", number(digits > 0 ? (run.precond_seconds + solve_seconds) / digits : INFINITY)},
                          {"by_kernel", seconds}}},
                        {"per_iteration", per_iteration(comm, result.per_iteration)},
                        {"total", totals(comm, result.ledger)},
                        {"parts", parts_of(comm, result)},
                        {"finished_by", result.finished_by},
                        {"vectors_stored", result.vectors},
                        {"choice", parsed(run.choice)},
                        {"multigrid", parsed(run.multigrid)},
                        {"structure", parsed(run.structure)},
                        {"null_space", parsed(run.null_space)},
                        {"partition", parsed(run.partition)},
                        {"storage", parsed(run.storage)},
                        {"remarks", run.remarks},
                        {"events", events_of(result)},
                        {"next", next_of(run, result)}}
        .dump();
}

}  // namespace stretto
