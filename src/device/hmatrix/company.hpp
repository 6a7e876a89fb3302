// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// The threads of a process that run one text together, each with a device.
class Company {
public:
    explicit Company(int size) : size_(size) {}

    int size() const { return size_; }
    /// Returns when all have come here; false where one has failed.
    bool meet() {
        std::unique_lock lock(mutex_);
        if (failure_) return false;
        const long turn = turn_;
        if (++arrived_ == size_) {
            arrived_ = 0;
            ++turn_;
            all_.notify_all();
            return true;
        }
        all_.wait(lock, [&] { return turn_ != turn || failure_; });
        return turn_ != turn;
    }
    /// Calls work(k) by every thread at once, the calling one as number 0, and throws what the first of them threw.
    template <class Work>
    void run(Work&& work) {
        arrived_ = 0;
        failure_ = nullptr;
        const auto guarded = [&](int k) {
            try {
                work(k);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                if (!failure_) failure_ = std::current_exception();
                all_.notify_all();
            }
        };
        std::vector<std::thread> others;
        for (int k = 1; k < size_; ++k) others.emplace_back(guarded, k);
        guarded(0);
        for (auto& thread : others) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    int size_, arrived_ = 0;
    long turn_ = 0;
    std::exception_ptr failure_;
    std::mutex mutex_;
    std::condition_variable all_;
};

/// What a thread of a company has for a communicator: it knows of no other process. Where rows are shared among the
/// threads, sums are over them, in the same order for each; otherwise every thread has all rows, and its sums are
/// whole.
class CompanyComm final : public Comm {
public:
    /// Sums of all threads, kept by turns until every one has read them.
    using Board = std::array<std::vector<std::vector<double>>, 2>;

    /// `shared`: of the rows, those from `first` on are this thread's.
    CompanyComm(Company& company, Board& board, int number, bool shared, Global first)
        : Comm(MPI_COMM_SELF),
          company_(company),
          board_(board),
          number_(static_cast<std::size_t>(number)),
          shared_(shared && company.size() > 1),
          first_(first) {}

    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        std::ranges::copy(mine, total.begin());
        gather(total, [](double a, double b) { return a + b; });
        return {};
    }
    void largest(std::span<double> values) override {
        gather(values, [](double a, double b) { return std::max(a, b); });
    }
    std::int64_t sum_before(std::int64_t) override { return shared_ ? first_ : 0; }
    /// After a failure threads may have come to different places.
    void restart() { turn_ = 0; }

private:
    template <class Combine>
    void gather(std::span<double> values, Combine&& combine) {
        if (!shared_) return;
        auto& all = board_[turn_ % board_.size()];
        ++turn_;
        all[number_].assign(values.begin(), values.end());
        if (!company_.meet()) throw std::runtime_error("another device of this rank failed");
        std::ranges::copy(all[0], values.begin());
        for (std::size_t k = 1; k < all.size(); ++k)
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = combine(values[i], all[k][i]);
    }
    Pending post_exchange(std::span<const Message>, std::span<const Message>) override {
        throw std::logic_error("devices of a process exchange nothing through messages");
    }
    std::optional<Clock::time_point> finish(int) override { return {}; }

    Company& company_;
    Board& board_;
    std::size_t number_, turn_ = 0;
    bool shared_;
    Global first_;
};

}  // namespace stretto
