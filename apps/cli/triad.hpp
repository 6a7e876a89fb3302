// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/execute/workspace.hpp"

inline constexpr stretto::Index out_of_cache = 8'000'000;

/// STREAM's triad: two vectors read, one written, no write-allocate counted.
class Triad {
public:
    Triad(stretto::Comm& comm, stretto::Index rows, int threads)
        : comm_(comm), threads_(threads), vectors_(rows, 1, 3, threads) {
        for (auto* v : {&a_, &b_, &c_}) *v = vectors_.take();
    }
    /// Bytes per second of all ranks together, once.
    double operator()() {
        stretto::all_sum(comm_, 0.0);
        const auto start = stretto::Clock::now();
        stretto::parallel(threads_, [&, a = a_.data(), b = b_.data(), c = c_.data()](int t, int threads) {
            const stretto::Share mine(a_.size(), t, threads);
#pragma omp simd
            for (std::size_t i = mine.begin; i < mine.end; ++i) c[i] = a[i] + 0.5 * b[i];
        });
        const double seconds =
            stretto::all_max(comm_, std::chrono::duration<double>(stretto::Clock::now() - start).count());
        return stretto::all_sum(comm_, 24.0 * static_cast<double>(a_.size())) / seconds;
    }

private:
    stretto::Comm& comm_;
    int threads_;
    stretto::Workspace<double> vectors_;
    stretto::MultiVector<double> a_, b_, c_;
};
