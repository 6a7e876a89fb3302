// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/measure/triad.hpp"

#include "stretto/core/parallel.hpp"

namespace stretto {

void triad(int threads, std::size_t size, const double* a, const double* b, double* c) {
    parallel(threads, [&](int thread, int all) {
        const Share mine(size, thread, all);
#pragma omp simd
        for (std::size_t i = mine.begin; i < mine.end; ++i) c[i] = a[i] + 0.5 * b[i];
    });
}

}  // namespace stretto
