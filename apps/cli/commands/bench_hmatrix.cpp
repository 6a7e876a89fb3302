// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "../files.hpp"
#include "../show/print.hpp"
#include "bench.hpp"
#include "hmat_oss.hpp"
#include "sphere_case.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/model/triad_rate.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int products = 20;  // of a kind and round, the fastest counts

/// ‖y − A x‖/‖A x‖ on some rows.
double sampled_rows(const ChargeKernel& kernel, const std::vector<double>& x, const std::vector<double>& y) {
    constexpr std::size_t rows = 100;
    double error = 0, size = 0;
    for (std::size_t k = 0; k < rows; ++k) {
        const std::size_t i = splitmix64(k) % x.size();
        double sum = 0;
        for (std::size_t j = 0; j < x.size(); ++j) sum += kernel(static_cast<Index>(i), static_cast<Index>(j)) * x[j];
        error += (y[i] - sum) * (y[i] - sum);
        size += sum * sum;
    }
    return std::sqrt(error / size);
}

#ifdef __GLIBC__
/// What one compression frees, the next one gets, the peer's too: how fast the system hands out pages varies
/// thirtyfold, most of all in a virtual machine.
void keep_freed_memory() {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 1 << 28);
}
#else
void keep_freed_memory() {}
#endif

/// The fastest of all rounds.
struct Times {
    double compression = 1e300, cpu = 1e300, product = 1e300;
};

class HMatrixBench {
public:
    HMatrixBench(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt)
        : comm_(comm),
          arguments_(arguments),
          interrupt_(interrupt),
          threads_(arguments.threads > 0 ? arguments.threads : default_threads(comm)),
          table_(comm.rank() == 0 && arguments.json != "-"),
          line_(comm.rank(), arguments.progress),
          cached_(cached_data(comm, threads_)),
          triad_(threads_, static_cast<std::size_t>(Triad::out_of_cache / comm.size())) {
        limit_threads(threads_);
    }

    void run() {
        if (table_)
            print_out(
                "unit sphere, single layer, {} rank{} × {} thread{}; hmat-oss: one thread, double precision\n\n{:>7} "
                "{:>7} {:<16} {:>10} {:>7} {:>9} {:>8} {:>9} {:>11} {:>8} {:>9} {:>9}\n",
                comm_.size(), comm_.size() == 1 ? "" : "s", threads_, threads_ == 1 ? "" : "s", "n", "ε", "",
                "compress s", "CPU s", "MB", "% of n²", "n log₂n", "product ms", "GB/s", "of triad", "error");
        for (const int size : arguments_.sizes)
            for (const double epsilon : arguments_.epsilons) measure(SphereCase(comm_, size, epsilon));
        if (table_) print_verdict();
        if (comm_.rank() == 0 && !arguments_.json.empty())
            write_json(arguments_.json, {{"benchmark", "hmatrix"},
                                         {"ranks", comm_.size()},
                                         {"threads", threads_},
                                         {"triad_gigabytes_per_second", 1e-9 * fastest_},
                                         {"measurements", rows_}});
    }

private:
    /// How the products stand to the triad, and to the peer's where it is there.
    void print_verdict() const {
        double least = 1e300, most = 0, slower = 1e300, shortest = 1e300, longest = 0;
        std::size_t cached = 0;
        std::map<std::pair<Index, double>, double> own;  // milliseconds by n and ε
        for (const auto& row : rows_) {
            const std::pair key(row["n"].get<Index>(), row["epsilon"].get<double>());
            const auto seconds = row["product_seconds"].get<double>(), of_triad = row["of_triad"].get<double>();
            if (row["who"] == "stretto") own[key] = seconds;
            if (row["who"] == "hmat-oss") slower = std::min(slower, seconds / own[key]);
            if (row["who"] == "stretto, single") {
                shortest = std::min(shortest, own[key] / seconds);
                longest = std::max(longest, own[key] / seconds);
            }
            if (row["who"] != "stretto") continue;
            cached += row["bytes"] < cached_;
            if (row["bytes"] >= cached_) least = std::min(least, of_triad), most = std::max(most, of_triad);
        }
        print_out("\ncompress, CPU, product: the fastest of {} rounds; error: ‖y − A x‖/‖A x‖ on 100 rows\n\n",
                  arguments_.rounds);
        print_out("Short numbers take {:.2f} to {:.2f} of the time of single precision for a product\n", shortest,
                  longest);
        if (most > 0) print_out("Products run at {:.0f} to {:.0f} % of the triad\n", 100 * least, 100 * most);
        if (cached > 0)
            print_out(
                "{} of {} matrices are below {:.3g} MB, twice the last-level caches: the triad is no measure of them\n",
                cached, own.size(), 1e-6 * cached_);
        if (slower < 1e300) print_out("hmat-oss takes {:.1f} times as long for a product, or more\n", slower);
    }

    /// In turn: a noisy machine disturbs all, and each finds the memory that another has used. The fastest counts.
    void measure(const SphereCase& on) {
        Times automatic, single, in_double;
        std::optional<HmatOss> peer;
        for (int round = 0; round < arguments_.rounds; ++round) {
            const bool last = round + 1 == arguments_.rounds;
            measure_own(on, "stretto", Precision::automatic, automatic, last);
            measure_own(on, "stretto, single", Precision::single_or_double, single, last);
            measure_own(on, "stretto, double", Precision::double_only, in_double, last);
            if (comm_.rank() != 0) continue;
            auto found = measure_hmat_oss(on.kernel, on.epsilon, on.x, products);
            if (found && peer) {
                found->compression_seconds = std::min(found->compression_seconds, peer->compression_seconds);
                found->cpu_seconds = std::min(found->cpu_seconds, peer->cpu_seconds);
                found->product_seconds = std::min(found->product_seconds, peer->product_seconds);
            }
            peer = std::move(found);
        }
        if (peer)
            add(on, "hmat-oss", {peer->compression_seconds, peer->cpu_seconds, peer->product_seconds}, peer->bytes,
                peer->bytes / 8, peer->y);
        all_sum(comm_, 0.0);
    }

    void measure_own(const SphereCase& on, const char* who, Precision precision, Times& times, bool report) {
        HMatrixOptions options;
        options.epsilon = on.epsilon;
        options.threads = threads_;
        options.precision = precision;
        options.interrupt = &interrupt_;
        options.progress = [this](double fraction) { line_.show_fraction("compressing", fraction); };
        const double before = cpu_seconds();
        const HMatrix A(comm_, on.mesh.geometry(), on.fill(), options);
        times.cpu = std::min(times.cpu, all_sum(comm_, cpu_seconds() - before));
        line_.clear();
        const auto& statistics = A.statistics();
        times.compression = std::min(times.compression, statistics.seconds);
        std::vector<double> mine, y(static_cast<std::size_t>(A.local_rows()));
        for (Index i = 0; i < A.local_rows(); ++i) mine.push_back(on.x[static_cast<std::size_t>(A.original(i))]);
        for (int k = 0; k < products; ++k) {
            fastest_ = std::max(fastest_, triad_rate(comm_, triad_));  // as many tries as a product has
            all_sum(comm_, 0.0);
            const auto start = Clock::now();
            A.apply({mine.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
            times.product = std::min(times.product, all_max(comm_, to_seconds(Clock::now() - start)));
        }
        const auto all = A.gather({y.data(), A.local_rows(), 1});
        if (report) add(on, who, times, statistics.bytes, static_cast<double>(statistics.values), all);
    }

    void add(const SphereCase& on, const char* who, const Times& times, double bytes, double values,
             const std::vector<double>& y) {
        if (comm_.rank() != 0) return;
        const auto n = static_cast<double>(on.mesh.size());
        const double error = sampled_rows(on.kernel, on.x, y), rate = bytes / times.product;
        rows_.push_back({{"n", on.mesh.size()},
                         {"epsilon", on.epsilon},
                         {"who", who},
                         {"compression_seconds", times.compression},
                         {"compression_cpu_seconds", times.cpu},
                         {"bytes", bytes},
                         {"of_n2", values / (n * n)},
                         {"of_nlogn", values / (n * std::log2(n))},
                         {"product_seconds", times.product},
                         {"of_triad", rate / fastest_},
                         {"error", error}});
        if (!table_) return;
        print_out(
            "{:>7} {:>7.0e} {:<16} {:>10.2f} {:>7.2f} {:>9.1f} {:>8.2f} {:>9.1f} {:>11.2f} {:>8.1f} {:>8.0f}% "
            "{:>9.1e}\n",
            on.mesh.size(), on.epsilon, who, times.compression, times.cpu, 1e-6 * bytes, 100 * values / (n * n),
            values / (n * std::log2(n)), 1e3 * times.product, 1e-9 * rate, 100 * rate / fastest_, error);
        flush_out();
    }

    Comm& comm_;
    const BenchArguments& arguments_;
    const std::atomic<bool>& interrupt_;
    int threads_;
    bool table_;
    ProgressLine line_;
    double cached_;
    Triad triad_;
    double fastest_ = 0;  // triad
    ordered_json rows_ = ordered_json::array();
};

}  // namespace

int run_bench_hmatrix(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt) {
    if (arguments.device != "cpu") return run_bench_hmatrix_device(comm, arguments, interrupt);
    keep_freed_memory();
    HMatrixBench(comm, arguments, interrupt).run();
    return exit_converged;
}
