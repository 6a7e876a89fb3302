// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The C interface is all that is used; the deprecated C++ one does not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/measure/ledger.hpp"

namespace stretto {

class Comm;

/// Communication under way. Move-only; its buffers belong to it until `wait()`; its destructor waits, because
/// MPI forbids leaving a running collective behind.
class [[nodiscard]] Pending {
public:
    Pending() = default;
    Pending(Comm& comm, int ticket) : comm_(&comm), ticket_(ticket) {}
    Pending(Pending&& other) noexcept
        : comm_(std::exchange(other.comm_, nullptr)), ticket_(other.ticket_), exchange_since_(other.exchange_since_) {}
    Pending& operator=(Pending&& other) noexcept {
        std::swap(comm_, other.comm_);
        std::swap(ticket_, other.ticket_);
        std::swap(exchange_since_, other.exchange_since_);
        return *this;
    }
    ~Pending() { wait(); }

    /// Returns when it was complete; nothing where it was so before the call and nobody saw when.
    std::optional<Clock::time_point> wait();
    /// Whether wait() would return at once.
    bool complete();

private:
    friend class Comm;

    Comm* comm_ = nullptr;
    int ticket_ = 0;
    std::optional<Clock::time_point> exchange_since_;  // of an exchange between neighbours, when it was posted
};

/// One message of an exchange between neighbours.
struct Message {
    int rank;
    std::span<std::byte> data;
};

/// Sums that this rank cannot start yet: its part is on its way, from a device.
class LateSums {
public:
    virtual ~LateSums() = default;
    /// Waits for what is missing and starts them, in the order in which they were asked for.
    virtual void start() = 0;
};

/// How sums in flight advance while their rank computes.
enum class ProgressMode {
    none,     ///< only as far as the MPI library, or the network, does it unasked
    poll,     ///< long kernels test them, about ten times from start to wait
    thread,   ///< a thread of ours tests them; takes MPI_THREAD_MULTIPLE
    library,  ///< the MPI library was told to (MPICH_ASYNC_PROGRESS=1)
};
std::string_view name(ProgressMode progress);

/// The processes that solve together. What the methods need of it is here: sums in flight and exchanges
/// between neighbours. Collectives of the set-up (collective.hpp) use the MPI communicator underneath. Each
/// model of it (MPI, latency, chaotic, counting, simulated) overrides these few members.
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

    /// The same, and waits. For an operator in the midst of its work: booked as a reduction that nothing hides.
    void sum(std::span<const double> mine, std::span<double> total) {
        const Ledger::Watch watch(ledger_, Kernel::reductions);
        const auto start = Clock::now();
        start_sum(mine, total).wait();
        if (ledger_) ledger_->waited(Clock::now() - start);
    }

    /// Such sums are started at the next start_late_sums(), which every rank calls at the same places.
    void start_later(LateSums& sums) {
        if (std::ranges::find(late_, &sums) == late_.end()) late_.push_back(&sums);
    }
    /// For whoever has given a device its work and is about to wait for something.
    void start_late_sums() {
        while (!late_.empty()) {
            LateSums& sums = *late_.front();
            late_.erase(late_.begin());
            sums.start();
        }
    }

    /// Starts an exchange of messages between neighbours; both sides know the sizes. Its time is booked as `halo`.
    Pending start_exchange(std::span<const Message> receives, std::span<const Message> sends) {
        const Ledger::Watch watch(ledger_, Kernel::halo);
        const auto start = Clock::now();
        auto pending = post_exchange(receives, sends);
        pending.exchange_since_ = start;
        return pending;
    }

    /// Collective. The sum of `mine` over the ranks before this one.
    virtual std::int64_t sum_before(std::int64_t mine) {
        std::int64_t before = 0;
        MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, mpi_);
        return rank_ == 0 ? 0 : before;
    }

    /// Collective. Each value becomes the largest of all ranks.
    virtual void largest(std::span<double> values) {
        MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, mpi_);
    }

    /// A kernel moved this many bytes through memory: nothing here, virtual time in a simulation.
    virtual void charge(double /*bytes*/) {}

    /// Whether sums over rows have the same bits on any number of threads and ranks (ExactSum), and matrices and
    /// preconditioners are such that solves have. What is made on the communicator is to be made anew when it changes.
    virtual bool reproducible() const { return false; }

    virtual ProgressMode progress_mode() const { return ProgressMode::none; }
    /// Whether sums in flight advance while this rank computes.
    virtual bool progresses() const { return progress_mode() != ProgressMode::none; }
    /// Lets them advance now.
    virtual void progress() {}

    /// Books the time of exchanges in the ledger of a solve until the end of the scope.
    class [[nodiscard]] Recording {
    public:
        Recording(Comm& comm, Ledger& ledger) : comm_(comm), before_(std::exchange(comm.ledger_, &ledger)) {}
        Recording(const Recording&) = delete;
        ~Recording() { comm_.ledger_ = before_; }

    private:
        Comm& comm_;
        Ledger* before_;
    };
    Recording record_in(Ledger& ledger) { return {*this, ledger}; }

private:
    friend class Pending;
    virtual Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) = 0;
    /// As Pending::wait().
    virtual std::optional<Clock::time_point> finish(int ticket) = 0;
    /// As Pending::complete(); where a communicator cannot tell, wait() is how to know.
    virtual bool is_complete(int /*ticket*/) { return true; }

    MPI_Comm mpi_;
    int rank_ = 0;
    int size_ = 1;
    Ledger* ledger_ = nullptr;
    std::vector<LateSums*> late_;  // oldest first
};

inline std::optional<Clock::time_point> Pending::wait() {
    if (!comm_) return {};
    Comm& comm = *std::exchange(comm_, nullptr);
    if (!exchange_since_) return comm.finish(ticket_);
    const Ledger::Watch watch(comm.ledger_, Kernel::halo);
    const auto ready = comm.finish(ticket_);
    if (comm.ledger_ && comm.ledger_->trace())
        comm.ledger_->trace()->add_exchange(*exchange_since_, ready.value_or(Clock::now()));
    return ready;
}

inline bool Pending::complete() { return !comm_ || comm_->is_complete(ticket_); }

/// Cuts the loops of a long kernel into pieces, between which what is in flight is tested. That is where the
/// communicator wants it, on the thread that communicates (number 0); elsewhere nothing is cut.
class Pieces {
public:
    /// A piece should take about a microsecond: whether a test is due, the communicator decides.
    Pieces(Comm* comm, int thread, std::size_t piece)
        : comm_(comm && thread == 0 && comm->progress_mode() == ProgressMode::poll ? comm : nullptr), piece_(piece) {}

    /// Calls work(begin, end) for the pieces of begin … end in order.
    template <class Work>
    void operator()(std::size_t begin, std::size_t end, Work&& work) {
        if (!comm_) return work(begin, end);
        while (begin < end) {
            const std::size_t next = std::min(end, begin + piece_ - done_);
            work(begin, next);
            done_ += next - begin;
            begin = next;
            if (done_ < piece_) return;
            done_ = 0;
            comm_->progress();
        }
    }

private:
    Comm* comm_;
    std::size_t piece_, done_ = 0;
};

/// Communication through MPI, on the communicator as given (not duplicated; one tag).
class MpiComm final : public Comm {
public:
    explicit MpiComm(MPI_Comm mpi = MPI_COMM_WORLD);
    ~MpiComm() override;

    /// From now on, with nothing in flight. Throws InputError where the MPI library does not offer it.
    void set_progress(ProgressMode progress);
    /// From now on, with nothing made on it.
    void set_reproducible(bool reproducible) { reproducible_ = reproducible; }
    bool reproducible() const override { return reproducible_; }
    /// For `poll`: how often a sum in flight is tested from its start to its wait. About ten times is best for few
    /// values (Krasnopolsky 2019, Fig. C.15).
    void set_polls(int polls) { polls_ = polls; }
    static constexpr int usual_polls = 10;

    Pending start_sum(std::span<const double> mine, std::span<double> total) override;
    ProgressMode progress_mode() const override { return progress_; }
    void progress() override;

private:
    struct Flying {
        std::vector<MPI_Request> requests;  // reused, so that iterations allocate nothing
        Clock::time_point start;
        std::optional<Clock::time_point> seen;  // complete, by a poll or by the thread
    };

    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override;
    std::optional<Clock::time_point> finish(int ticket) override;
    bool is_complete(int ticket) override;
    int take_ticket();
    bool test_sums();
    void run_thread();
    void stop_thread();

    std::vector<Flying> flying_;  // by ticket
    std::vector<int> free_tickets_;
    ProgressMode progress_ = ProgressMode::none;
    bool reproducible_ = false;
    std::vector<int> sums_;  // tickets to be tested, oldest first

    int polls_ = usual_polls;
    Clock::duration poll_interval_{}, region_{};  // region: from start to wait, lately
    Clock::time_point last_poll_;

    std::thread thread_;
    std::mutex mutex_;  // of sums_ and what they name, while there is a thread
    std::condition_variable wake_;
    bool stopping_ = false;
};

/// Whether the MPI library was told to advance by itself, and which: for people.
struct LibraryProgress {
    bool on;
    std::string_view what;
};
LibraryProgress library_progress();

/// Communication that adds something to another's.
class WrappedComm : public Comm {
public:
    explicit WrappedComm(Comm& inner) : Comm(inner.mpi()), inner_(inner) {}

    void charge(double bytes) override { inner_.charge(bytes); }
    bool reproducible() const override { return inner_.reproducible(); }
    ProgressMode progress_mode() const override { return inner_.progress_mode(); }
    bool progresses() const override { return inner_.progresses(); }
    void progress() override { inner_.progress(); }

protected:
    Comm& inner_;
};

}  // namespace stretto
