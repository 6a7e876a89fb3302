// SPDX-License-Identifier: BSD-3-Clause
// stretto bench: an iteration of a family's methods.
#include "bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "../files.hpp"
#include "../show/print.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/instruction_set.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/model/triad_rate.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

/// The preconditioner of the paper's measurements: z = r, one read and one write.
class Copy {
public:
    Copy(Comm& comm, Index rows, int threads) : comm_(comm), rows_(rows), threads_(threads) {}
    void apply(MultiVector<double> r, MultiVector<double> z) const {
        comm_.charge(bytes(r.columns()));
        parallel(threads_, [&](int t, int threads) {
            const Share mine(r.size(), t, threads);
            std::copy_n(r.data() + mine.begin, mine.end - mine.begin, z.data() + mine.begin);
        });
    }
    double bytes(int columns) const { return 16.0 * rows_ * columns; }

private:
    Comm& comm_;
    Index rows_;
    int threads_;
};

/// What a busy machine disturbs least.
double best(const std::vector<double>& seconds) { return seconds.empty() ? 0 : std::ranges::min(seconds); }

/// The iterations of one formulation, over all rounds.
struct Sample {
    std::vector<double> seconds;  // of each iteration
    PerIteration per_iteration;   // of the fastest round
    double sum = std::numeric_limits<double>::infinity();
    std::string finished_by;
};

void print(const ordered_json& row) {
    for (const char* form : {"basic", "merged"}) {
        const auto& of = row[form];
        const bool merged = std::string_view(form) == "merged";
        print_out("{:<21} {:<7} {:>3} {:<7} {:>9.2f}", row["method"].get<std::string>(),
                  row["preconditioned"] ? "copy" : "none", row["columns"].get<int>(), form,
                  of["milliseconds"].get<double>());
        // The kernels' times are means, beside the best iteration: as shares they go together.
        double all = 0;
        for (const auto& milliseconds : of["milliseconds_by_kernel"]) all += milliseconds.get<double>();
        for (const auto& milliseconds : of["milliseconds_by_kernel"])
            print_out(" {:>7.0f}%", all > 0 ? 100 * milliseconds.get<double>() / all : 0);
        print_out(" {:>7} {:>12} {:>8.3f} {:>9} {:>8} {:>10}\n",
                  merged ? fmt::format("{:.0f}%", 100 * row["gain"].get<double>()) : "",
                  fmt::format("{:.0f}+{:.0f}", of["vector_reads"].get<double>(), of["vector_writes"].get<double>()),
                  of["gigabytes"].get<double>(),
                  row["in_cache"] ? "in cache" : fmt::format("{:.0f}%", 100 * of["of_triad"].get<double>()),
                  merged && row.contains("speed_up") ? fmt::format("{:.2f}", row["speed_up"].get<double>()) : "",
                  merged && row.contains("of_single_solves")
                      ? fmt::format("{:.2f}", row["of_single_solves"].get<double>())
                      : "");
    }
    flush_out();
}

/// Two cycles meet cold caches, and one at least is measured.
int iterations_of(const BenchArguments& arguments, const BenchFamily& family) {
    const int wanted = arguments.iterations > 0 ? arguments.iterations : family.iterations, least = 3 * family.cycle;
    if (wanted < least)
        throw InputError(fmt::format(
            "bench {}: {} iterations are too few, as {} are measured together; --iterations {} is the least",
            family.name, wanted, family.cycle, least));
    return wanted;
}

class Bench {
public:
    Bench(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt)
        : comm_(comm),
          arguments_(arguments),
          interrupt_(interrupt),
          family_(find_family(arguments.family)),
          problem_(arguments.problem.empty() ? family_.problem : arguments.problem),
          line_(comm.rank(), arguments.progress),
          iterations_(iterations_of(arguments, family_)),
          columns_(arguments.columns.empty() ? family_.columns : arguments.columns),
          threads_(arguments.threads > 0 ? arguments.threads : default_threads(comm)),
          A_(load_matrix(comm, problem_, arguments.storage, threads_, line_)),
          norm_(A_.norm()),
          cached_(cached_data(comm, threads_)),
          triad_(threads_, static_cast<std::size_t>(std::max(A_.local_rows(), Triad::out_of_cache / comm.size()))) {}

    bool run() {
        ordered_json rows = ordered_json::array();
        const std::size_t total = columns_.size() * family_.variants.size();
        if (table()) print_head();
        bool complete = true;
        for (const int columns : columns_)
            for (const auto& variant : family_.variants) {
                line_.show_fraction("measuring", static_cast<double>(done_++) / static_cast<double>(total));
                auto row = measure(variant, columns);
                line_.clear();
                if (row.is_null()) {
                    complete = false;
                    continue;
                }
                if (table()) print(row);
                rows.push_back(std::move(row));
            }
        if (table()) print_verdict(rows);
        if (comm_.rank() == 0 && !arguments_.json.empty()) write_json(arguments_.json, head(rows));
        return complete;
    }

private:
    bool table() const { return comm_.rank() == 0 && arguments_.json != "-"; }

    ordered_json head(const ordered_json& rows) {
        return {{"benchmark", family_.name},
                {"problem", problem_},
                {"rows", A_.rows()},
                {"nonzeros", A_.nonzeros()},
                {"ranks", comm_.size()},
                {"threads", threads_},
                {"instruction_set", instruction_set()},
                {"iterations", iterations_},
                {"rounds", arguments_.rounds},
                {"triad_gigabytes_per_second", 1e-9 * fastest_},
                {"measurements", rows}};
    }

    static int vectors_of(const Method& method, const BenchVariant& variant, const std::string& spec) {
        return method.vectors(options_for(parse_spec(spec), method), variant.preconditioned);
    }

    /// Whether the matrix and all vectors of an iteration are in caches in good part.
    bool in_cache(const BenchVariant& variant, const std::string& spec, int columns) const {
        const Method& method = find_method(parse_spec(spec).name);
        const double of_vectors = 8.0 * (vectors_of(method, variant, spec) + 2) * A_.local_rows() * columns;
        return all_sum(comm_, A_.bytes(columns) + of_vectors) < cached_;
    }

    /// Whether m columns fit into what is free; says so where not.
    bool fits(const BenchVariant& variant, const std::string& spec, int columns) {
        const Method& method = find_method(parse_spec(spec).name);
        const auto stored = [&](const Method& one) { return vectors_of(one, variant, spec); };
        // Beside the method's own: b, x, and the driver's residual, best x and direction.
        const int vectors = std::max(stored(method), stored(find_method(method.classic))) + 5;
        const double needed = all_sum(comm_, 8.0 * vectors * A_.local_rows() * columns);
        const double free = -all_max(comm_, -free_memory());
        if (needed < 0.95 * free) return true;
        leave_out(variant, columns, fmt::format("needs {:.1f} GB, {:.1f} GB are free", 1e-9 * needed, 1e-9 * free));
        return false;
    }

    void leave_out(const BenchVariant& variant, int columns, const std::string& why) {
        if (comm_.rank() != 0) return;
        line_.clear();
        print_error("stretto: {} with {} column{} left out: {}\n", variant.method, columns, columns == 1 ? "" : "s",
                    why);
    }

    ordered_json measure(const BenchVariant& variant, int columns) {
        const std::string spec = variant.spec(norm_);
        if (interrupt_ || !fits(variant, spec, columns)) return {};
        const auto size = static_cast<std::size_t>(A_.local_rows()) * static_cast<std::size_t>(columns);
        std::vector<double> b(size), x(size);
        const Global first = A_.partition().first(comm_.rank());
        for (Index row = 0; row < A_.local_rows(); ++row)
            for (int j = 0; j < columns; ++j)
                b[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(j)] =
                    uniform(1, first + row, j);
        Sample basic, merged;
        double bandwidth = 0;
        // In turn, so that a noisy machine disturbs all alike.
        for (int round = 0; round < arguments_.rounds; ++round) {
            for (int k = 0; k < triads_of_a_round; ++k) bandwidth = std::max(bandwidth, triad_rate(comm_, triad_));
            add(merged, spec, variant.preconditioned, Formulation::merged, b, x, columns);
            add(basic, spec, variant.preconditioned, Formulation::basic, b, x, columns);
        }
        if (interrupt_ || merged.seconds.empty()) return {};
        if (!spec.starts_with(merged.finished_by)) {
            leave_out(variant, columns, "went on with " + merged.finished_by);
            return {};
        }
        fastest_ = std::max(fastest_, bandwidth);
        const auto describe = [&](const Sample& sample) {
            const double seconds = best(sample.seconds);
            const double bytes = all_sum(comm_, sample.per_iteration.bytes);
            ordered_json by_kernel;
            for (const auto& [kernel, kernel_name] : kernels)
                by_kernel[std::string(kernel_name)] =
                    1e3 * all_max(comm_, sample.per_iteration.seconds[static_cast<std::size_t>(kernel)]);
            return ordered_json{{"milliseconds", 1e3 * seconds},
                                {"vector_reads", sample.per_iteration.vector_reads},
                                {"vector_writes", sample.per_iteration.vector_writes},
                                {"gigabytes", 1e-9 * bytes},
                                {"of_triad", bytes / seconds / bandwidth},
                                {"milliseconds_by_kernel", by_kernel}};
        };
        ordered_json row{{"method", variant.method},
                         {"preconditioned", variant.preconditioned},
                         {"columns", columns},
                         {"in_cache", in_cache(variant, spec, columns)},
                         {"basic", describe(basic)},
                         {"merged", describe(merged)},
                         {"gain", 1 - best(merged.seconds) / best(basic.seconds)}};
        if (&variant == &family_.variants.front()) first_[columns] = best(merged.seconds);
        if (first_.contains(columns)) row["speed_up"] = first_[columns] / best(merged.seconds);
        // What a column costs against a solve of its own.
        const auto key = std::pair(variant.method, variant.preconditioned);
        if (columns == 1) alone_[key] = best(merged.seconds);
        if (alone_.contains(key)) row["of_single_solves"] = best(merged.seconds) / (columns * alone_[key]);
        return row;
    }

    void add(Sample& sample, const std::string& spec, bool preconditioned, Formulation formulation,
             std::vector<double>& b, std::vector<double>& x, int columns) {
        std::ranges::fill(x, 0.0);
        SolveOptions options;
        options.method = spec;
        options.rtol = 0;
        options.max_iterations = iterations_;
        options.formulation = formulation;
        options.threads = threads_;
        options.interrupt = &interrupt_;
        std::vector<Clock::time_point> times;
        times.reserve(static_cast<std::size_t>(iterations_) + 1);
        options.monitor = [&](const IterationInfo& info) {
            if (info.iteration > 0) times.push_back(Clock::now());
            return true;
        };
        const Copy copy(comm_, A_.local_rows(), threads_);
        const auto M = preconditioned ? AnyOperator<double>(copy) : AnyOperator<double>();
        const Result result = solve<double>(comm_, A_, M, {b.data(), A_.local_rows(), columns},
                                            {x.data(), A_.local_rows(), columns}, options);
        const auto cycle = static_cast<std::size_t>(family_.cycle);
        for (std::size_t k = 2 * cycle; k < times.size(); k += cycle)  // the first meet cold caches
            sample.seconds.push_back(std::chrono::duration<double>(times[k] - times[k - cycle]).count() /
                                     family_.cycle);
        sample.finished_by = result.finished_by;
        const auto& seconds = result.per_iteration.seconds;
        const double sum = all_max(comm_, std::accumulate(seconds.begin(), seconds.end(), 0.0));
        if (sum >= sample.sum) return;
        sample.sum = sum;
        sample.per_iteration = result.per_iteration;
    }

    void print_head() const {
        print_out("{}: {} rows, {} nonzeros; {} rank{} × {} thread{}; the best of {} × {} iterations\n\n", problem_,
                  A_.rows(), A_.nonzeros(), comm_.size(), comm_.size() == 1 ? "" : "s", threads_,
                  threads_ == 1 ? "" : "s", arguments_.rounds, iterations_);
        print_out(
            "{:<21} {:<7} {:>3} {:<7} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>12} {:>8} {:>9} {:>8} "
            "{:>10}\n",
            "method", "precond", "m", "form", "ms/iter", "A", "M^-1", "vectors", "dots", "reduct.", "halo", "small",
            "gain", "reads+writes", "GB/iter", "of triad", "speed-up", "m=1 solves");
        flush_out();
    }

    /// What the columns mean, what is fastest, and what the figures are not good for.
    void print_verdict(const ordered_json& rows) const {
        print_out(
            "\nms/iter: the best iteration; A to small: where the time goes, of the mean one; gain: of merged over "
            "basic;\nof triad: bandwidth over that of STREAM's triad; speed-up: over the first row; "
            "m=1 solves: over as many of one column\n\n");
        const auto milliseconds = [](const ordered_json& row) { return row["merged"]["milliseconds"].get<double>(); };
        for (const int columns : columns_)
            for (const bool preconditioned : {false, true}) {
                const ordered_json* best = nullptr;
                for (const auto& row : rows)
                    if (row["columns"] == columns && row["preconditioned"] == preconditioned &&
                        (!best || milliseconds(row) < milliseconds(*best)))
                        best = &row;
                if (best)
                    print_out("Fastest iteration with m = {}{}: {}, {:.2f} ms\n", columns,
                              preconditioned ? " and a preconditioner" : "", (*best)["method"].get<std::string>(),
                              milliseconds(*best));
            }
        const auto cached =
            std::ranges::count_if(rows, [](const auto& row) { return row["in_cache"].template get<bool>(); });
        if (cached > 0)
            print_out(
                "In cache: the data of {} of {} rows are below {:.3g} MB, twice the last-level caches: the triad, "
                "which is out of them, is no measure there; take a larger --problem\n",
                cached, rows.size(), 1e-6 * cached_);
        if (comm_.size() == 1)
            print_out(
                "One rank: its reductions cost nothing. What hiding them gains shows on several, or with "
                "--emulate-latency 100us\n");
        flush_out();
    }

    Comm& comm_;
    const BenchArguments& arguments_;
    const std::atomic<bool>& interrupt_;
    const BenchFamily& family_;
    std::string problem_;
    ProgressLine line_;
    int iterations_;
    const std::vector<int>& columns_;
    int threads_;
    CsrMatrix<double> A_;
    double norm_, cached_;
    Triad triad_;
    std::size_t done_ = 0;
    double fastest_ = 0;  // triad
    std::map<std::pair<std::string_view, bool>, double> alone_;
    std::map<int, double> first_;  // the family's first variant, by columns
};

void add(CLI::App& app, BenchArguments& bench) {
    app.add_option("family", bench.family, "bicgstab, cg, gmres, gmres20, gmres60, hmatrix or groups")->required();
    app.add_option("--problem", bench.problem,
                   "Matrix Market file, problem of any size, or kron:FILE,N (default: that of the family's paper)");
    app.add_option("--columns", bench.columns, "Numbers of right-hand sides (default: 1, for bicgstab 1,4,16)")
        ->delimiter(',')
        ->option_text("N,N,...")
        ->transform(whole_number(1, max_columns, "a number of columns from 1 to 64"));
    app.add_option("--iterations", bench.iterations,
                   "Iterations of a solve (default: 12, of cg 24, of gmres 20 cycles)")
        ->transform(whole_number(4, 1e6, "a number of iterations from 4 to 1e6"));
    app.add_option("--rounds", bench.rounds, "Solves of each kind, in turn")
        ->transform(whole_number(1, 1e6, "a number of rounds from 1 to 1e6"))
        ->capture_default_str();
    app.add_option("--sizes", bench.sizes, "hmatrix: numbers of triangles")
        ->delimiter(',')
        ->option_text("N,N,...")
        ->transform(whole_number(20, 1e8, "a number of triangles from 20 to 1e8"))
        ->capture_default_str();
    app.add_option("--epsilons", bench.epsilons, "hmatrix: tolerances")
        ->delimiter(',')
        ->option_text("EPSILON,...")
        ->check(number(1e-14, 0.5, "a tolerance from 1e-14 to 0.5"))
        ->capture_default_str();
    app.add_option("--schemes", bench.schemes, "hmatrix on a device: the paper's schemes of batches too, or ours alone")
        ->check(CLI::IsMember({"all", "ours"}))
        ->capture_default_str();
    add_device_option(app, bench.device);
    add_storage_option(app, bench.storage);
    add_comm_options(app, bench.comm);
    add_threads_option(app, bench.threads);
    add_json_option(app, bench.json, "the measurements as JSON");
    app.add_flag("--progress", bench.progress, "Show the progress line also through mpirun");
}

int run(const Context& context, const BenchArguments& arguments) {
    ChosenComm chosen(*context.mpi, arguments.comm);
    Comm& comm = chosen.get();
    check_outputs(comm, {file_of_problem(arguments.problem)}, arguments.json);
    if (arguments.device != "cpu" && arguments.family != "hmatrix")
        throw InputError(
            fmt::format("--device {}: of what bench measures, hmatrix alone runs on devices; stretto solve "
                        "does, with every method",
                        arguments.device));
    if (arguments.schemes != "all" && arguments.device == "cpu")
        throw InputError("--schemes is for products on a device: --device cuda, or emulated, with bench hmatrix");
    if (arguments.family == "hmatrix") return run_bench_hmatrix(comm, arguments, context.interrupt);
    if (arguments.family == "groups") return run_bench_groups(comm, arguments, context.interrupt);
    return Bench(comm, arguments, context.interrupt).run() ? exit_converged : exit_not_converged;
}

}  // namespace

const Command bench_command =
    CommandOf<BenchArguments>::row<add, run>("bench", "Time an iteration of a family's methods, merged and basic");
