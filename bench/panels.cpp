// SPDX-License-Identifier: BSD-3-Clause
// The dense work of GMRES methods, as statements, as OpenBLAS does it, and STREAM's triad, in turn within one
// measurement, so that a noisy machine disturbs them alike. Rows are a million for each thread. Bytes are those that
// must move at least, every vector read once and written once, in the numbers of both: what a program reads twice makes
// it look slow.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "stretto/execute/cpu/executor.hpp"
#include "stretto/execute/workspace.hpp"
#include "stretto/measure/triad.hpp"
#include "timing.hpp"

using namespace stretto;

namespace {

constexpr int rows_of_a_thread = 1'000'000;

/// Work in turn with triad, and what it reaches of triad's bandwidth.
class InTurn {
public:
    InTurn(benchmark::State& state, int threads) : state_(state), triad_(threads) {}

    struct Work {
        const char* name;
        double bytes;
        std::function<void()> run;
    };
    /// The first is what the table calls its time.
    void measure(const std::vector<Work>& all) {
        for (const auto& work : all) work.run();
        std::vector<double> of_triad;
        std::vector<std::vector<double>> times(all.size());
        for (auto _ : state_) {
            of_triad.push_back(seconds([this] { triad_.run(); }));
            for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(seconds(all[i].run));
            state_.SetIterationTime(times.front().back());
        }
        const double rate = triad_.bytes() / median(of_triad);
        state_.counters["triad_GB/s"] = 1e-9 * rate;
        for (std::size_t i = 0; i < all.size(); ++i)
            state_.counters[all[i].name] = all[i].bytes / median(times[i]) / rate;
    }

private:
    benchmark::State& state_;
    Triad triad_;
};

/// A block W of s vectors against a basis Q of k: the products [Q W]ᵀ W, the update (W − Q S) T⁻¹, and one with the
/// other after it, which the statements do in one pass.
void block(benchmark::State& state) {
    const auto threads = static_cast<int>(state.range(0)), k = static_cast<int>(state.range(1)),
               s = static_cast<int>(state.range(2));
    const int n = rows_of_a_thread * threads;
    Workspace<double> workspace(n, 1, k + s, threads);
    const auto all = workspace.take_panel(k + s);
    for (int i = 0; i < k + s; ++i) std::ranges::fill(all[i].values(), 1e-3);
    const auto Q = all.part(0, k), W = all.part(k, s);
    SmallMatrix<double> S(k, s, 1), T(s, s, 1);
    for (int c = 0; c < s; ++c) {
        for (int i = 0; i < k; ++i) S(i, c, 0) = 1e-9;
        for (int i = 0; i <= c; ++i) T(i, c, 0) = i == c ? 1 : 1e-9;
    }
    CpuExecutor<double> executor(1, threads, Formulation::merged);
    std::vector<double> sums(static_cast<std::size_t>((k + s) * s));
    const auto products = dots(all, W);
    const auto update = W <<= (W - Q * S.from(0, 0)) / T.from(0, 0);

    const auto ld = static_cast<int>(all.stride());
    const auto blas_products = [&] {
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, k + s, s, n, 1, Q.data(), ld, W.data(), ld, 0, sums.data(),
                    k + s);
    };
    // Row-major S and T are their transposes by columns.
    const auto blas_update = [&] {
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, s, k, -1, Q.data(), ld, S.entry(0, 0), s, 1, W.data(),
                    ld);
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, s, 1, T.entry(0, 0), s,
                    W.data(), ld);
    };
    omp_set_num_threads(threads);  // OpenBLAS built for OpenMP follows it
    const double vector = 8.0 * n, once = vector * (k + s), twice = vector * (k + 2 * s);
    InTurn(state, threads)
        .measure({{"update+products", twice, [&] { executor.run(n, sums.data(), update, products); }},
                  {"products", once, [&] { executor.run(n, sums.data(), products); }},
                  {"update", twice, [&] { executor.run(n, sums.data(), update); }},
                  {"blas_both", twice,
                   [&] {
                       blas_update();
                       blas_products();
                   }},
                  {"blas_products", once, blas_products},
                  {"blas_update", twice, blas_update}});
}

/// What an iteration of l-GMRES does with vectors, l = 2: q_c is finished, v_{i+1} made by the change of basis, and its
/// products with all before it; in one pass, in a pass for each, and as calls of BLAS-2.
void pipelined(benchmark::State& state) {
    constexpr int l = 2;
    const auto threads = static_cast<int>(state.range(0)), c = static_cast<int>(state.range(1));
    const int n = rows_of_a_thread * threads;
    Workspace<double> workspace(n, 1, 2 * c + l + 2, threads);
    const auto q = workspace.take_panel(c + 1), v = workspace.take_panel(c + l + 1);
    for (const auto& panel : {q, v})
        for (int i = 0; i < panel.count(); ++i) std::ranges::fill(panel[i].values(), 1e-3);
    SmallMatrix<double> R(c + 1, 1, 1), B(c + 1, 1, 1);
    for (int i = 0; i < c; ++i) R(i, 0, 0) = B(i, 0, 0) = 1e-9;
    R(c, 0, 0) = B(c, 0, 0) = 1;
    const auto next = v.part(c + l, 1);
    const auto finish = q.part(c, 1) <<= (v.part(c, 1) - q.part(0, c) * R.from(0, 0)) / R.from(c, 0);
    const auto change = next <<= (next - v.part(l, c) * B.from(0, 0)) / B.from(c, 0);
    const auto with_q = dots(q, next), with_v = dots(v.part(c + 1, l), next);
    std::vector<double> sums(static_cast<std::size_t>(c + l + 2));
    CpuExecutor<double> merged(1, threads, Formulation::merged), basic(1, threads, Formulation::basic);

    const auto gemv = [&](CBLAS_TRANSPOSE transpose, const Panel<double>& panel, double alpha, const double* x,
                          double beta, double* y) {
        cblas_dgemv(CblasColMajor, transpose, n, panel.count(), alpha, panel.data(), static_cast<int>(panel.stride()),
                    x, 1, beta, y, 1);
    };
    const auto blas = [&] {
        std::copy_n(v[c].data(), n, q[c].data());
        gemv(CblasNoTrans, q.part(0, c), -1, R.entry(0, 0), 1, q[c].data());
        cblas_dscal(n, 1 / R(c, 0, 0), q[c].data(), 1);
        gemv(CblasNoTrans, v.part(l, c), -1, B.entry(0, 0), 1, next.data());
        cblas_dscal(n, 1 / B(c, 0, 0), next.data(), 1);
        gemv(CblasTrans, q, 1, next.data(), 0, sums.data());
        gemv(CblasTrans, v.part(c + 1, l), 1, next.data(), 0, sums.data() + c + 1);
    };
    omp_set_num_threads(threads);
    // q_0 … q_{c−1} and v_l … v_{i+1} in, q_c and v_{i+1} out; without the change of basis, of V v_c and the last l.
    const double bytes = 8.0 * n * (2 * c + 1 + 2), orthogonalised = 8.0 * n * (c + 1 + l + 1);
    InTurn(state, threads)
        .measure({{"merged", bytes, [&] { merged.run(n, sums.data(), finish, change, with_q, with_v); }},
                  {"basic", bytes, [&] { basic.run(n, sums.data(), finish, change, with_q, with_v); }},
                  {"blas", bytes, blas},
                  {"without_change", orthogonalised, [&] { merged.run(n, sums.data(), finish, with_q, with_v); }}});
}

BENCHMARK(block)
    ->ArgNames({"threads", "basis", "block"})
    ->ArgsProduct({{1, 2}, {30, 60}, {1, 5, 10}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(pipelined)
    ->ArgNames({"threads", "basis"})
    ->ArgsProduct({{1, 2}, {30, 60}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
