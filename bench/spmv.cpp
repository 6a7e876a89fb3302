// SPDX-License-Identifier: BSD-3-Clause
// The product y = A x of CSR matrices against the triad a = b + s c, which runs before each product:
// `fraction` is the product's bytes per second (CsrMatrix::bytes) over the triad's (24 an element). Under
// mpirun, rank 0's times are reported, `GB/s` being those of all ranks; let threads have cores of their own
// (--bind-to none).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "stretto/core/parallel.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/measure/triad.hpp"
#include "stretto/sparse/csr.hpp"

namespace {

using namespace stretto;

Buffer<double> ones(std::size_t size, int threads) {
    Buffer<double> buffer(size);
    parallel(threads, [&](int t, int parts) {
        const Share share(size, t, parts);
        std::fill(buffer.data() + share.begin, buffer.data() + share.end, 1.0);
    });
    return buffer;
}

/// Seconds that `work` takes, all ranks having started together.
template <class Work>
double seconds(const Comm& comm, Work&& work) {
    MPI_Barrier(comm.mpi());
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void spmv(benchmark::State& state, const std::string& problem) {
    const auto columns = static_cast<int>(state.range(0)), threads = static_cast<int>(state.range(1));
    MpiComm comm;
    auto [partition, rows] = generate(comm, problem);
    const CsrMatrix<double> A(comm, partition, std::move(rows), threads);
    const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
    const auto x = ones(size, threads), y = ones(size + 512, threads);
    const MultiVector<double> X(x.data(), A.local_rows(), columns), Y(y.data(), A.local_rows(), columns);
    const Triad triad(threads);
    A.apply(X, Y);

    double best_triad = 1e9, best_apply = 1e9;
    for (auto _ : state) {
        best_triad = std::min(best_triad, seconds(comm, [&] { triad.run(); }));
        const double time = seconds(comm, [&] { A.apply(X, Y); });
        best_apply = std::min(best_apply, time);
        state.SetIterationTime(time);
    }
    const double bandwidth = A.bytes(columns) / best_apply;
    state.counters["GB/s"] = bandwidth * comm.size() * 1e-9;
    state.counters["fraction"] = bandwidth / (triad.bytes() / best_triad);
}

struct Silent final : benchmark::BenchmarkReporter {
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (const std::string problem : {"poisson3d:128", "poisson3d:200"})
        benchmark::RegisterBenchmark(("spmv/" + problem).c_str(), spmv, problem)
            ->ArgNames({"columns", "threads"})
            ->ArgsProduct({{1, 4, 16}, {1, 2}})
            ->Iterations(20)  // fixed: ranks must agree
            ->Unit(benchmark::kMillisecond)
            ->UseManualTime();
    benchmark::Initialize(&argc, argv);
    if (MpiComm().rank() == 0) {
        benchmark::RunSpecifiedBenchmarks();
    } else {
        Silent silent;
        benchmark::RunSpecifiedBenchmarks(&silent);
    }
    benchmark::Shutdown();
    MPI_Finalize();
}
