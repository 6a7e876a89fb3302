// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/execute/space.hpp"
#include "surrogate.hpp"

namespace stretto {
namespace {

/// The times of one part on this rank, by repetition.
using Times = std::vector<double>;

/// Collective. The least of the repetitions, in each of which the ranks' times are put together by `operation`.
double over_ranks(const Comm& comm, Times times, MPI_Op operation) {
    MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, operation, comm.mpi());
    return std::ranges::min(times);
}

/// How many of the vectors are enough to drive everything else out of the caches.
int enough_vectors(const Comm& comm, Index rows, int columns, int vectors) {
    constexpr double caches = 2, unknown = 64e6;
    const int ranks = ranks_on_node(comm);
    const double cache = last_level_cache(ranks);
    const double bytes = 8.0 * std::max<Index>(rows, 1) * columns;
    const double enough = std::ceil((cache > 0 ? caches * cache / ranks : unknown) / bytes);
    return static_cast<int>(all_max(comm, std::min<double>(vectors, enough)));
}

template <class F>
double seconds_of(F&& work) {
    const auto start = Clock::now();
    work();
    return to_seconds(Clock::now() - start);
}

}  // namespace

TrialTimes time_parts(Comm& comm, AnyOperator<double> A, AnyOperator<double> M, Index rows, int columns, int vectors,
                      int threads, const Effort& effort) {
    const int others = enough_vectors(comm, rows, columns, vectors);
    Space<double> V(comm, rows, columns, others + 2, threads, Formulation::merged);
    const auto x = V.vector(), y = V.vector();
    const auto other = V.panel(others);
    const auto half = V.scalars(0.5), one = V.scalars(1);
    V.fill_uniform(x, 1);
    std::array<double, 4> mine{}, total{};
    Times products, preconditioners, sums;
    const auto go_through_others = [&] {
        for (int k = 0; k < others; ++k) V.run(other[k] <<= half * other[k] + half * other[(k + 1) % others]);
        V.run(x <<= one * x);
    };
    const auto meet = [&] { return seconds_of([&] { comm.start_sum(mine, total).wait(); }); };
    const auto start = Clock::now();
    // The first repetition meets what was never touched.
    for (int k = -1; k < effort.repetitions; ++k) {
        go_through_others();
        const double first = meet();
        const double product = seconds_of([&] { A.apply(x, y); });
        double second = meet(), preconditioner = 0;
        if (M) {
            go_through_others();
            meet();
            preconditioner = seconds_of([&] { M.apply(x, y); });
            second = meet();
        }
        if (k < 0) continue;
        products.push_back(product);
        preconditioners.push_back(preconditioner);
        sums.push_back(first);
        sums.push_back(second);
        if (is_enough(k + 1, all_max(comm, to_seconds(Clock::now() - start)), effort)) break;
    }
    return {over_ranks(comm, products, MPI_MAX), over_ranks(comm, preconditioners, MPI_MAX),
            over_ranks(comm, sums, MPI_MIN)};
}

}  // namespace stretto
