// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Blocking collectives of the set-up. Nothing here is called inside an iteration.

#include <exception>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/comm/messages.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// A count (Global) or a double, reduced over all ranks, on every rank. One rank asks nobody.
template <class T>
T all_reduce(const Comm& comm, T mine, MPI_Op operation) {
    static_assert(std::is_same_v<T, Global> || std::is_same_v<T, double>);
    if (comm.size() == 1) return mine;
    T result{};
    MPI_Allreduce(&mine, &result, 1, std::is_same_v<T, double> ? MPI_DOUBLE : MPI_INT64_T, operation, comm.mpi());
    return result;
}
template <class T>
T all_sum(const Comm& comm, T mine) {
    return all_reduce(comm, mine, MPI_SUM);
}
template <class T>
T all_min(const Comm& comm, T mine) {
    return all_reduce(comm, mine, MPI_MIN);
}
template <class T>
T all_max(const Comm& comm, T mine) {
    return all_reduce(comm, mine, MPI_MAX);
}

/// Whether it holds on all ranks, or on any, on every rank.
inline bool all_of(const Comm& comm, bool mine) { return all_min(comm, Global{mine}) > 0; }
inline bool any_of(const Comm& comm, bool mine) { return all_max(comm, Global{mine}) > 0; }

/// One value of every rank, on every rank.
template <class T>
    requires std::is_trivially_copyable_v<T>
std::vector<T> all_gather(const Comm& comm, const T& mine) {
    if (comm.size() == 1) return {mine};
    std::vector<T> all(static_cast<std::size_t>(comm.size()));
    MPI_Allgather(&mine, sizeof(T), MPI_BYTE, all.data(), sizeof(T), MPI_BYTE, comm.mpi());
    return all;
}

inline std::string broadcast(const Comm& comm, std::string text, int root, std::size_t largest = largest_message) {
    if (comm.size() == 1) return text;
    auto length = static_cast<Global>(text.size());
    MPI_Bcast(&length, 1, MPI_INT64_T, root, comm.mpi());
    text.resize(static_cast<std::size_t>(length));
    each_message(
        std::span(text),
        [&](std::span<char> piece) {
            MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, comm.mpi());
        },
        largest);
    return text;
}

/// What to subtract from a time of this rank to have it on rank 0's clock. The ranks of a node share a clock; with
/// others the best of some round trips tells, to half of what it took.
Clock::duration clock_offset(const Comm& comm);

/// Collective. Sends to_rank[p] to rank p; returns what each rank sent here. No message has more than `largest` bytes.
template <class T>
    requires std::is_trivially_copyable_v<T>
std::vector<std::vector<T>> all_to_all(const Comm& comm, const std::vector<std::vector<T>>& to_rank,
                                       std::size_t largest = largest_message) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<Global> send_counts(ranks), receive_counts(ranks);
    for (std::size_t p = 0; p < ranks; ++p) send_counts[p] = static_cast<Global>(to_rank[p].size());
    MPI_Alltoall(send_counts.data(), 1, MPI_INT64_T, receive_counts.data(), 1, MPI_INT64_T, comm.mpi());

    constexpr int tag = 12;
    std::vector<std::vector<T>> from_rank(ranks);
    std::vector<MPI_Request> requests;
    for (std::size_t p = 0; p < ranks; ++p) {
        from_rank[p].resize(static_cast<std::size_t>(receive_counts[p]));
        each_message(
            std::as_writable_bytes(std::span(from_rank[p])),
            [&](std::span<std::byte> piece) {
                MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, static_cast<int>(p), tag, comm.mpi(),
                          &requests.emplace_back());
            },
            largest);
    }
    for (std::size_t p = 0; p < ranks; ++p)
        each_message(
            std::as_bytes(std::span(to_rank[p])),
            [&](std::span<const std::byte> piece) {
                MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, static_cast<int>(p), tag, comm.mpi(),
                          &requests.emplace_back());
            },
            largest);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return from_rank;
}

/// Collective. Runs `work` on this rank; if it threw on any rank, every rank throws InputError with the
/// message of the lowest such rank. So bad input found on one rank ends all of them alike, and none hangs.
template <class Work>
void agree(const Comm& comm, Work&& work) {
    std::string message;
    bool failed = false;
    try {
        work();
    } catch (const std::bad_alloc&) {
        failed = true;
        message = "rank " + std::to_string(comm.rank()) + " is out of memory";
    } catch (const std::exception& error) {
        failed = true;
        message = error.what();
    }
    const auto first = all_min(comm, Global{failed ? comm.rank() : comm.size()});
    if (first < comm.size()) throw InputError(broadcast(comm, std::move(message), static_cast<int>(first)));
}

}  // namespace stretto
