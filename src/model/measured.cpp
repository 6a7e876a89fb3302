// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/measured.hpp"

#include <algorithm>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/core/memory.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/model/benchmarks.hpp"
#include "stretto/model/probe.hpp"

namespace stretto {
namespace {

/// The time of `work` on all ranks together: the least of some rounds, each of so many repetitions that a clock can
/// tell.
template <class F>
double least_seconds(const Comm& comm, F&& work) {
    constexpr double round = 0.001;  // short, so that some are not interrupted on a busy machine
    constexpr int rounds = 40;
    Global repetitions = 1;
    double least = INFINITY;
    for (int k = 0; k < rounds;) {
        all_sum(comm, 0.0);
        const auto start = Clock::now();
        for (Global r = 0; r < repetitions; ++r) work();
        const double seconds = all_max(comm, to_seconds(Clock::now() - start));
        if (seconds < round / 2) {
            repetitions *= std::max<Global>(2, static_cast<Global>(round / std::max(seconds, 1e-7)) / 2);
            continue;
        }
        least = std::min(least, seconds / static_cast<double>(repetitions));
        ++k;
    }
    return least;
}

/// Seconds of a group of statements on so many rows of a rank, alone.
double update_seconds(const MpiComm& comm, Index rows) {
    MpiComm alone(MPI_COMM_SELF);
    Space<double> V(alone, rows, 1, 2, 1, Formulation::merged);
    const auto x = V.vector(), y = V.vector();
    const auto half = V.scalars(0.5);
    return least_seconds(comm, [&] { V.run(y <<= half * y + half * x); });
}
double dot_seconds(const MpiComm& comm, Index rows) {
    MpiComm alone(MPI_COMM_SELF);
    Space<double> V(alone, rows, 1, 2, 1, Formulation::merged);
    const auto x = V.vector(), y = V.vector();
    return least_seconds(comm, [&] { (void)V.start(dot(x, y)).wait(); });
}

/// From what first-level caches hold to four times all last-level caches.
void measure_sweep(const MpiComm& comm, MeasuredMachine& machine) {
    constexpr double vectors = 16, of_update = 24;  // bytes of a row: what is gone through, what an update moves
    constexpr Index almost_none = 8;
    const int ranks = machine.ranks_per_node;
    const double caches = all_max(comm, last_level_cache(ranks));
    const double most = std::min(std::max(4 * caches, 128e6), all_min(comm, free_memory()) / 4);
    machine.kernel = update_seconds(comm, almost_none);
    const double dot = dot_seconds(comm, almost_none);
    for (double bytes = 16e3 * ranks; bytes <= most; bytes *= 2) {
        const auto rows = static_cast<Index>(bytes / ranks / vectors);
        const double update = std::max(update_seconds(comm, rows) - machine.kernel, 1e-9);
        const double read = std::max(dot_seconds(comm, rows) - dot, 1e-9);
        machine.sweep.emplace_back(bytes, ranks * of_update * rows / update);
        machine.reads.emplace_back(bytes, ranks * vectors * rows / read);
    }
}

std::vector<CommTime> measure_all_reduces(const MpiComm& comm, const Effort& effort) {
    std::vector<CommTime> sums;
    for (int ranks = 2;; ranks = std::min(2 * ranks, comm.size())) {
        MPI_Comm some = MPI_COMM_NULL;
        MPI_Comm_split(comm.mpi(), comm.rank() < ranks ? 0 : MPI_UNDEFINED, comm.rank(), &some);
        for (std::size_t bytes = 8; bytes <= 4096; bytes *= 4) {
            double seconds = 0;
            if (some != MPI_COMM_NULL) seconds = measure_all_reduce(some, bytes / sizeof(double), effort).seconds;
            sums.push_back({static_cast<double>(bytes), static_cast<double>(ranks), all_max(comm, seconds)});
        }
        if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
        if (ranks >= comm.size()) return sums;
    }
}

}  // namespace

MeasuredMachine measure_machine(MpiComm& comm) {
    const Effort effort{50, 0.2};
    MeasuredMachine machine;
    machine.ranks_per_node = static_cast<int>(all_max(comm, Global{ranks_on_node(comm)}));
    machine.nodes = (comm.size() + machine.ranks_per_node - 1) / machine.ranks_per_node;
    measure_sweep(comm, machine);
    if (comm.size() == 1) return machine;
    const Probe found = probe(comm, comm);
    machine.reduction = found.reduction;
    for (const auto& [mode, gamma] : found.gamma)
        if (mode == found.choice()) machine.gamma = std::clamp(gamma, 0.0, 1.0);
    std::vector<CommTime> exchanges;
    for (const int neighbours : {2, 4})
        for (std::size_t bytes = 8; bytes <= (1 << 20); bytes *= 4)
            exchanges.push_back(measure_exchange(comm.mpi(), neighbours, bytes, effort));
    machine.exchange = fit_two(exchanges);
    const auto sums = measure_all_reduces(comm, effort);
    if (comm.size() >= 4) machine.all_reduce = fit(sums);
    return machine;
}

}  // namespace stretto
