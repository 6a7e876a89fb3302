// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/comm.hpp"

namespace stretto {
namespace {
constexpr int exchange_tag = 11;
constexpr std::size_t tickets_at_first = 16;  // so that no iteration allocates one: more than any method has in flight
}  // namespace

MpiComm::MpiComm(MPI_Comm mpi) : Comm(mpi), requests_(tickets_at_first) {
    for (auto& requests : requests_) {
        requests.reserve(1);
        free_tickets_.push_back(static_cast<int>(free_tickets_.size()));
    }
}
MpiComm::~MpiComm() = default;

int MpiComm::take_ticket() {
    if (free_tickets_.empty()) {
        free_tickets_.push_back(static_cast<int>(requests_.size()));
        requests_.emplace_back();
    }
    const int ticket = free_tickets_.back();
    free_tickets_.pop_back();
    return ticket;
}

Pending MpiComm::start_sum(std::span<const double> mine, std::span<double> total) {
    const int ticket = take_ticket();
    auto& requests = requests_[ticket];
    requests.resize(1);
    MPI_Iallreduce(mine.data(), total.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, mpi(),
                   requests.data());
    return {*this, ticket};
}

Pending MpiComm::start_exchange(std::span<const Message> receives, std::span<const Message> sends) {
    const int ticket = take_ticket();
    auto& requests = requests_[ticket];
    requests.resize(receives.size() + sends.size());
    auto request = requests.begin();
    for (const auto& [rank, data] : receives)
        MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, rank, exchange_tag, mpi(), &*request++);
    for (const auto& [rank, data] : sends)
        MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, rank, exchange_tag, mpi(), &*request++);
    return {*this, ticket};
}

void MpiComm::finish(int ticket) {
    auto& requests = requests_[ticket];
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    free_tickets_.push_back(ticket);
}

}  // namespace stretto
