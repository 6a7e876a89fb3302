// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "commands.hpp"
#include "input.hpp"
#include "report.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/instruction_set.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/measure/trace.hpp"
#include "stretto/precond/table.hpp"
#include "triad.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int triads = 10;  // a round

struct Variant {
    std::string_view method;
    bool preconditioned = false;
    int iterations = 12;
};

constexpr Variant variants[]{
    {"cg"},
    {"cg", true},
    {"single_reduction_cg"},
    {"single_reduction_cg", true},
    {"pipelined_cg"},
    {"pipelined_cg", true},
    {"deep_pipelined_cg:l=1"},
    {"deep_pipelined_cg:l=2"},
    {"deep_pipelined_cg:l=3"},
    {"deep_pipelined_cg:l=3", true},
    {"bicgstab"},
    {"bicgstab", true},
    {"improved_bicgstab"},
    {"improved_bicgstab", true},
    {"reordered_bicgstab"},
    {"reordered_bicgstab", true},
    {"pipelined_bicgstab"},
    {"pipelined_bicgstab", true},
    {"gmres:m=20", false, 40},
    {"gmres:m=20,orth=cgs2", false, 40},
    {"pipelined_gmres:l=2,m=20", false, 40},
    {"s_step_gmres:s=5,m=20", false, 40},
    {"s_step_gmres:s=10,m=20", false, 40},
    {"pipelined_s_step_gmres:l=2,t=5,m=20", false, 40},
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// A group of statements as it ran with so many vectors; where a method has panels, these differ in a cycle.
struct Shape {
    GroupCost cost;
    std::vector<double> seconds;
};

void note(std::vector<Shape>& shapes, const Trace& trace) {
    for (const auto& span : trace.spans()) {
        const auto& cost = span.cost;
        if (!cost.group) continue;
        auto found = std::ranges::find_if(shapes, [&](const Shape& shape) {
            return shape.cost.group == cost.group && shape.cost.reads == cost.reads &&
                   shape.cost.writes == cost.writes && shape.cost.dots == cost.dots;
        });
        if (found == shapes.end()) found = shapes.insert(found, {cost, {}});
        found->seconds.push_back(to_seconds(span.end - span.begin));
    }
}

struct Group {
    const void* group;
    double runs = 0, reads = 0, writes = 0, dots = 0, seconds = 0;
};

/// In the order in which they ran first.
std::vector<Group> groups_of(const std::vector<Shape>& shapes) {
    std::vector<Group> groups;
    for (const auto& shape : shapes) {
        auto found = std::ranges::find(groups, shape.cost.group, &Group::group);
        if (found == groups.end()) found = groups.insert(found, {shape.cost.group});
        const auto runs = static_cast<double>(shape.seconds.size());
        found->runs += runs;
        found->reads += runs * shape.cost.reads;
        found->writes += runs * shape.cost.writes;
        found->dots += runs * shape.cost.dots;
        found->seconds += runs * median(shape.seconds);
    }
    return groups;
}

}  // namespace

int run_bench_groups(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt) {
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    const bool table = comm.rank() == 0 && arguments.json != "-";
    ProgressLine line(comm.rank(), arguments.progress);
    const std::vector<int> widths = arguments.columns.empty() ? std::vector{1, 4, 16} : arguments.columns;
    ordered_json rows = ordered_json::array();
    double all_triads = 0;
    if (table)
        fmt::print(
            "{} rank{} × {} thread{}, {}; medians of {} rounds\n\n{:<46} {:<7} {:>3} {:>5} {:>12} {:>6} {:>9} {:>8} "
            "{:>9}\n",
            comm.size(), comm.size() == 1 ? "" : "s", threads, threads == 1 ? "" : "s", instruction_set(),
            arguments.rounds, "method", "precond", "m", "group", "reads+writes", "dots", "B/element", "GB/s",
            "of triad");
    std::size_t done = 0;
    for (const int columns : widths) {
        const std::string problem =
            arguments.problem.empty()
                ? fmt::format("poisson3d:{:.0f}", std::cbrt(static_cast<double>(out_of_cache) / columns))
                : arguments.problem;
        const auto A = load_matrix(comm, problem, arguments.storage, threads, line);
        const auto jacobi = make_preconditioner("jacobi", A);
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
        Buffer<double> b(size), x(size);
        const auto first = static_cast<std::uint64_t>(A.partition().first(comm.rank()));
        for (std::size_t i = 0; i < size; ++i)
            b[i] = uniform(1, static_cast<Global>(first + i / static_cast<std::size_t>(columns)),
                           static_cast<int>(i % static_cast<std::size_t>(columns)));
        Triad triad(comm, std::max(A.local_rows() * columns, out_of_cache / comm.size()), threads);
        for (const auto& variant : variants) {
            line.show_fraction("measuring",
                               static_cast<double>(done++) / static_cast<double>(widths.size() * std::size(variants)));
            SolveOptions options;
            options.method = without_safeguards(std::string(variant.method), variant.preconditioned ? 2 : 12);
            options.rtol = 0;
            options.max_iterations = arguments.iterations > 0 ? arguments.iterations : variant.iterations;
            options.threads = threads;
            options.interrupt = &interrupt;
            std::vector<double> rates;
            std::vector<Shape> shapes;
            std::string finished_by;
            for (int round = 0; round < arguments.rounds && !interrupt; ++round) {
                for (int k = 0; k < triads; ++k) rates.push_back(triad());
                std::ranges::fill(x.values(), 0.0);
                Trace trace;
                options.trace = &trace;
                const auto M = variant.preconditioned ? AnyOperator<double>(*jacobi) : AnyOperator<double>();
                finished_by = solve<double>(comm, A, M, {b.data(), A.local_rows(), columns},
                                            {x.data(), A.local_rows(), columns}, options)
                                  .finished_by;
                note(shapes, trace);
            }
            line.clear();
            if (all_max(comm, interrupt ? 1.0 : 0.0) > 0) return exit_not_converged;
            if (!variant.method.starts_with(finished_by)) {
                if (comm.rank() == 0)
                    fmt::print(stderr, "stretto: {} with m = {} left out: went on with {}\n", variant.method, columns,
                               finished_by);
                continue;
            }
            const double bandwidth = median(rates);
            all_triads = std::max(all_triads, bandwidth);
            int number = 0;
            for (const auto& group : groups_of(shapes)) {
                const double bytes = 8.0 * (group.reads + group.writes) / group.runs;  // of an element
                const double rate = all_sum(comm, bytes * static_cast<double>(size) * group.runs / group.seconds);
                const auto name = variant.method.substr(0, variant.method.find(",lmax"));
                rows.push_back({{"method", name},
                                {"preconditioned", variant.preconditioned},
                                {"columns", columns},
                                {"group", ++number},
                                {"runs", group.runs / arguments.rounds},
                                {"reads", group.reads / group.runs},
                                {"writes", group.writes / group.runs},
                                {"dots", group.dots / group.runs},
                                {"bytes_per_element", bytes},
                                {"gigabytes_per_second", 1e-9 * rate},
                                {"of_triad", rate / bandwidth}});
                if (table)
                    fmt::print("{:<46} {:<7} {:>3} {:>5} {:>12} {:>6.3g} {:>9.1f} {:>8.1f} {:>8.0f}%\n", name,
                               variant.preconditioned ? "jacobi" : "none", columns, number,
                               fmt::format("{:.3g}+{:.3g}", group.reads / group.runs, group.writes / group.runs),
                               group.dots / group.runs, bytes, 1e-9 * rate, 100 * rate / bandwidth);
            }
            std::fflush(stdout);
        }
    }
    if (comm.rank() == 0 && !arguments.json.empty())
        write_text(arguments.json, ordered_json{{"stretto", STRETTO_VERSION},
                                                {"benchmark", "groups"},
                                                {"ranks", comm.size()},
                                                {"threads", threads},
                                                {"instruction_set", instruction_set()},
                                                {"rounds", arguments.rounds},
                                                {"triad_gigabytes_per_second", 1e-9 * all_triads},
                                                {"measurements", rows}}
                                           .dump(2) +
                                       "\n");
    return exit_converged;
}
