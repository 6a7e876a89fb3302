// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The C interface is all that is used; the deprecated C++ one does not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace stretto {

class Comm;

/// Communication under way. Move-only; its buffers belong to it until `wait()`; its destructor waits, because
/// MPI forbids leaving a running collective behind.
class [[nodiscard]] Pending {
public:
    Pending() = default;
    Pending(Comm& comm, int ticket) : comm_(&comm), ticket_(ticket) {}
    Pending(Pending&& other) noexcept : comm_(std::exchange(other.comm_, nullptr)), ticket_(other.ticket_) {}
    Pending& operator=(Pending&& other) noexcept {
        std::swap(comm_, other.comm_);
        std::swap(ticket_, other.ticket_);
        return *this;
    }
    ~Pending() { wait(); }

    void wait();

private:
    Comm* comm_ = nullptr;
    int ticket_ = 0;
};

/// One message of an exchange between neighbours.
struct Message {
    int rank;
    std::span<std::byte> data;
};

/// The processes that solve together. What the methods need of it is here: sums in flight and exchanges
/// between neighbours. Collectives of the set-up (collective.hpp) use the MPI communicator underneath. Each
/// model of it (MPI, chaotic, counting, simulated) overrides these few members.
class Comm {
public:
    explicit Comm(MPI_Comm mpi) : mpi_(mpi) {
        MPI_Comm_rank(mpi, &rank_);
        MPI_Comm_size(mpi, &size_);
    }
    Comm(const Comm&) = delete;
    Comm& operator=(const Comm&) = delete;
    virtual ~Comm() = default;

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm mpi() const { return mpi_; }

    /// Starts total[i] = Σ over ranks of mine[i]. Every rank starts its sums in the same order.
    virtual Pending start_sum(std::span<const double> mine, std::span<double> total) = 0;

    /// Starts an exchange of messages between neighbours; both sides know the sizes.
    virtual Pending start_exchange(std::span<const Message> receives, std::span<const Message> sends) = 0;

    /// A kernel moved this many bytes through memory: nothing here, virtual time in a simulation.
    virtual void charge(double /*bytes*/) {}

private:
    friend class Pending;
    virtual void finish(int ticket) = 0;

    MPI_Comm mpi_;
    int rank_ = 0;
    int size_ = 1;
};

inline void Pending::wait() {
    if (comm_) std::exchange(comm_, nullptr)->finish(ticket_);
}

/// Communication through MPI, on the communicator as given (not duplicated; one tag).
class MpiComm final : public Comm {
public:
    explicit MpiComm(MPI_Comm mpi = MPI_COMM_WORLD);
    ~MpiComm() override;

    Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    Pending start_exchange(std::span<const Message> receives, std::span<const Message> sends) override;

private:
    void finish(int ticket) override;
    int take_ticket();

    std::vector<std::vector<MPI_Request>> requests_;  // by ticket; reused, so that iterations allocate nothing
    std::vector<int> free_tickets_;
};

}  // namespace stretto
