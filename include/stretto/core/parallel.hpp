// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace stretto {

/// Calls work(t, threads) for t = 0 … threads − 1, each on a thread of its own where threads are built in. Where calls
/// throw, the first exception is thrown here, once all have ended (one that left its thread would end the program).
template <class Work>
void parallel([[maybe_unused]] int threads, Work&& work) {
#ifdef _OPENMP
    if (threads > 1) {
        std::exception_ptr first;
#pragma omp parallel num_threads(threads)
        try {
            work(omp_get_thread_num(), omp_get_num_threads());
        } catch (...) {
#pragma omp critical(stretto_first_exception)
            if (!first) first = std::current_exception();
        }
        if (first) std::rethrow_exception(first);
        return;
    }
#endif
    work(0, 1);
}

/// So that libraries (BLAS) inside this process take no more threads than we do.
inline void limit_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
}

/// Half-open range of thread t when `count` items are dealt evenly; every kernel deals rows the same way, so
/// that a thread finds near it what it touched first.
struct Share {
    std::size_t begin, end;
    Share(std::size_t count, int t, int threads)
        : begin(count * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads)),
          end(count * static_cast<std::size_t>(t + 1) / static_cast<std::size_t>(threads)) {}
};

}  // namespace stretto
