// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/collective.hpp"

namespace stretto {

Clock::duration clock_offset(const Comm& comm) {
    if constexpr (!std::is_same_v<Clock, std::chrono::steady_clock>) return {};  // a simulated machine has one clock
    constexpr int tag = 13, trips = 20;
    using Ticks = Clock::rep;
    char mine[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(mine, &length);
    const std::string here(mine, static_cast<std::size_t>(length));
    const bool shared = broadcast(comm, here, 0) == here;
    const auto others = all_gather(comm, static_cast<int>(!shared));
    const auto now = [] { return Clock::now().time_since_epoch().count(); };
    Clock::duration offset{}, shortest = Clock::duration::max();
    for (int rank = 1; rank < comm.size(); ++rank) {
        if (!others[static_cast<std::size_t>(rank)]) continue;
        for (int trip = 0; trip < trips; ++trip) {
            Ticks ticks = 0;
            if (comm.rank() == 0) {
                MPI_Recv(&ticks, 1, MPI_INT64_T, rank, tag, comm.mpi(), MPI_STATUS_IGNORE);
                ticks = now();
                MPI_Send(&ticks, 1, MPI_INT64_T, rank, tag, comm.mpi());
            } else if (comm.rank() == rank) {
                const Ticks before = now();
                MPI_Send(&before, 1, MPI_INT64_T, 0, tag, comm.mpi());
                MPI_Recv(&ticks, 1, MPI_INT64_T, 0, tag, comm.mpi(), MPI_STATUS_IGNORE);
                const Ticks after = now();
                if (Clock::duration(after - before) < shortest) {
                    shortest = Clock::duration(after - before);
                    offset = Clock::duration(before + (after - before) / 2 - ticks);
                }
            }
        }
    }
    return offset;
}

}  // namespace stretto
