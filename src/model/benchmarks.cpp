// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/benchmarks.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

double seconds_since(Clock::time_point start) { return to_seconds(Clock::now() - start); }

double slowest(MPI_Comm comm, double mine) {
    double result = mine;
    MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE, MPI_MAX, comm);
    return result;
}

/// What `once` returns, of the slowest rank; of the repetitions the least, which a busy machine disturbs least. All
/// ranks begin each together.
template <class Once>
double repeat(MPI_Comm comm, const Effort& effort, Once&& once) {
    const auto start = Clock::now();
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < effort.repetitions; ++k) {
        MPI_Barrier(comm);
        const std::array<double, 2> mine{once(), seconds_since(start)};
        std::array<double, 2> all{};
        MPI_Allreduce(mine.data(), all.data(), 2, MPI_DOUBLE, MPI_MAX, comm);
        best = std::min(best, all[0]);
        if (all[1] > effort.seconds) break;
    }
    return best;
}

}  // namespace

Work::Work() : x_(256, 1.0), y_(256, 0.0) {
    constexpr std::size_t count = 1000;
    steps(count);
    std::vector<double> times;
    for (int k = 0; k < 5; ++k) {
        const auto start = Clock::now();
        steps(count);
        times.push_back(seconds_since(start));
    }
    step_seconds_ = std::ranges::min(times) / count;
}

void Work::steps(std::size_t count) {
    double* const y = y_.data();
    const double* const x = x_.data();
    for (std::size_t k = 0; k < count; ++k) {
#pragma omp simd
        for (std::size_t i = 0; i < 256; ++i) y[i] = 0.5 * y[i] + x[i];
        asm volatile("" : : "r"(y) : "memory");  // or the compiler would do all steps at once
    }
}

void Work::operator()(double seconds, Comm* comm) {
    const auto count = static_cast<std::size_t>(seconds / step_seconds_) + 1;
    const auto microsecond = static_cast<std::size_t>(1e-6 / step_seconds_) + 1;
    Pieces(comm, 0, microsecond)(0, count, [&](std::size_t begin, std::size_t end) { steps(end - begin); });
}

std::vector<ProgressMode> offered_modes() {
    std::vector<ProgressMode> modes{ProgressMode::none, ProgressMode::poll};
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided >= MPI_THREAD_MULTIPLE) modes.push_back(ProgressMode::thread);
    if (library_progress().on) modes.push_back(ProgressMode::library);
    return modes;
}

Overlap measure_overlap(Comm& comm, MpiComm& mpi, std::size_t values, const std::vector<ProgressMode>& modes,
                        const Effort& effort, Work& work) {
    const ProgressMode before = mpi.progress_mode();
    std::vector<double> mine(values, 1.0), total(values);
    mpi.set_progress(ProgressMode::none);
    const auto blocking = [&] {
        const auto start = Clock::now();
        if (&comm == &mpi)
            MPI_Allreduce(mine.data(), total.data(), static_cast<int>(values), MPI_DOUBLE, MPI_SUM, mpi.mpi());
        else
            comm.start_sum(mine, total).wait();
        return seconds_since(start);
    };
    Overlap result{values * sizeof(double), repeat(comm.mpi(), effort, blocking), 0, {}};
    const double target = std::max(result.blocking, 10 * work.step_seconds());
    result.work = repeat(comm.mpi(), effort, [&] {
        const auto start = Clock::now();
        work(target);
        return seconds_since(start);
    });
    for (const auto mode : modes) {
        mpi.set_progress(mode);
        double in_comm = std::numeric_limits<double>::infinity();
        const double all = repeat(comm.mpi(), effort, [&] {
            const auto start = Clock::now();
            auto pending = comm.start_sum(mine, total);
            const auto began = Clock::now();
            work(target, &comm);
            const auto done = Clock::now();
            pending.wait();
            const auto end = Clock::now();
            in_comm = std::min(in_comm, to_seconds((began - start) + (end - done)));
            return to_seconds(end - start);
        });
        result.modes.push_back({mode, all, all_max(comm, in_comm), (all - result.work) / result.blocking});
    }
    mpi.set_progress(before);
    return result;
}

double Concurrency::overlap() const { return (pure + cpu - together) / std::min(pure, cpu); }

Concurrency measure_concurrency(MPI_Comm comm, Collective collective, std::size_t bytes, int tests,
                                const Effort& effort, Work& work) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    const int count = static_cast<int>(bytes / sizeof(double));
    const std::size_t values = bytes / sizeof(double);
    std::vector<double> mine(values, 1.0), all(values * static_cast<std::size_t>(ranks));
    const auto start_one = [&](MPI_Request& request) {
        if (collective == Collective::all_reduce)
            MPI_Iallreduce(mine.data(), all.data(), count, MPI_DOUBLE, MPI_SUM, comm, &request);
        else
            MPI_Iallgather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, comm, &request);
    };
    Concurrency result{bytes, 0, 0, 0};
    result.pure = repeat(comm, effort, [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        const auto start = Clock::now();
        start_one(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return seconds_since(start);
    });
    double computing = std::numeric_limits<double>::infinity();
    result.together = repeat(comm, effort, [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        const auto start = Clock::now();
        start_one(request);
        double cpu = 0;
        for (int part = 0; part <= tests; ++part) {
            const auto began = Clock::now();
            work(result.pure / (tests + 1));
            cpu += seconds_since(began);
            int complete = 0;
            if (part < tests) MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
        }
        computing = std::min(computing, cpu);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return seconds_since(start);
    });
    result.cpu = slowest(comm, computing);
    return result;
}

double measure_pipelining(MPI_Comm comm, std::size_t values, int depth, const Effort& effort) {
    const auto deep = static_cast<std::size_t>(depth);
    std::vector<double> mine(values, 1.0), total(values * deep);
    std::vector<MPI_Request> requests(deep, MPI_REQUEST_NULL);
    const auto several = [&](std::size_t in_flight) {
        return repeat(comm, effort, [&] {
            const auto start = Clock::now();
            for (std::size_t k = 0; k < in_flight; ++k)
                MPI_Iallreduce(mine.data(), &total[k * values], static_cast<int>(values), MPI_DOUBLE, MPI_SUM, comm,
                               &requests[k]);
            MPI_Waitall(static_cast<int>(in_flight), requests.data(), MPI_STATUSES_IGNORE);
            return seconds_since(start);
        });
    };
    const double one = several(1);
    return several(deep) / one;
}

CommTime measure_exchange(MPI_Comm comm, int neighbours, std::size_t bytes, const Effort& effort) {
    constexpr int tag = 15;
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const auto count = static_cast<std::size_t>(neighbours);
    std::vector<char> out(bytes), in(bytes * count);
    std::vector<MPI_Request> requests(2 * count, MPI_REQUEST_NULL);
    // The k-th pair of neighbours are k ranks before and after; where there are too few ranks it begins again with one.
    const auto neighbour = [&](int k, int direction) {
        const int distance = ranks > 1 ? 1 + (k / 2) % (ranks - 1) : 0;
        return (rank + (k % 2 == 0 ? direction : -direction) * distance + ranks) % ranks;
    };
    const double seconds = repeat(comm, effort, [&] {
        const auto start = Clock::now();
        for (int k = 0; k < neighbours; ++k)
            MPI_Irecv(&in[static_cast<std::size_t>(k) * bytes], static_cast<int>(bytes), MPI_BYTE, neighbour(k, -1),
                      tag, comm, &requests[static_cast<std::size_t>(k)]);
        for (int k = 0; k < neighbours; ++k)
            MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, neighbour(k, 1), tag, comm,
                      &requests[count + static_cast<std::size_t>(k)]);
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        return seconds_since(start);
    });
    return {static_cast<double>(bytes), static_cast<double>(ranks), seconds};
}

CommTime measure_all_reduce(MPI_Comm comm, std::size_t values, const Effort& effort) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::vector<double> mine(values, 1.0), total(values);
    const double seconds = repeat(comm, effort, [&] {
        const auto start = Clock::now();
        MPI_Allreduce(mine.data(), total.data(), static_cast<int>(values), MPI_DOUBLE, MPI_SUM, comm);
        return seconds_since(start);
    });
    return {8.0 * static_cast<double>(values), static_cast<double>(ranks), seconds};
}

}  // namespace stretto
