// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/default_threads.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/node.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

namespace {

/// Seconds of work.
struct Work {
    double of_cores = 0;  ///< all that was not idle
    double own = 0;       ///< this process's
    Clock::time_point at = Clock::now();
};

Work work_until_now() {
    Work work;
    std::ifstream file("/proc/stat");
    std::string line;
    if (std::getline(file, line) && line.starts_with("cpu ")) {
        std::istringstream words(line.substr(4));
        constexpr int idle = 3, waiting = 4, last = 7;
        double ticks = 0;
        for (int k = 0; k <= last && words >> ticks; ++k)
            if (k != idle && k != waiting) work.of_cores += ticks;
        work.of_cores /= static_cast<double>(sysconf(_SC_CLK_TCK));
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime})
        work.own += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    return work;
}

const Work at_start = work_until_now();

long online_cores() { return sysconf(_SC_NPROCESSORS_ONLN); }

Global allowed_cores() {
    cpu_set_t bound;
    CPU_ZERO(&bound);
    return sched_getaffinity(0, sizeof bound, &bound) == 0 ? CPU_COUNT(&bound) : online_cores();
}

}  // namespace

double busy_elsewhere(const Comm& comm) {
    constexpr double enough = 0.03;  // seconds: the system counts in hundredths
    const Work now = work_until_now();
    const double own = sum_on_node(comm, now.own - at_start.own), seconds = to_seconds(now.at - at_start.at);
    if (seconds < enough || allowed_cores() < online_cores() || at_start.of_cores == 0) return 0;
    return std::clamp((now.of_cores - at_start.of_cores - own) / seconds, 0.0, static_cast<double>(online_cores()));
}

double waited_for_core() {
    std::ifstream file("/proc/self/schedstat");  // nanoseconds: on a core, and ready for one
    double running = 0, waiting = 0;
    constexpr double nanosecond = 1e-9;
    return file >> running >> waiting ? nanosecond * waiting : 0;
}

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
    constexpr double hardly = 0.3;  // of a core: so much is always going on
    const auto idle = static_cast<Global>(static_cast<double>(online_cores()) - busy_elsewhere(comm) + hardly);
    return static_cast<int>(
        all_min(comm, std::max<Global>(1, std::min<Global>(allowed_cores(), idle / ranks_on_node(comm)))));
}

int default_threads(const Comm& comm, double values) {
    // Starting the threads of a loop and waiting for them takes as long as some ten thousand values from memory.
    constexpr double worth_sharing = 100000;
    const bool few = all_max(comm, values) < worth_sharing;
    return few && !std::getenv("OMP_NUM_THREADS") ? 1 : default_threads(comm);
}

}  // namespace stretto
