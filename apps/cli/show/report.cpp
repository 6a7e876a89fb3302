// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../files.hpp"
#include "print.hpp"
#include "stretto/core/instruction_set.hpp"
#include "stretto/driver/check.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int name_width = 28, status_width = 17;

/// A count that is whole where nothing unusual happened.
std::string count(const ordered_json& value) {
    const double v = value.get<double>();
    return v == std::round(v) ? fmt::format("{:.0f}", v) : fmt::format("{:.2f}", v);
}

void print_columns(const ordered_json& columns) {
    print_out("\n{:>6} {:<26} {:>10} {:>11} {:>11}\n", "column", "status", "iterations", "residual", "recursive");
    int j = 0;
    for (const auto& column : columns) {
        const auto residual = [&](const char* key) { return column[key].is_null() ? NAN : column[key].get<double>(); };
        print_out("{:>6} {:<26} {:>10} {:>11.2e} {:>11.2e}\n", ++j, column["status"].get<std::string>(),
                  column["iterations"].get<int>(), residual("relative_residual"), residual("recursive_residual"));
    }
}

void print_next(const std::string& who, const ordered_json& steps) {
    print_out("\n");
    for (const auto& step : steps)
        print_out("{}next: {}   # {}\n", who, step["command"].get<std::string>(), step["why"].get<std::string>());
}

void print_choice(const std::string& who, const ordered_json& choice) {
    const auto in_all = [](const ordered_json& way) {
        return fmt::format("{} with {}", way["method"].get<std::string>(), way["precond"].get<std::string>());
    };
    print_out("\n{}choice: {}: {}\n", who, in_all(choice), choice["why"].get<std::string>());
    for (const auto& reason : choice["reasons"])
        if (reason != choice["why"]) print_out("  {}\n", reason.get<std::string>());
    for (const auto& change : choice["changes"]) print_out("  changed: {}\n", change.get<std::string>());
    const auto& expected = choice["expected"];
    if (expected["iterations"].is_number() && expected["iterations"] > 0)
        print_out("  {} was expected to take {:.2g} s: set-up {:.2g} s, {:.0f} iterations (assumed) of {:.2g} ms\n",
                  choice["changes"].empty() ? "this" : "the last", expected["seconds"].get<double>(),
                  expected["setup_seconds"].get<double>(), expected["iterations"].get<double>(),
                  1000 * expected["iteration_seconds"].get<double>());
    std::string others;
    for (const auto& way : choice["runners_up"])
        if (way["ended"] == "")
            others += fmt::format("{}{} {:.2g} s", others.empty() ? "" : ", ", in_all(way),
                                  way["seconds_at_first"].get<double>());
    if (!others.empty()) print_out("  others were expected to take: {} (iterations assumed)\n", others);
}

/// What the preconditioner took, and with it the work for a digit.
void print_work(const ordered_json& run) {
    const auto& seconds = run["seconds"];
    const auto& choice = run["choice"];
    const bool several = !choice.is_null() && !choice["changes"].empty();
    print_out("preconditioner{}: set up in {:.3f} s, {}{:.4g} MB", several ? "s" : "",
              seconds["precond_setup"].get<double>(), several ? "the last with " : "",
              1e-6 * run["precond_bytes"].get<double>());
    if (!seconds["per_digit"].is_null())
        print_out("; {:.3g} s for each digit that the residual lost, set-up included",
                  seconds["per_digit"].get<double>());
    print_out("\n");
}

}  // namespace

void Report::add(const Comm& comm, const std::string& method, const Result& result) {
    run_.method = method;
    runs_.push_back(ordered_json::parse(result_json(comm, run_, result)));
}

void Report::solved_with(const RunInfo& now) {
    run_.precond = now.precond;
    run_.precond_seconds = now.precond_seconds;
    run_.precond_bytes = now.precond_bytes;
    run_.multigrid = now.multigrid;
    run_.choice = now.choice;
    for (const auto& remark : now.remarks)
        if (std::ranges::count(run_.remarks, remark) == 0) run_.remarks.push_back(remark);
}

void Report::print_head(int ranks) const {
    print_out(
        "{}: {} rows, {} nonzeros; {} right-hand side{}; precond {}{}; {} rank{} × {} thread{}, {}; "
        "set up in {:.2f} s\n",
        run_.problem, run_.rows, run_.nonzeros, run_.columns, run_.columns == 1 ? "" : "s", run_.precond,
        run_.choice.empty() ? "" : ", chosen to begin with", ranks, ranks == 1 ? "" : "s", run_.threads,
        run_.threads == 1 ? "" : "s", instruction_set(), run_.setup_seconds);
    if (!run_.latency.empty()) print_out("  emulated latency: {}\n", run_.latency);
    for (const auto& remark : run_.remarks) print_out("  {}\n", remark);
    print_out("\n{:<{}} {:<{}} {:>10} {:>9} {:>9} {:>10} {:>10} {:>6} {:>8} {:>7} {:>8} {:>12}\n", "method", name_width,
              "status", status_width, "iterations", "seconds", "ms/iter", "residual", "reduct./it", "hidden",
              "blocking", "overlap", "lost ms", "reads+writes");
    flush_out();
}

void Report::print_last() const {
    const auto& run = runs_.back();
    const auto& options = run["options"].get<std::string>();
    auto method = run["method"].get<std::string>() + (options.empty() ? "" : ":" + options);
    if (run["finished_by"] != choose_method(method).spec.name) method += " → " + run["finished_by"].get<std::string>();
    const double seconds = run["seconds"]["solve"];
    const int iterations = run["iterations"];
    const auto& per = run["per_iteration"];
    const auto& residual = run["relative_residual"];
    const bool alone = run["ranks"] == 1 && run_.latency.empty();  // its sums are there at once
    const auto overlap = alone ? "–" : fmt::format("{:.0f}%", 100 * per["hidden_fraction"].get<double>());
    print_out("{:<{}} {:<{}} {:>10} {:>9.3f} {:>9.3f} {:>10} {:>10} {:>6} {:>8} {:>7} {:>8.3f} {:>12}\n", method,
              name_width, run["status"].get<std::string>(), status_width, iterations, seconds,
              iterations > 0 ? 1000 * seconds / iterations : 0,
              residual.is_null() ? "not finite" : fmt::format("{:.2e}", residual.get<double>()),
              count(per["reductions"]), count(per["hidden_reductions"]),
              run["total"]["blocking_reductions"].get<std::int64_t>(), overlap,
              1000 * per["lost_seconds"].get<double>(), count(per["vector_reads"]) + "+" + count(per["vector_writes"]));
    flush_out();
}

void Report::print_foot() const {
    const bool several = runs_.size() > 1;
    const bool any_converged = std::ranges::any_of(runs_, [](const auto& run) { return run["converged"] == true; });
    for (const auto& run : runs_) {
        const std::string who = several ? run["method"].get<std::string>() + ": " : "";
        if (!run["events"].empty()) print_out("\n");
        for (const auto& event : run["events"])
            print_out(
                "  {}{}\n", who,
                to_string(Event{event["iteration"], event["text"].get<std::string>(), event["times"], event["last"]}));
        if (!run["choice"].is_null()) print_choice(who, run["choice"]);
        if (!run["next"].empty() && !any_converged) print_next(who, run["next"]);
        if (several) continue;
        if (run_.columns > 1) print_columns(run["columns_detail"]);
        print_out("\nseconds by kernel:");
        for (const auto& [kernel, seconds] : run["seconds"]["by_kernel"].items())
            print_out("  {} {:.3f}", kernel, seconds.get<double>());
        print_out("\n");
        if (run["precond"] != "none") print_work(run);
    }
}

void Report::write_json(const std::string& path) const {
    ::write_json(path, runs_.size() == 1 ? runs_.front() : ordered_json(runs_));
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
        history_ += fmt::format("\n{}", static_cast<std::size_t>(result.resumed_after) + i / columns + 1);
        row(result.history, i);
        row(result.true_history, i);
    }
    history_ += "\n";
}

void Report::write_history(const std::string& path) const { write_text(path, history_); }
