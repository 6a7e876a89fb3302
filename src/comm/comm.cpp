// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/comm.hpp"

#include <sys/prctl.h>

#include <cstdlib>
#include <string>

#include "stretto/core/error.hpp"

namespace stretto {
namespace {

constexpr int exchange_tag = 11;
constexpr std::size_t tickets_at_first = 16;  // so that no iteration allocates one: more than any method has in flight
// The progress thread sleeps in between: one that spins halves the speed of whoever computes on its core.
constexpr auto thread_pause = std::chrono::microseconds(20);
constexpr Clock::duration shortest_interval = std::chrono::microseconds(1);

}  // namespace

std::string_view name(ProgressMode progress) {
    switch (progress) {
        case ProgressMode::none: return "none";
        case ProgressMode::poll: return "poll";
        case ProgressMode::thread: return "thread";
        case ProgressMode::library: return "library";
    }
    return "unknown";
}

LibraryProgress library_progress() {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    const std::string_view library(version, static_cast<std::size_t>(length));
    const auto set = [](const char* variable) {
        const char* const value = std::getenv(variable);
        return value && *value != '\0' && std::string_view(value) != "0";
    };
    if (library.find("Intel") != library.npos) return {set("I_MPI_ASYNC_PROGRESS"), "I_MPI_ASYNC_PROGRESS=1"};
    if (library.find("MPICH") != library.npos)
        return {set("MPICH_ASYNC_PROGRESS") || set("MPIR_CVAR_ASYNC_PROGRESS"), "MPICH_ASYNC_PROGRESS=1"};
    return {false, ""};
}

MpiComm::MpiComm(MPI_Comm mpi) : Comm(mpi), flying_(tickets_at_first) {
    for (auto& each : flying_) {
        each.requests.reserve(1);
        free_tickets_.push_back(static_cast<int>(free_tickets_.size()));
    }
    sums_.reserve(tickets_at_first);
}
MpiComm::~MpiComm() { stop_thread(); }

void MpiComm::set_progress(ProgressMode progress) {
    if (progress == ProgressMode::thread) {
        int provided = MPI_THREAD_SINGLE;
        MPI_Query_thread(&provided);
        if (provided < MPI_THREAD_MULTIPLE)
            throw InputError("a progress thread needs MPI_THREAD_MULTIPLE, which this MPI was not started with");
    }
    if (progress == ProgressMode::library)
        if (const auto [on, what] = library_progress(); !on)
            throw InputError(what.empty()
                                 ? std::string("this MPI library has no asynchronous progress that is known here")
                                 : "asynchronous progress of the MPI library is off; set " + std::string(what));
    stop_thread();
    progress_ = progress;
    if (progress == ProgressMode::thread) thread_ = std::thread([this] { run_thread(); });
}

int MpiComm::take_ticket() {
    if (free_tickets_.empty()) {
        free_tickets_.push_back(static_cast<int>(flying_.size()));
        flying_.emplace_back();
    }
    const int ticket = free_tickets_.back();
    free_tickets_.pop_back();
    flying_[ticket].seen.reset();
    return ticket;
}

Pending MpiComm::start_sum(std::span<const double> mine, std::span<double> total) {
    if (size() == 1) {  // a collective of MPI takes a microsecond here, too
        std::ranges::copy(mine, total.begin());
        return {};
    }
    std::unique_lock lock(mutex_, std::defer_lock);
    if (progress_ == ProgressMode::thread) lock.lock();
    const int ticket = take_ticket();
    auto& [requests, start, seen] = flying_[ticket];
    requests.resize(1);
    MPI_Iallreduce(mine.data(), total.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, mpi(),
                   requests.data());
    if (progress_ == ProgressMode::poll) start = Clock::now();
    sums_.push_back(ticket);
    if (lock) {
        lock.unlock();
        wake_.notify_one();
    }
    return {*this, ticket};
}

Pending MpiComm::post_exchange(std::span<const Message> receives, std::span<const Message> sends) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (progress_ == ProgressMode::thread) lock.lock();
    const int ticket = take_ticket();
    auto& [requests, start, seen] = flying_[ticket];
    requests.resize(receives.size() + sends.size());
    auto request = requests.begin();
    for (const auto& [rank, data] : receives)
        MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, rank, exchange_tag, mpi(), &*request++);
    for (const auto& [rank, data] : sends)
        MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, rank, exchange_tag, mpi(), &*request++);
    return {*this, ticket};
}

std::optional<Clock::time_point> MpiComm::finish(int ticket) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (progress_ == ProgressMode::thread) lock.lock();
    // From here on nobody else tests it.
    const bool sum = std::erase(sums_, ticket) > 0;
    auto& [requests, start, seen] = flying_[ticket];
    if (lock) lock.unlock();

    std::optional<Clock::time_point> ready = seen;
    if (sum && progress_ == ProgressMode::poll) {
        region_ = (3 * region_ + (Clock::now() - start)) / 4;
        poll_interval_ = std::max(region_ / polls_, shortest_interval);
    }
    if (!seen) {
        int complete = 0;
        if (sum) MPI_Test(requests.data(), &complete, MPI_STATUS_IGNORE);
        if (!complete) {
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
            ready = Clock::now();
        }
    }
    if (progress_ == ProgressMode::thread) lock.lock();
    free_tickets_.push_back(ticket);
    return ready;
}

bool MpiComm::is_complete(int ticket) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (progress_ == ProgressMode::thread) lock.lock();
    auto& [requests, start, seen] = flying_[ticket];
    if (seen) return true;
    int complete = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &complete, MPI_STATUSES_IGNORE);
    if (complete) seen = Clock::now();
    return complete != 0;
}

/// Tests the sums in flight; whether some are not complete yet.
bool MpiComm::test_sums() {
    bool left = false;
    for (const int ticket : sums_) {
        auto& [requests, start, seen] = flying_[ticket];
        if (seen) continue;
        int complete = 0;
        MPI_Test(requests.data(), &complete, MPI_STATUS_IGNORE);
        if (complete)
            seen = Clock::now();
        else
            left = true;
    }
    return left;
}

void MpiComm::progress() {
    if (progress_ == ProgressMode::thread || sums_.empty()) return;
    if (progress_ == ProgressMode::poll) {
        const auto now = Clock::now();
        if (now - last_poll_ < poll_interval_) return;
        last_poll_ = now;
    }
    (void)test_sums();
}

void MpiComm::run_thread() {
    prctl(PR_SET_TIMERSLACK, 1000);  // of this thread, in nanoseconds; by default a sleep lasts 50 µs longer
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (!test_sums()) {
            wake_.wait(lock);
            continue;
        }
        lock.unlock();
        std::this_thread::sleep_for(thread_pause);
        lock.lock();
    }
}

void MpiComm::stop_thread() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    stopping_ = false;
}

}  // namespace stretto
