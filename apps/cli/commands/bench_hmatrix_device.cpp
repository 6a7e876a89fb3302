// SPDX-License-Identifier: BSD-3-Clause
// stretto bench hmatrix --device …: products on a device by schemes of batched kernels.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "../files.hpp"
#include "../show/print.hpp"
#include "bench.hpp"
#include "sphere_case.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

constexpr int repeats = 20;                                 // of a product; the fastest counts
constexpr std::size_t triad_values = std::size_t{1} << 25;  // 800 MB, beyond the caches of devices
constexpr std::size_t emulated_triad_values = 1 << 10;      // its speed says nothing

class DeviceBench {
public:
    DeviceBench(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt,
                const Accelerator& device)
        : comm_(comm),
          arguments_(arguments),
          interrupt_(interrupt),
          device_(device),
          emulated_(device.name() == "emulated"),
          threads_(arguments.threads > 0 ? arguments.threads : default_threads(comm)),
          table_(comm.rank() == 0 && arguments.json != "-") {
        limit_threads(threads_);
        triad_ = device.triad(emulated_ ? emulated_triad_values : triad_values, rounds());
    }

    void run() {
        if (table_) {
            print_out("unit sphere, single layer, {} rank{}; device {}: {}\n", comm_.size(),
                      comm_.size() == 1 ? "" : "s", device_.name(), device_.title());
            if (emulated_)
                print_out("its times say nothing of a GPU\n");
            else
                print_out("triad: {:.0f} GB/s\n", 1e-9 * triad_);
            print_out("\n{:>8} {:>7} {:>3} {:<15} {:<35} {:>8} {:>10} {:>8} {:>8} {:>9} {:>10}\n", "n", "ε", "m",
                      "paper", "scheme", "launches", "ms", "Gflop/s", "GB/s", "of triad", "difference");
        }
        for (const int size : arguments_.sizes)
            for (const double epsilon : arguments_.epsilons) measure(SphereCase(comm_, size, epsilon));
        if (comm_.rank() == 0 && !arguments_.json.empty())
            write_json(arguments_.json, {{"benchmark", "hmatrix"},
                                         {"device", device_.name()},
                                         {"title", device_.title()},
                                         {"ranks", comm_.size()},
                                         {"triad_gigabytes_per_second", 1e-9 * triad_},
                                         {"measurements", rows_}});
    }

private:
    int rounds() const { return emulated_ ? 1 : repeats; }

    void measure(const SphereCase& on) {
        HMatrixOptions options;
        options.epsilon = on.epsilon;
        options.threads = threads_;
        options.interrupt = &interrupt_;
        const HMatrix A(comm_, on.mesh.geometry(), on.fill(), options);
        for (const int m : arguments_.columns.empty() ? std::vector{1, 16} : arguments_.columns) {
            std::vector<double> x;
            for (Index i = 0; i < A.local_rows(); ++i)
                for (int c = 0; c < m; ++c) x.push_back(uniform(1, A.original(i), c));
            std::vector<double> y(x.size());
            A.apply({x.data(), A.local_rows(), m}, {y.data(), A.local_rows(), m});
            for (const auto& product : device_.compare_batches(A, x, m, rounds(), arguments_.schemes == "ours"))
                add(on, A, m, y, product);
        }
    }

    /// How far two vectors are apart, over all ranks, of the size of the first.
    double difference(const std::vector<double>& y, const std::vector<double>& other) const {
        double apart = 0, size = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            apart += (y[i] - other[i]) * (y[i] - other[i]);
            size += y[i] * y[i];
        }
        return std::sqrt(all_sum(comm_, apart) / all_sum(comm_, size));
    }

    void add(const SphereCase& on, const HMatrix& A, int m, const std::vector<double>& y,
             const BatchedProduct& product) {
        const double apart = difference(y, product.y), seconds = all_max(comm_, product.seconds);
        const auto& statistics = A.statistics();
        const double flops = 2.0 * m * static_cast<double>(statistics.values) / seconds,
                     rate = statistics.bytes / seconds, of_triad = rate / (triad_ * comm_.size());
        if (comm_.rank() != 0) return;
        rows_.push_back({{"n", on.mesh.size()},
                         {"epsilon", on.epsilon},
                         {"columns", m},
                         {"paper", product.where},
                         {"scheme", product.scheme},
                         {"disjoint_rows", product.disjoint},
                         {"launches", product.launches},
                         {"bytes", statistics.bytes},
                         {"seconds", seconds},
                         {"of_triad", of_triad},
                         {"difference", apart}});
        if (!table_) return;
        print_out("{:>8} {:>7.0e} {:>3} {:<15} {:<35} {:>8} {:>10.3f} {:>8.1f} {:>8.1f} {:>8.0f}% {:>10.1e}\n",
                  on.mesh.size(), on.epsilon, m, product.where, product.scheme, product.launches, 1e3 * seconds,
                  1e-9 * flops, 1e-9 * rate, 100 * of_triad, apart);
        flush_out();
    }

    Comm& comm_;
    const BenchArguments& arguments_;
    const std::atomic<bool>& interrupt_;
    const Accelerator& device_;
    bool emulated_;
    int threads_;
    bool table_;
    double triad_ = 0;  // bytes per second, of a rank's device
    ordered_json rows_ = ordered_json::array();
};

}  // namespace

int run_bench_hmatrix_device(Comm& comm, const BenchArguments& arguments, const std::atomic<bool>& interrupt) {
    const Accelerator* device = nullptr;
    agree(comm, [&] { device = find_device(arguments.device); });
    DeviceBench(comm, arguments, interrupt, *device).run();
    return exit_converged;
}
