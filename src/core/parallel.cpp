// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/parallel.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace stretto::team {
namespace {

using Work = void (*)(void*, int, int);

/// Until value is no longer `old`: some 30 µs awake, as long as a wake-up may take, then asleep.
template <class Integer>
void await_change(const std::atomic<Integer>& value, Integer old) {
    for (int turn = 0; turn < 2000; ++turn) {
        if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

class Team {
public:
    Team() = default;
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        threads_ = 0;
        announce();
        for (auto& member : members_) member.join();
    }

    void run(int threads, Work work, void* context) {
        work_ = work;
        context_ = context;
        threads_ = threads;
        exception_ = nullptr;
        while (std::ssize(members_) + 1 < std::min(threads, most_))
            members_.emplace_back(
                [this, t = static_cast<int>(members_.size()) + 1, seen = round_.load()] { member(t, seen); });
        const int others = static_cast<int>(members_.size());
        running_.store(others, std::memory_order_relaxed);
        announce();
        call(0);
        for (int left = running_.load(std::memory_order_acquire); left > 0;
             left = running_.load(std::memory_order_acquire))
            await_change(running_, left);
        if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
    }

    void limit(int most) { most_ = most; }

private:
    void announce() {
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
    }
    void member(int t, std::uint32_t seen) {
        limit_threads(1);  // BLAS called from here
        for (;;) {
            await_change(round_, seen);
            ++seen;
            if (threads_ == 0) return;
            call(t);
            if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
        }
    }
    void call(int member) {
        if (member >= most_) return;
        for (int t = member; t < threads_; t += std::min(most_, threads_)) try {
                work_(context_, t, threads_);
            } catch (...) {
                const std::lock_guard lock(exception_mutex_);
                if (!exception_) exception_ = std::current_exception();
            }
    }

    std::vector<std::thread> members_;  // of t = 1, 2, …
    std::atomic<std::uint32_t> round_{0};
    std::atomic<int> running_{0};
    // Written between rounds only, by the thread that calls run.
    Work work_ = nullptr;
    void* context_ = nullptr;
    int threads_ = 0, most_ = std::numeric_limits<int>::max();
    std::exception_ptr exception_;
    std::mutex exception_mutex_;
};

std::atomic_flag busy;

/// The team, in storage of its own: a process that was forked has none of its parent's threads, and makes another in
/// the place of that one, which it leaves as it is.
class Place {
public:
    Place() {
        make();
        pthread_atfork(nullptr, nullptr, [] {
            place().make();
            busy.clear();
        });
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { team().~Team(); }

    Team& team() { return *std::launder(reinterpret_cast<Team*>(storage_)); }
    static Place& place() {
        static Place only;
        return only;
    }

private:
    void make() { new (storage_) Team; }

    alignas(Team) std::byte storage_[sizeof(Team)];
};

}  // namespace

void run(int threads, Work work, void* context) {
    auto& team = Place::place().team();
    if (busy.test_and_set(std::memory_order_acquire)) {
        std::exception_ptr first;
        for (int t = 0; t < threads; ++t) try {
                work(context, t, threads);
            } catch (...) {
                if (!first) first = std::current_exception();
            }
        if (first) std::rethrow_exception(first);
        return;
    }
    struct Leave {
        ~Leave() { busy.clear(std::memory_order_release); }
    } leave;
    team.run(threads, work, context);
}

void limit(int most) { Place::place().team().limit(most); }

}  // namespace stretto::team
