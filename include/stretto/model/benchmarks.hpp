// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/model/fit.hpp"

namespace stretto {

// What communication costs and what of it can be hidden. All functions are collective; seconds are those of the slowest
// rank, the least of the repetitions.

/// How often something is measured: so many times, but only as long as so many seconds have not passed (once at least).
struct Effort {
    int repetitions;
    double seconds = 1e9;
};

/// Computation that takes a given time: updates of vectors that stay in cache, in steps of a tenth of a microsecond or
/// so.
class Work {
public:
    /// Measures how long a step takes.
    Work();
    /// Does steps for about so long. `comm`: tested between the steps, where it wants that (Pieces).
    void operator()(double seconds, Comm* comm = nullptr);
    double step_seconds() const { return step_seconds_; }

private:
    void steps(std::size_t count);
    std::vector<double> x_, y_;
    double step_seconds_ = 0;
};

/// Sums of a number of values: blocking, then work; and the work between start and wait (Krasnopolsky 2019, Appendix
/// C).
struct OverlapTimes {
    ProgressMode mode;
    double total;  ///< start, work and wait
    double comm;   ///< of it not in the work: start and wait
    double gamma;  ///< (total − work) / blocking, formula (C.1): 0 where all is hidden, 1 where nothing is
};
struct Overlap {
    std::size_t bytes;
    double blocking, work;
    std::vector<OverlapTimes> modes;
};
/// The work takes as long as the blocking sum, but at least ten steps. `comm` is `mpi` or something on top of it; the
/// blocking sum of `mpi` itself is MPI_Allreduce. Leaves the progress mode as it was.
Overlap measure_overlap(Comm& comm, MpiComm& mpi, std::size_t values, const std::vector<ProgressMode>& modes,
                        const Effort& effort, Work& work);

/// The modes that this MPI offers. `none` comes first.
std::vector<ProgressMode> offered_modes();

/// Work while a collective is in flight (Yamazaki et al. 2017, Fig. 8).
struct Concurrency {
    std::size_t bytes;
    double pure, cpu, together;
    double overlap() const;  ///< (pure + cpu − together) / min(pure, cpu)
};
/// Starts a collective. One of MPI_Iallreduce and MPI_Iallgather of so many bytes, a multiple of 8.
enum class Collective { all_reduce, all_gather };
/// `tests`: how often MPI_Test is called from within the work.
Concurrency measure_concurrency(MPI_Comm comm, Collective collective, std::size_t bytes, int tests,
                                const Effort& effort, Work& work);

/// So many sums in flight at once, over the time of one (their Fig. 9): 1 where they overlap each other entirely.
double measure_pipelining(MPI_Comm comm, std::size_t values, int depth, const Effort& effort);

/// An exchange with so many neighbours; on few ranks a rank is neighbour several times.
CommTime measure_exchange(MPI_Comm comm, int neighbours, std::size_t bytes, const Effort& effort);

/// A blocking all-reduce on all ranks of `comm`.
CommTime measure_all_reduce(MPI_Comm comm, std::size_t values, const Effort& effort);

}  // namespace stretto
