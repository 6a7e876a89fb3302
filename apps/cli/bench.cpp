// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "input.hpp"
#include "report.hpp"
#include "stretto/core/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/workspace.hpp"
#include "stretto/solvers/registry.hpp"
#include "stretto/solvers/solve.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

struct Variant {
    std::string_view method;
    bool preconditioned;
};

/// What a family is measured on, and its rows.
struct Family {
    std::string_view name, problem;
    std::vector<Variant> variants;
};

const std::vector<Family>& families() {
    // Krasnopolsky 2019, Tables 3 and 4.
    static const std::vector<Family> all{{"bicgstab",
                                          "poisson3d:200",
                                          {{"bicgstab", false},
                                           {"improved_bicgstab", false},
                                           {"pipelined_bicgstab", false},
                                           {"bicgstab", true},
                                           {"reordered_bicgstab", true},
                                           {"pipelined_bicgstab", true}}}};
    return all;
}

const Family& find_family(const std::string& name) {
    for (const auto& family : families())
        if (family.name == name) return family;
    std::string names;
    for (const auto& family : families()) names += fmt::format("{}{}", names.empty() ? "" : ", ", family.name);
    throw InputError(fmt::format("there is no benchmark '{}'; there are: {}", name, names));
}

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

/// Rows of all ranks together that no cache holds.
constexpr Index out_of_cache = 8'000'000;
constexpr int triads = 10;  // a round

/// STREAM's triad: two vectors read, one written, no write-allocate counted.
class Triad {
public:
    Triad(Comm& comm, Index rows, int threads) : comm_(comm), threads_(threads), vectors_(rows, 1, 3, threads) {
        for (auto* v : {&a_, &b_, &c_}) *v = vectors_.take();
    }
    /// Bytes per second of all ranks together, once.
    double operator()() {
        all_sum(comm_, 0.0);
        const auto start = Clock::now();
        parallel(threads_, [&, a = a_.data(), b = b_.data(), c = c_.data()](int t, int threads) {
            const Share mine(a_.size(), t, threads);
#pragma omp simd
            for (std::size_t i = mine.begin; i < mine.end; ++i) c[i] = a[i] + 0.5 * b[i];
        });
        const double seconds = all_max(comm_, std::chrono::duration<double>(Clock::now() - start).count());
        return all_sum(comm_, 24.0 * static_cast<double>(a_.size())) / seconds;
    }

private:
    Comm& comm_;
    int threads_;
    Workspace<double> vectors_;
    MultiVector<double> a_, b_, c_;
};

/// Bytes of memory that are free on this rank's node; infinite where that cannot be known.
double free_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string key; file >> key;) {
        double kibibytes = 0;
        if (key == "MemAvailable:" && file >> kibibytes) return 1024 * kibibytes;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::numeric_limits<double>::infinity();
}

/// The iterations of one formulation, over all rounds.
struct Sample {
    std::vector<double> seconds;  // of each iteration
    std::array<double, stretto::kernels.size()> kernels{};
    int iterations = 0;
    PerIteration per_iteration;
};

class Bench {
public:
    Bench(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt)
        : comm_(comm),
          arguments_(arguments),
          interrupt_(interrupt),
          family_(find_family(arguments.family)),
          problem_(arguments.problem.empty() ? family_.problem : arguments.problem),
          line_(comm.rank(), arguments.progress),
          threads_(arguments.threads > 0 ? arguments.threads : default_threads(comm)),
          A_(load_matrix(comm, problem_, arguments.storage, threads_, line_)),
          triad_(comm, std::max(A_.local_rows(), out_of_cache / comm.size()), threads_) {}

    bool run() {
        ordered_json rows = ordered_json::array();
        const std::size_t total = arguments_.columns.size() * family_.variants.size();
        if (table()) print_head();
        bool complete = true;
        for (const int columns : arguments_.columns)
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
        if (comm_.rank() == 0 && !arguments_.json.empty()) write_text(arguments_.json, head(rows).dump(2) + "\n");
        return complete;
    }

private:
    bool table() const { return comm_.rank() == 0 && arguments_.json != "-"; }

    ordered_json head(const ordered_json& rows) {
        return {{"stretto", STRETTO_VERSION},  {"benchmark", family_.name},
                {"problem", problem_},         {"rows", A_.rows()},
                {"nonzeros", A_.nonzeros()},   {"ranks", comm_.size()},
                {"threads", threads_},         {"iterations", arguments_.iterations},
                {"rounds", arguments_.rounds}, {"triad_gigabytes_per_second", 1e-9 * fastest_},
                {"measurements", rows}};
    }

    /// Whether m columns fit into what is free; says so where not.
    bool fits(const Method& method, bool preconditioned, int columns) {
        const Method& classic = find_method(method.classic);
        const int vectors = preconditioned ? std::max(method.vectors_preconditioned, classic.vectors_preconditioned)
                                           : std::max(method.vectors, classic.vectors);
        // Beside the method's own: b, x, and the driver's residual and best x.
        const double needed = all_sum(comm_, 8.0 * (vectors + 4) * A_.local_rows() * columns);
        const double free = -all_max(comm_, -free_memory());
        if (needed < 0.95 * free) return true;
        if (comm_.rank() == 0) {
            line_.clear();
            fmt::print(stderr, "stretto: {} with {} columns left out: needs {:.1f} GB, {:.1f} GB are free\n",
                       method.name, columns, 1e-9 * needed, 1e-9 * free);
        }
        return false;
    }

    ordered_json measure(const Variant& variant, int columns) {
        const Method& method = find_method(variant.method);
        if (interrupt_ || !fits(method, variant.preconditioned, columns)) return {};
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
            for (int k = 0; k < triads; ++k) bandwidth = std::max(bandwidth, triad_());
            add(merged, method, variant.preconditioned, Formulation::merged, b, x, columns);
            add(basic, method, variant.preconditioned, Formulation::basic, b, x, columns);
        }
        if (interrupt_ || merged.seconds.empty()) return {};
        fastest_ = std::max(fastest_, bandwidth);
        const auto describe = [&](const Sample& sample) {
            const double seconds = best(sample.seconds);
            const double bytes = all_sum(comm_, sample.per_iteration.bytes);
            ordered_json by_kernel;
            for (const auto& [kernel, kernel_name] : kernels)
                by_kernel[std::string(kernel_name)] =
                    1e3 * all_max(comm_, sample.kernels[static_cast<std::size_t>(kernel)]) / sample.iterations;
            return ordered_json{{"milliseconds", 1e3 * seconds},
                                {"vector_reads", sample.per_iteration.vector_reads},
                                {"vector_writes", sample.per_iteration.vector_writes},
                                {"gigabytes", 1e-9 * bytes},
                                {"of_triad", bytes / seconds / bandwidth},
                                {"milliseconds_by_kernel", by_kernel}};
        };
        ordered_json row{{"method", method.name},      {"preconditioned", variant.preconditioned},
                         {"columns", columns},         {"basic", describe(basic)},
                         {"merged", describe(merged)}, {"gain", 1 - best(merged.seconds) / best(basic.seconds)}};
        // What a column costs against a solve of its own.
        const auto key = std::pair(variant.method, variant.preconditioned);
        if (columns == 1) alone_[key] = best(merged.seconds);
        if (alone_.contains(key)) row["of_single_solves"] = best(merged.seconds) / (columns * alone_[key]);
        return row;
    }

    void add(Sample& sample, const Method& method, bool preconditioned, Formulation formulation, std::vector<double>& b,
             std::vector<double>& x, int columns) {
        std::ranges::fill(x, 0.0);
        SolveOptions options;
        options.method = bare(method);
        options.rtol = 0;
        options.max_iterations = arguments_.iterations;
        options.formulation = formulation;
        options.threads = threads_;
        options.interrupt = &interrupt_;
        std::vector<Clock::time_point> times;
        times.reserve(static_cast<std::size_t>(arguments_.iterations) + 1);
        options.progress = [&](const ProgressInfo&) { times.push_back(Clock::now()); };
        const Copy copy(comm_, A_.local_rows(), threads_);
        const auto M = preconditioned ? AnyOperator<double>(copy) : AnyOperator<double>();
        const Result result = solve<double>(comm_, A_, M, {b.data(), A_.local_rows(), columns},
                                            {x.data(), A_.local_rows(), columns}, options);
        for (std::size_t k = 2; k < times.size(); ++k)  // the first iterations meet cold caches
            sample.seconds.push_back(std::chrono::duration<double>(times[k] - times[k - 1]).count());
        sample.per_iteration = result.per_iteration;
        sample.iterations += result.iterations;
        for (const auto& [kernel, kernel_name] : kernels)
            sample.kernels[static_cast<std::size_t>(kernel)] += result.ledger.seconds(kernel);
    }

    void print_head() const {
        fmt::print("{}: {} rows, {} nonzeros; {} rank{} × {} thread{}; the best of {} × {} iterations\n\n", problem_,
                   A_.rows(), A_.nonzeros(), comm_.size(), comm_.size() == 1 ? "" : "s", threads_,
                   threads_ == 1 ? "" : "s", arguments_.rounds, arguments_.iterations);
        fmt::print("{:<20} {:<7} {:>3} {:<7} {:>9} {:>7} {:>12} {:>8} {:>9} {:>10}\n", "method", "precond", "m", "form",
                   "ms/iter", "gain", "reads+writes", "GB/iter", "of triad", "m=1 solves");
        std::fflush(stdout);
    }

    void print(const ordered_json& row) const {
        for (const char* form : {"basic", "merged"}) {
            const auto& of = row[form];
            const bool merged = std::string_view(form) == "merged";
            fmt::print(
                "{:<20} {:<7} {:>3} {:<7} {:>9.2f} {:>7} {:>12} {:>8.3f} {:>8.0f}% {:>10}\n",
                row["method"].get<std::string>(), row["preconditioned"] ? "copy" : "none", row["columns"].get<int>(),
                form, of["milliseconds"].get<double>(),
                merged ? fmt::format("{:.0f}%", 100 * row["gain"].get<double>()) : "",
                fmt::format("{:.0f}+{:.0f}", of["vector_reads"].get<double>(), of["vector_writes"].get<double>()),
                of["gigabytes"].get<double>(), 100 * of["of_triad"].get<double>(),
                merged && row.contains("of_single_solves")
                    ? fmt::format("{:.2f}", row["of_single_solves"].get<double>())
                    : "");
        }
        std::fflush(stdout);
    }

    Comm& comm_;
    const BenchArguments& arguments_;
    const std::atomic<bool>& interrupt_;
    const Family& family_;
    std::string problem_;
    ProgressLine line_;
    int threads_;
    CsrMatrix<double> A_;
    Triad triad_;
    std::size_t done_ = 0;
    double fastest_ = 0;  // triad
    std::map<std::pair<std::string_view, bool>, double> alone_;
};

}  // namespace

int run_bench(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt) {
    check_outputs(comm, {arguments.problem}, arguments.json);
    return Bench(comm, arguments, interrupt).run() ? exit_converged : exit_not_converged;
}
