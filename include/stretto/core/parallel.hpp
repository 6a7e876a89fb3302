// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace stretto {

/// The threads of this process, which every parallel() uses. They are of the library's own, not of an OpenMP runtime:
/// that one's spin for milliseconds where they wait, so that beside another busy process every loop lasts a slice of
/// the scheduler's time; these spin for some microseconds and sleep then.
namespace team {
/// work(context, t, threads) for all t; the calling thread is t = 0. Where the team is busy already, with an outer
/// parallel() or one of another thread, the calls follow one another on the calling thread.
void run(int threads, void (*work)(void* context, int t, int threads), void* context);
/// From now on no more than so many threads answer: each calls work for several t then, one after the other. Where
/// pieces are more than threads (execute/tasks).
void limit(int most);
}  // namespace team

/// Calls work(t, threads) for t = 0 … threads − 1, each on a thread of its own where threads are built in. Where calls
/// throw, one of the exceptions is thrown here, once all have ended (one that left its thread would end the program).
template <class Work>
void parallel([[maybe_unused]] int threads, Work&& work) {
#ifdef _OPENMP
    if (threads > 1) {
        using Plain = std::remove_reference_t<Work>;
        team::run(
            threads, [](void* context, int t, int of) { (*static_cast<Plain*>(context))(t, of); },
            const_cast<std::remove_const_t<Plain>*>(std::addressof(work)));
        return;
    }
#endif
    work(0, 1);
}

/// So that libraries (BLAS) that this thread calls take no more threads than we do.
inline void limit_threads([[maybe_unused]] int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
}

/// Half-open range of thread t when `count` items are dealt evenly.
struct Share {
    std::size_t begin, end;
    Share(std::size_t count, int t, int threads)
        : begin(count * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads)),
          end(count * static_cast<std::size_t>(t + 1) / static_cast<std::size_t>(threads)) {}
};

/// The rows of thread t, whole stretches of 64 rows as far as there are some: what follows from where vectors begin,
/// that blocks begin with cache lines, stays so. Every loop over rows of vectors deals them like this, so that a thread
/// finds near it what it touched first, and a task what one before it has left.
struct RowShare : Share {
    static constexpr std::size_t stretch = 64;
    RowShare(std::size_t rows, int t, int threads) : Share((rows + stretch - 1) / stretch, t, threads) {
        begin = begin * stretch < rows ? begin * stretch : rows;
        end = end * stretch < rows ? end * stretch : rows;
    }
};

}  // namespace stretto
