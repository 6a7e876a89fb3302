// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/default_threads.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"

namespace stretto {

int default_threads(const Comm& comm) {
    if (const char* set = std::getenv("OMP_NUM_THREADS")) {
        int threads = 0;
        agree(comm, [&] {
            const std::string_view text(set);
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
            // A list gives a number for each level of nesting; the first is ours.
            if (error != std::errc() || threads < 1 || (end != text.data() + text.size() && *end != ','))
                throw InputError(fmt::format("OMP_NUM_THREADS={} is not a number of threads", text));
        });
        return threads;
    }
    MPI_Comm node = MPI_COMM_NULL;
    int ranks = 1;
    MPI_Comm_split_type(comm.mpi(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    cpu_set_t bound;
    CPU_ZERO(&bound);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const Global allowed = sched_getaffinity(0, sizeof bound, &bound) == 0 ? CPU_COUNT(&bound) : online;
    return static_cast<int>(all_min(comm, std::max<Global>(1, std::min<Global>(allowed, online / ranks))));
}

}  // namespace stretto
