// SPDX-License-Identifier: BSD-3-Clause
// The longest group of the pipelined BiCGStab (7 vectors read, 5 written, 3 dot products) as one merged pass, as one
// pass per statement (basic), and as calls of BLAS-1, against STREAM triad. All four run in turn within one
// measurement, so that a noisy machine disturbs them alike. Bytes are counted as reads + writes of whole vectors
// throughout; a pass per statement or call moves more of them, which is what merging saves.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "stretto/execute/cpu/executor.hpp"
#include "stretto/execute/workspace.hpp"
#include "stretto/measure/triad.hpp"
#include "timing.hpp"

using namespace stretto;

namespace {

constexpr std::size_t elements = 8'000'000;

void statements(benchmark::State& state) {
    const auto threads = static_cast<int>(state.range(0)), columns = static_cast<int>(state.range(1));
    const auto rows = static_cast<Index>(elements / static_cast<std::size_t>(columns));
    Workspace<double> workspace(rows, columns, 9, threads);
    std::array<MultiVector<double>, 9> vectors;
    for (auto& v : vectors) {
        v = workspace.take();
        std::ranges::fill(v.values(), 1e-3);
    }
    auto [p, s, z, r, w, t, v, q, y] = vectors;
    const Scalars<double> alpha(columns, 0.5), beta(columns, 0.25), omega(columns, 0.125);
    std::vector<double> dots(static_cast<std::size_t>(3 * columns));

    // Structured bindings and the operators of the DSL, said once for both executors.
    const auto say = [&, p_ = p, s_ = s, z_ = z, r_ = r, w_ = w, t_ = t, v_ = v, q_ = q, y_ = y](auto&& run) {
        return run(p_ <<= r_ + beta * (p_ - omega * s_), s_ <<= w_ + beta * (s_ - omega * z_),
                   z_ <<= t_ + beta * (z_ - omega * v_), q_ <<= r_ - alpha * s_, y_ <<= w_ - alpha * z_, dot(q_, y_),
                   dot(y_, y_), dot(q_, q_));
    };
    CpuExecutor<double> merged(columns, threads, Formulation::merged), basic(columns, threads, Formulation::basic);
    const auto moved = [&](Formulation formulation) {
        const Traffic all = say([&](const auto&... each) { return traffic(formulation, each...); });
        return 8.0 * static_cast<double>(p.size()) * static_cast<double>(all.reads + all.writes);
    };

    const auto n = static_cast<int>(p.size());
    const auto update = [&](MultiVector<double> x, MultiVector<double> from, MultiVector<double> with) {
        // x = from + β(x − ωwith): BLAS-1 has no such call, three do it.
        cblas_daxpy(n, -0.125, with.data(), 1, x.data(), 1);
        cblas_dscal(n, 0.25, x.data(), 1);
        cblas_daxpy(n, 1.0, from.data(), 1, x.data(), 1);
    };
    const auto difference = [&](MultiVector<double> x, MultiVector<double> from, MultiVector<double> with) {
        cblas_dcopy(n, from.data(), 1, x.data(), 1);
        cblas_daxpy(n, -0.5, with.data(), 1, x.data(), 1);
    };
    const auto blas = [&, p_ = p, s_ = s, z_ = z, r_ = r, w_ = w, t_ = t, v_ = v, q_ = q, y_ = y] {
        update(p_, r_, s_);
        update(s_, w_, z_);
        update(z_, t_, v_);
        difference(q_, r_, s_);
        difference(y_, w_, z_);
        dots[0] = cblas_ddot(n, q_.data(), 1, y_.data(), 1);
        dots[1] = cblas_ddot(n, y_.data(), 1, y_.data(), 1);
        dots[2] = cblas_ddot(n, q_.data(), 1, q_.data(), 1);
    };
    const auto stream = [&] { triad(threads, static_cast<std::size_t>(n), p.data(), t.data(), y.data()); };

    omp_set_num_threads(threads);  // OpenBLAS built for OpenMP follows it
    std::vector<double> of_triad, of_merged, of_basic, of_blas;
    for (auto _ : state) {
        of_triad.push_back(seconds(stream));
        of_merged.push_back(
            seconds([&] { say([&](const auto&... each) { merged.run(rows, dots.data(), each...); }); }));
        of_basic.push_back(seconds([&] { say([&](const auto&... each) { basic.run(rows, dots.data(), each...); }); }));
        of_blas.push_back(seconds(blas));
        state.SetIterationTime(of_merged.back());
    }
    const double triad_rate = triad_bytes * n / median(of_triad);
    const double merged_rate = moved(Formulation::merged) / median(of_merged);
    state.counters["triad_GB/s"] = 1e-9 * triad_rate;
    state.counters["merged_GB/s"] = 1e-9 * merged_rate;
    state.counters["of_triad"] = merged_rate / triad_rate;
    state.counters["basic_time/merged"] = median(of_basic) / median(of_merged);
    state.counters["blas1_time/merged"] = median(of_blas) / median(of_merged);
}

BENCHMARK(statements)
    ->ArgNames({"threads", "columns"})
    ->ArgsProduct({{1, 2}, {1, 4, 16}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
