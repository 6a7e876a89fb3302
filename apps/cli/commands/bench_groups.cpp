// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "../files.hpp"
#include "../show/print.hpp"
#include "bench.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/instruction_set.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/measure/trace.hpp"
#include "stretto/model/triad_rate.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int least_vectors = 4;  // of a method, with x

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

/// The measurements, one number of columns after the other.
class GroupBench {
public:
    GroupBench(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt)
        : comm_(comm),
          arguments_(arguments),
          interrupt_(interrupt),
          threads_(arguments.threads > 0 ? arguments.threads : default_threads(comm)),
          table_(comm.rank() == 0 && arguments.json != "-"),
          line_(comm.rank(), arguments.progress),
          widths_(arguments.columns.empty() ? std::vector{1, 4, 16} : arguments.columns) {}

    /// Whether it came to its end.
    bool run() {
        print_head();
        for (const int columns : widths_)
            if (!measure(columns)) return false;
        if (table_) print_verdict();
        if (comm_.rank() == 0 && !arguments_.json.empty())
            write_json(arguments_.json, {{"benchmark", "groups"},
                                         {"ranks", comm_.size()},
                                         {"threads", threads_},
                                         {"instruction_set", instruction_set()},
                                         {"rounds", arguments_.rounds},
                                         {"triad_gigabytes_per_second", 1e-9 * fastest_},
                                         {"measurements", rows_}});
        return true;
    }

private:
    /// What the rounds of a variant gave.
    struct Rounds {
        std::vector<double> triads;
        std::vector<Shape> shapes;
        std::string finished_by;
    };

    void print_head() const {
        if (!table_) return;
        print_out(
            "{} rank{} × {} thread{}, {}; medians of {} rounds\n\n{:<46} {:<7} {:>3} {:>5} {:>12} {:>6} {:>9} {:>8} "
            "{:>9}\n",
            comm_.size(), comm_.size() == 1 ? "" : "s", threads_, threads_ == 1 ? "" : "s", instruction_set(),
            arguments_.rounds, "method", "precond", "m", "group", "reads+writes", "dots", "B/element", "GB/s",
            "of triad");
    }

    void print_verdict() const {
        constexpr double good = 0.9;
        const auto of_triad = [](const ordered_json& row) { return row["of_triad"].template get<double>(); };
        const auto reached = std::ranges::count_if(rows_, [&](const auto& row) { return of_triad(row) >= good; });
        print_out("\nof triad: bandwidth over that of STREAM's triad, which is out of cache; medians\n\n");
        if (in_cache_)
            print_out(
                "The vectors are in the last-level caches in good part: the triad is no measure of them; take a larger "
                "--problem\n");
        else if (!rows_.empty()) {
            const auto& least = *std::ranges::min_element(rows_, {}, of_triad);
            print_out("{} of {} groups reach {:.0f} % of the triad; the least is group {} of {}, m = {}: {:.0f} %\n",
                      reached, rows_.size(), 100 * good, least["group"].get<int>(), least["method"].get<std::string>(),
                      least["columns"].get<int>(), 100 * of_triad(least));
        }
    }

    bool measure(int columns) {
        const std::string problem =
            arguments_.problem.empty()
                ? fmt::format("poisson3d:{:.0f}", std::cbrt(static_cast<double>(Triad::out_of_cache) / columns))
                : arguments_.problem;
        const auto A = load_matrix(comm_, problem, arguments_.storage, threads_, line_);
        // Those of the method that has fewest.
        in_cache_ =
            in_cache_ || 8.0 * least_vectors * static_cast<double>(A.rows()) * columns < cached_data(comm_, threads_);
        const auto jacobi = make_preconditioner("jacobi", A);
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
        Buffer<double> b(size), x(size);
        const auto first = static_cast<std::uint64_t>(A.partition().first(comm_.rank()));
        for (std::size_t i = 0; i < size; ++i)
            b[i] = uniform(1, static_cast<Global>(first + i / static_cast<std::size_t>(columns)),
                           static_cast<int>(i % static_cast<std::size_t>(columns)));
        const Triad triad(
            threads_, static_cast<std::size_t>(std::max(A.local_rows() * columns, Triad::out_of_cache / comm_.size())));
        for (const auto& variant : variants) {
            line_.show_fraction(
                "measuring", static_cast<double>(done_++) / static_cast<double>(widths_.size() * std::size(variants)));
            const auto M = variant.preconditioned ? AnyOperator<double>(*jacobi) : AnyOperator<double>();
            const auto rounds = solve_rounds(variant, A, M, b, x, columns, triad);
            line_.clear();
            if (any_of(comm_, interrupt_)) return false;
            if (variant.method.starts_with(rounds.finished_by))
                report(variant, columns, size, rounds);
            else if (comm_.rank() == 0)
                print_error("stretto: {} with m = {} left out: went on with {}\n", variant.method, columns,
                            rounds.finished_by);
        }
        return true;
    }

    Rounds solve_rounds(const Variant& variant, const CsrMatrix<double>& A, const AnyOperator<double>& M,
                        const Buffer<double>& b, const Buffer<double>& x, int columns, const Triad& triad) {
        SolveOptions options;
        options.method = without_safeguards(std::string(variant.method), variant.preconditioned ? 2 : 12);
        options.rtol = 0;
        options.max_iterations = arguments_.iterations > 0 ? arguments_.iterations : variant.iterations;
        options.threads = threads_;
        options.interrupt = &interrupt_;
        Rounds rounds;
        for (int round = 0; round < arguments_.rounds && !interrupt_; ++round) {
            for (int k = 0; k < triads_of_a_round; ++k) rounds.triads.push_back(triad_rate(comm_, triad));
            std::ranges::fill(x.values(), 0.0);
            Trace trace;
            options.trace = &trace;
            rounds.finished_by = solve<double>(comm_, A, M, {b.data(), A.local_rows(), columns},
                                               {x.data(), A.local_rows(), columns}, options)
                                     .finished_by;
            note(rounds.shapes, trace);
        }
        return rounds;
    }

    void report(const Variant& variant, int columns, std::size_t size, const Rounds& rounds) {
        const double bandwidth = median(rounds.triads);
        fastest_ = std::max(fastest_, bandwidth);
        const auto& name = variant.method;
        int number = 0;
        for (const auto& group : groups_of(rounds.shapes)) {
            const double bytes = 8.0 * (group.reads + group.writes) / group.runs;  // of an element
            const double rate = all_sum(comm_, bytes * static_cast<double>(size) * group.runs / group.seconds);
            rows_.push_back({{"method", name},
                             {"preconditioned", variant.preconditioned},
                             {"columns", columns},
                             {"group", ++number},
                             {"runs", group.runs / arguments_.rounds},
                             {"reads", group.reads / group.runs},
                             {"writes", group.writes / group.runs},
                             {"dots", group.dots / group.runs},
                             {"bytes_per_element", bytes},
                             {"gigabytes_per_second", 1e-9 * rate},
                             {"of_triad", rate / bandwidth}});
            if (table_)
                print_out("{:<46} {:<7} {:>3} {:>5} {:>12} {:>6.3g} {:>9.1f} {:>8.1f} {:>8.0f}%\n", name,
                          variant.preconditioned ? "jacobi" : "none", columns, number,
                          fmt::format("{:.3g}+{:.3g}", group.reads / group.runs, group.writes / group.runs),
                          group.dots / group.runs, bytes, 1e-9 * rate, 100 * rate / bandwidth);
        }
        flush_out();
    }

    Comm& comm_;
    const BenchArguments& arguments_;
    const std::atomic<bool>& interrupt_;
    int threads_;
    bool table_;
    ProgressLine line_;
    std::vector<int> widths_;
    std::size_t done_ = 0;
    double fastest_ = 0;  // triad
    bool in_cache_ = false;
    ordered_json rows_ = ordered_json::array();
};

}  // namespace

int run_bench_groups(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt) {
    return GroupBench(comm, arguments, interrupt).run() ? exit_converged : exit_not_converged;
}
