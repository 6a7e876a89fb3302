// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/instruction_set.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int name_width = 28, status_width = 17;

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
            {"hidden_fraction", all.reductions > 0 ? mean(comm, all.hidden) / static_cast<double>(all.reductions) : 0},
            {"lost_seconds", all_max(comm, all.lost)},
            {"bytes", all_sum(comm, all.bytes)},
            {"safeguard_applies", safeguards.applies},
            {"safeguard_reductions", safeguards.reductions}};
}

/// A count that is whole where nothing unusual happened.
std::string count(const ordered_json& value) {
    const double v = value.get<double>();
    return v == std::round(v) ? fmt::format("{:.0f}", v) : fmt::format("{:.2f}", v);
}

}  // namespace

void write_text(const std::string& path, const std::string& text) {
    if (path == "-") {
        std::fputs(text.c_str(), stdout);
        return;
    }
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw InputError("cannot write " + path);
}

void Report::add(const Comm& comm, const std::string& method, const Result& result) {
    ordered_json seconds;
    for (const auto& [kernel, kernel_name] : kernels)
        seconds[std::string(kernel_name)] = all_max(comm, result.ledger.seconds(kernel));
    const auto& per = result.per_iteration;
    auto columns = ordered_json::array();
    for (const auto& column : result.columns)
        columns.push_back({{"status", name(column.status)},
                           {"iterations", column.iterations},
                           {"relative_residual", number(column.relative_residual)},
                           {"recursive_residual", number(column.recursive_residual)}});
    auto events = ordered_json::array();
    for (const auto& event : result.events)
        events.push_back(
            {{"iteration", event.iteration}, {"text", event.text}, {"times", event.times}, {"last", event.last}});
    const auto colon = method.find(':');

    runs_.push_back({{"stretto", STRETTO_VERSION},
                     {"method", method.substr(0, colon)},
                     {"options", colon == method.npos ? "" : method.substr(colon + 1)},
                     {"precond", head_.precond},
                     {"precond_bytes", head_.precond_bytes},
                     {"prepare", head_.prepare},
                     {"formulation", head_.formulation},
                     {"problem", head_.problem},
                     {"rows", head_.rows},
                     {"nonzeros", head_.nonzeros},
                     {"columns", head_.columns},
                     {"ranks", head_.ranks},
                     {"threads", head_.threads},
                     {"instruction_set", instruction_set()},
                     {"rtol", head_.rtol},
                     {"atol", head_.atol},
                     {"max_iterations", head_.max_iterations},
                     {"progress_mode", name(comm.progress_mode())},
                     {"emulated_latency", head_.latency},
                     {"status", name(result.status)},
                     {"converged", result.converged()},
                     {"iterations", result.iterations},
                     {"columns_detail", columns},
                     {"relative_residual", number(result.relative_residual())},
                     {"seconds",
                      {{"setup", head_.setup_seconds},
                       {"precond_setup", head_.precond_seconds},
                       {"solve", all_max(comm, result.solve_seconds)},
                       {"by_kernel", seconds}}},
                     {"per_iteration",
                      {{"applies", per.applies},
                       {"preconditionings", per.preconditionings},
                       {"reductions", per.reductions},
                       {"hidden_reductions", per.hidden_reductions},
                       {"hidden_fraction", mean(comm, per.hidden_fraction)},
                       {"lost_seconds", all_max(comm, per.lost)},
                       {"seconds", all_max(comm, per.wall)},
                       {"vector_reads", per.vector_reads},
                       {"vector_writes", per.vector_writes},
                       {"bytes", all_sum(comm, per.bytes)}}},
                     {"total", totals(comm, result.ledger)},
                     {"finished_by", result.finished_by},
                     {"vectors_stored", result.vectors},
                     {"structure", head_.structure},
                     {"partition", head_.partition},
                     {"storage", head_.storage},
                     {"remarks", head_.remarks},
                     {"events", events}});
}

void Report::print_head() const {
    fmt::print(
        "{}: {} rows, {} nonzeros; {} right-hand side{}; precond {}; {} rank{} × {} thread{}, {}; "
        "set up in {:.2f} s\n",
        head_.problem, head_.rows, head_.nonzeros, head_.columns, head_.columns == 1 ? "" : "s", head_.precond,
        head_.ranks, head_.ranks == 1 ? "" : "s", head_.threads, head_.threads == 1 ? "" : "s", instruction_set(),
        head_.setup_seconds);
    if (!head_.latency.empty()) fmt::print("  emulated latency: {}\n", head_.latency);
    for (const auto& remark : head_.remarks) fmt::print("  {}\n", remark);
    fmt::print("\n{:<{}} {:<{}} {:>10} {:>9} {:>9} {:>10} {:>10} {:>6} {:>7} {:>8} {:>12}\n", "method", name_width,
               "status", status_width, "iterations", "seconds", "ms/iter", "true resid", "reduct./it", "hidden",
               "overlap", "lost ms", "reads+writes");
    std::fflush(stdout);
}

void Report::print_last() const {
    const auto& run = runs_.back();
    const auto& options = run["options"].get<std::string>();
    auto method = run["method"].get<std::string>() + (options.empty() ? "" : ":" + options);
    if (run["finished_by"] != run["method"]) method += " → " + run["finished_by"].get<std::string>();
    const double seconds = run["seconds"]["solve"];
    const int iterations = run["iterations"];
    const auto& per = run["per_iteration"];
    const auto& residual = run["relative_residual"];
    fmt::print("{:<{}} {:<{}} {:>10} {:>9.3f} {:>9.3f} {:>10} {:>10} {:>6} {:>6.0f}% {:>8.3f} {:>12}\n", method,
               name_width, run["status"].get<std::string>(), status_width, iterations, seconds,
               iterations > 0 ? 1000 * seconds / iterations : 0,
               residual.is_null() ? "not finite" : fmt::format("{:.2e}", residual.get<double>()),
               count(per["reductions"]), count(per["hidden_reductions"]), 100 * per["hidden_fraction"].get<double>(),
               1000 * per["lost_seconds"].get<double>(),
               count(per["vector_reads"]) + "+" + count(per["vector_writes"]));
    std::fflush(stdout);
}

void Report::print_foot() const {
    for (const auto& run : runs_) {
        const bool several = runs_.size() > 1;
        const std::string who = several ? run["method"].get<std::string>() + ": " : "";
        if (!run["events"].empty()) fmt::print("\n");
        for (const auto& event : run["events"])
            fmt::print(
                "  {}{}\n", who,
                to_string(Event{event["iteration"], event["text"].get<std::string>(), event["times"], event["last"]}));
        if (several) continue;
        if (head_.columns > 1) {
            fmt::print("\n{:>6} {:<26} {:>10} {:>11} {:>11}\n", "column", "status", "iterations", "true resid",
                       "recursive");
            int j = 0;
            for (const auto& column : run["columns_detail"]) {
                const auto residual = [&](const char* key) {
                    return column[key].is_null() ? NAN : column[key].get<double>();
                };
                fmt::print("{:>6} {:<26} {:>10} {:>11.2e} {:>11.2e}\n", ++j, column["status"].get<std::string>(),
                           column["iterations"].get<int>(), residual("relative_residual"),
                           residual("recursive_residual"));
            }
        }
        fmt::print("\nseconds by kernel:");
        for (const auto& [kernel, seconds] : run["seconds"]["by_kernel"].items())
            fmt::print("  {} {:.3f}", kernel, seconds.get<double>());
        fmt::print("\n");
    }
}

void Report::write_json(const std::string& path) const {
    const ordered_json all = runs_.size() == 1 ? runs_.front() : ordered_json(runs_);
    write_text(path, all.dump(2) + "\n");
}

void Report::keep_history(const Result& result) {
    const std::size_t columns = std::max<std::size_t>(1, result.columns.size());
    history_ = "iteration";
    for (std::size_t j = 1; j <= columns; ++j) history_ += fmt::format(",column_{}", j);
    for (std::size_t j = 1; j <= columns && !result.true_history.empty(); ++j) history_ += fmt::format(",true_{}", j);
    const auto row = [&](const std::vector<double>& values, std::size_t begin) {
        for (std::size_t j = 0; j < columns && begin + j < values.size(); ++j) {
            const double norm = result.columns[j].norm_b;
            history_ += fmt::format(",{:.6e}", values[begin + j] / (norm > 0 ? norm : 1));
        }
    };
    for (std::size_t i = 0; i < result.history.size(); i += columns) {
        history_ += fmt::format("\n{}", i / columns + 1);
        row(result.history, i);
        row(result.true_history, i);
    }
    history_ += "\n";
}

void Report::write_history(const std::string& path) const { write_text(path, history_); }
