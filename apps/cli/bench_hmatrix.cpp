// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>

#include "commands.hpp"
#include "hmat_oss.hpp"
#include "input.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/core/random.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "triad.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int products = 20;  // of a kind and round, the fastest counts

/// The single layer on the unit sphere, one point for each triangle, exact on the diagonal.
ChargeKernel kernel_of(const TriangleMesh& mesh) {
    ChargeKernel kernel;
    for (Index i = 0; i < mesh.size(); ++i) {
        kernel.points.push_back(mesh.centroid(i));
        kernel.weights.push_back(mesh.area(i));
        kernel.self.push_back(triangle_potential(mesh.centroid(i), mesh.corners(i)));
    }
    return kernel;
}

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

}  // namespace

int run_bench_hmatrix(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt) {
    const int threads = arguments.threads > 0 ? arguments.threads : default_threads(comm);
    limit_threads(threads);
    const bool table = comm.rank() == 0 && arguments.json != "-";
    ProgressLine line(comm.rank(), arguments.progress);
#ifdef __GLIBC__
    // What one compression frees, the next one gets, the peer's too: how fast the system hands out pages varies
    // thirtyfold, most of all in a virtual machine.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 1 << 28);
#endif
    Triad triad(comm, out_of_cache / comm.size(), threads);
    ordered_json rows = ordered_json::array();
    double fastest = 0;
    if (table)
        fmt::print(
            "unit sphere, single layer, {} rank{} × {} thread{}; hmat-oss: one thread, double precision\n\n{:>7} {:>7} "
            "{:<16} {:>10} {:>7} {:>9} {:>8} {:>9} {:>11} {:>8} {:>9} {:>9}\n",
            comm.size(), comm.size() == 1 ? "" : "s", threads, threads == 1 ? "" : "s", "n", "ε", "", "compress s",
            "CPU s", "MB", "% of n²", "n log₂n", "product ms", "GB/s", "of triad", "error");
    for (const int size : arguments.sizes)
        for (const double epsilon : arguments.epsilons) {
            const auto mesh = make_bem_problem(comm, fmt::format("sphere:n={}", size)).mesh;
            const auto kernel = kernel_of(mesh);
            const auto fill = of_distance(
                kernel.points,
                [w = kernel.weights.data()](Index, Index j, double square) { return w[j] / std::sqrt(square); },
                [&kernel](Index i) { return kernel.self[static_cast<std::size_t>(i)]; });
            const auto n = static_cast<double>(mesh.size());
            std::vector<double> x;
            for (Index i = 0; i < mesh.size(); ++i) x.push_back(uniform(1, i));
            const auto add = [&](const char* who, double compression, double cpu, double bytes, double values,
                                 double seconds, const std::vector<double>& y) {
                if (comm.rank() != 0) return;
                const double error = sampled_rows(kernel, x, y), rate = bytes / seconds;
                rows.push_back({{"n", mesh.size()},
                                {"epsilon", epsilon},
                                {"who", who},
                                {"compression_seconds", compression},
                                {"compression_cpu_seconds", cpu},
                                {"bytes", bytes},
                                {"of_n2", values / (n * n)},
                                {"of_nlogn", values / (n * std::log2(n))},
                                {"product_seconds", seconds},
                                {"of_triad", rate / fastest},
                                {"error", error}});
                if (!table) return;
                fmt::print(
                    "{:>7} {:>7.0e} {:<16} {:>10.2f} {:>7.2f} {:>9.1f} {:>8.2f} {:>9.1f} {:>11.2f} {:>8.1f} {:>8.0f}% "
                    "{:>9.1e}\n",
                    mesh.size(), epsilon, who, compression, cpu, 1e-6 * bytes, 100 * values / (n * n),
                    values / (n * std::log2(n)), 1e3 * seconds, 1e-9 * rate, 100 * rate / fastest, error);
                std::fflush(stdout);
            };
            // In turn: a noisy machine disturbs all, and each finds the memory that another has used. The fastest
            // counts.
            struct Kind {
                const char* who;
                Precision precision;
                double compression = 1e300, cpu = 1e300, product = 1e300;
            } kinds[] = {{"stretto", Precision::automatic}, {"stretto, double", Precision::double_only}};
            std::optional<HmatOss> peer;
            for (int round = 0; round < arguments.rounds; ++round) {
                const bool last = round + 1 == arguments.rounds;
                for (auto& kind : kinds) {
                    HMatrixOptions options;
                    options.epsilon = epsilon;
                    options.threads = threads;
                    options.precision = kind.precision;
                    options.interrupt = &interrupt;
                    options.progress = [&](double fraction) { line.show_fraction("compressing", fraction); };
                    const double before = cpu_seconds();
                    const HMatrix A(comm, mesh.geometry(), fill, options);
                    kind.cpu = std::min(kind.cpu, all_sum(comm, cpu_seconds() - before));
                    line.clear();
                    const auto& s = A.statistics();
                    kind.compression = std::min(kind.compression, s.seconds);
                    std::vector<double> mine, y(static_cast<std::size_t>(A.local_rows()));
                    for (Index i = 0; i < A.local_rows(); ++i)
                        mine.push_back(x[static_cast<std::size_t>(A.original(i))]);
                    for (int k = 0; k < products; ++k) {
                        fastest = std::max(fastest, triad());  // as many tries as a product has
                        all_sum(comm, 0.0);
                        const auto start = Clock::now();
                        A.apply({mine.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
                        kind.product = std::min(kind.product, all_max(comm, to_seconds(Clock::now() - start)));
                    }
                    const auto all = A.gather({y.data(), A.local_rows(), 1});
                    if (last)
                        add(kind.who, kind.compression, kind.cpu, s.bytes, static_cast<double>(s.values), kind.product,
                            all);
                }
                if (comm.rank() != 0) continue;
                auto found = measure_hmat_oss(kernel, epsilon, x, products);
                if (found && peer) {
                    found->compression_seconds = std::min(found->compression_seconds, peer->compression_seconds);
                    found->cpu_seconds = std::min(found->cpu_seconds, peer->cpu_seconds);
                    found->product_seconds = std::min(found->product_seconds, peer->product_seconds);
                }
                peer = std::move(found);
            }
            if (peer)
                add("hmat-oss", peer->compression_seconds, peer->cpu_seconds, peer->bytes, peer->bytes / 8,
                    peer->product_seconds, peer->y);
            all_sum(comm, 0.0);
        }
    if (comm.rank() == 0 && !arguments.json.empty())
        write_text(arguments.json, ordered_json{{"stretto", STRETTO_VERSION},
                                                {"benchmark", "hmatrix"},
                                                {"ranks", comm.size()},
                                                {"threads", threads},
                                                {"triad_gigabytes_per_second", 1e-9 * fastest},
                                                {"measurements", rows}}
                                           .dump(2) +
                                       "\n");
    return exit_converged;
}
