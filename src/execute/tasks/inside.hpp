// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stretto/execute/tasks/graph.hpp"

namespace stretto {

/// Where the text waits until somebody has taken the key and dropped it, and runs tasks meanwhile.
class Gate {
public:
    using Key = tbb::task_handle;
    void shut() {
        key_ = group_.defer([] {});
    }
    Key key() { return std::move(key_); }
    void wait() { group_.wait(); }

private:
    tbb::task_group group_;
    Key key_;
};

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/// A task in one use after the other.
class Task {
public:
    std::mutex mutex;            // of the next four
    std::uint64_t number = 0;    // another one in each use
    bool done = true;            // or not in use
    std::vector<Task*> next;     // that wait for it
    Gate* gate = nullptr;        // that it opens
    std::uint64_t told = 0;      // the number of the last that was made to wait for it
    Task* below = nullptr;       // of those that are in no use
    std::atomic<int> missing{};  // tasks that it waits for, and its submission

    TaskGraph::Kind kind{};
    TaskGraph::Work work{};
    TaskGraph::Start start = nullptr;
    bool ready = false;  // a communication that may be started
    Pending pending;
    TaskFlight* flight = nullptr;  // where it is told when it was
    Clock::time_point started;
};

class TaskGraph::Tiles {
public:
    struct Tile {
        TaskRef writer;
        std::vector<TaskRef> readers;  // since then
    };
    std::vector<Tile> all;
};

/// Tasks that may run, by the thread whose tiles they are on.
class ReadyTasks {
public:
    explicit ReadyTasks(int threads) : of_(static_cast<std::size_t>(threads)) {}
    void put(Task& task, int thread) {
        const std::lock_guard lock(mutex_);
        add(task, static_cast<std::size_t>(thread));
    }
    /// One of those that were put here, of which as many are taken: of this thread's or, where it has none, of the
    /// next's, the oldest that a sum waits for before the others. (An arena of one thread may have a second place.)
    Task& take(int thread) {
        const std::lock_guard lock(mutex_);
        auto from = static_cast<std::size_t>(thread) % of_.size();
        while (of_[from].to_sum.empty() && of_[from].others.empty()) from = (from + 1) % of_.size();
        return pop(of_[from].to_sum.empty() ? of_[from].others : of_[from].to_sum);
    }
    /// What is more urgent than this task of a thread, which is put here in its place; else itself.
    Task& rather(Task& task, int thread) {
        if (task.kind == TaskGraph::to_sum || urgent_.load(std::memory_order_relaxed) == 0) return task;
        const std::lock_guard lock(mutex_);
        auto& mine = of_[static_cast<std::size_t>(thread)];
        if (mine.to_sum.empty()) return task;
        Task& first = pop(mine.to_sum);
        add(task, static_cast<std::size_t>(thread));
        return first;
    }

private:
    struct OfThread {
        std::deque<Task*> to_sum, others;
    };
    void add(Task& task, std::size_t thread) {
        if (task.kind == TaskGraph::to_sum) urgent_.fetch_add(1, std::memory_order_relaxed);
        (task.kind == TaskGraph::to_sum ? of_[thread].to_sum : of_[thread].others).push_back(&task);
    }
    Task& pop(std::deque<Task*>& tasks) {
        Task& task = *tasks.front();
        tasks.pop_front();
        if (task.kind == TaskGraph::to_sum) urgent_.fetch_sub(1, std::memory_order_relaxed);
        return task;
    }

    std::mutex mutex_;
    std::vector<OfThread> of_;
    std::atomic<int> urgent_{0};
};

struct TaskGraph::Inside {
    Inside(int threads, int tile_count, TaskCommunication how)
        : alone(threads == 1),
          communicates_alone(how == TaskCommunication::main),
          computing(alone ? 1 : std::max(1, threads - communicates_alone)),
          tiles(tile_count),
          ready(computing) {
        if (alone) return;
        most.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
        arena.initialize(computing, communicates_alone ? 0 : 1);
        spans.resize(static_cast<std::size_t>(threads) + 2);
    }

    // ---- tasks ----
    Task& take() {
        if (!free) free = returned.exchange(nullptr, std::memory_order_acquire);
        if (!free) {
            free = &pool.emplace_back();
            free->next.reserve(static_cast<std::size_t>(tiles));
        }
        Task* const task = std::exchange(free, free->below);
        const std::lock_guard lock(task->mutex);
        task->number = ++taken;
        task->done = false;
        task->told = 0;  // a task that is still being made may have waited for the use before
        task->ready = false;
        task->missing.store(1, std::memory_order_relaxed);
        return *task;
    }
    static bool is_done(TaskRef ref) {
        if (!ref.task) return true;
        const std::lock_guard lock(ref.task->mutex);
        return ref.task->number != ref.number || ref.task->done;
    }
    static void add_edge(TaskRef from, Task& to) {
        if (!from.task || from.task == &to || from.task->number != from.number) return;  // which this thread writes
        if (std::exchange(from.task->told, to.number) == to.number) return;
        const std::lock_guard lock(from.task->mutex);
        if (from.task->done) return;
        to.missing.fetch_add(1, std::memory_order_relaxed);
        from.task->next.push_back(&to);
    }

    // ---- running ----
    /// Whose tiles it is on.
    int thread_of(const Task& task) const { return task.work.part % tiles * computing / tiles; }
    void hand_on(Task& task) {
        if (alone) return backlog.push_back(&task);
        ready.put(task, thread_of(task));
        enqueue([this] { run(&ready.take(tbb::this_task_arena::current_thread_index())); });
    }
    template <class What>
    void enqueue(What what) {
        handed.fetch_add(1, std::memory_order_relaxed);
        arena.enqueue([this, what] {
            what();
            handed.fetch_sub(1, std::memory_order_release);  // the last look at this graph
        });
    }
    /// A task, and what it leads to on the same tile.
    void run(Task* task) {
        while (task) {
            call(*task);
            task = complete(*task);
            if (task && !alone) task = &ready.rather(*task, thread_of(*task));
            if (!communicates_alone && flying_count.load(std::memory_order_relaxed) > 0) serve();
        }
    }
    void run_backlog() {
        while (!backlog.empty()) {
            Task* const task = backlog.front();
            backlog.pop_front();
            run(task);
        }
    }
    void call(Task& task) {
        const bool recorded = recording.load(std::memory_order_relaxed);
        if (!recorded && flying_count.load(std::memory_order_relaxed) == 0)
            return task.work.call(task.work.context, task.work.part);
        const auto begin = Clock::now();
        task.work.call(task.work.context, task.work.part);
        const auto end = Clock::now();
        working.fetch_add((end - begin).count(), std::memory_order_relaxed);
        if (!recorded) return;
        const bool here = std::this_thread::get_id() == text;
        const int place = communicates_alone && !alone ? computing : 0;
        const int thread = here ? place : tbb::this_task_arena::current_thread_index();
        spans[static_cast<std::size_t>(thread) + 1].push_back({task.work.what, thread, task.work.part, begin, end});
    }
    Clock::duration worked() const { return Clock::duration(working.load(std::memory_order_relaxed) / computing); }
    /// Lets those that waited for it begin; returns one that this thread is to go on with.
    Task* complete(Task& task) {
        const bool counted = task.kind != sum;
        const int part = task.work.part;
        {
            Gate::Key key;
            const std::lock_guard lock(task.mutex);
            task.done = true;
            if (task.gate) key = std::exchange(task.gate, nullptr)->key();
        }
        Task* mine = nullptr;
        for (Task* const next : task.next) {
            if (next->missing.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
            mine = begin(*next, mine, part);
        }
        task.next.clear();
        task.below = returned.load(std::memory_order_relaxed);
        while (
            !returned.compare_exchange_weak(task.below, &task, std::memory_order_release, std::memory_order_relaxed)) {
        }
        if (counted) ended();
        return mine;
    }
    /// Begins a task that waits for nothing any more, or keeps it for this thread: returns what is kept then.
    Task* begin(Task& task, Task* kept, int part) {
        if (task.kind == sum || task.kind == exchange) {
            may_start(task);
            return kept;
        }
        if (task.kind == at_once) {
            call(task);
            Task* const next = complete(task);
            if (!next) return kept;
            if (!kept) return next;
            hand_on(*next);
            return kept;
        }
        if (!kept) return &task;
        const bool nearer = task.work.part == part && kept->work.part != part;
        hand_on(nearer ? *kept : task);
        return nearer ? &task : kept;
    }
    /// One less of those that drain() waits for.
    void ended() {
        if (open.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
        Gate::Key key;
        const std::lock_guard lock(drain_mutex);
        if (open.load(std::memory_order_acquire) > 0) return;  // others were submitted since, and wait for theirs
        if (drain_gate) key = std::exchange(drain_gate, nullptr)->key();
    }

    // ---- communication ----
    void may_start(Task& task) {
        int sums = 0;
        {
            const std::lock_guard lock(mpi);
            task.ready = true;
            if (!communicates_alone || alone) sums = start_ready();
        }
        after_start(sums);
    }
    /// With the lock of MPI. Returns how many sums were started.
    int start_ready() {
        int sums = 0;
        for (auto& queue : {&waiting_sums, &waiting_exchanges})
            while (!queue->empty() && queue->front()->ready) {
                Task& task = *queue->front();
                queue->pop_front();
                task.started = Clock::now();
                if (task.flight) *task.flight = {task.started, {}, worked()};
                task.pending = task.start(task.work.context);
                flying.push_back(&task);
                flying_count.fetch_add(1, std::memory_order_relaxed);
                sums += task.kind == sum;
            }
        return sums;
    }
    void after_start(int sums) {
        for (int k = 0; k < sums; ++k) ended();
        if (!alone && !communicates_alone && flying_count.load() > 0 && !polling.exchange(true)) poll_later();
    }
    /// Looks after what is in flight; false: somebody else does so right now.
    bool serve() {
        std::array<Task*, 16> arrived{};
        std::size_t count = 0;
        int sums = 0;
        {
            const std::unique_lock lock(mpi, std::try_to_lock);
            if (!lock) return false;
            if (communicates_alone) sums = start_ready();
            for (std::size_t k = 0; k < flying.size() && count < arrived.size();) {
                Task& task = *flying[k];
                if (!task.pending.complete()) {
                    ++k;
                    continue;
                }
                task.pending.wait();
                const auto now = Clock::now();
                if (task.flight) task.flight->arrived = now;
                if (recording.load(std::memory_order_relaxed))
                    spans.front().push_back({task.kind == sum ? "reduction" : "exchange", -1, 0, task.started, now});
                arrived[count++] = &task;
                flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(k));
                flying_count.fetch_sub(1, std::memory_order_relaxed);
            }
        }
        after_start(sums);
        for (std::size_t k = 0; k < count; ++k)
            if (Task* const next = complete(*arrived[k])) hand_on(*next);
        return true;
    }
    void poll_later() {
        enqueue([this] {
            const bool mine = serve();
            if (flying_count.load() > 0) {
                relax();
                if (!mine || ++polls % 64 == 0) std::this_thread::yield();
                return poll_later();
            }
            polling.store(false);
            if (flying_count.load() > 0 && !polling.exchange(true)) poll_later();
        });
    }

    /// Until arrived() of a gate that somebody opens, or of something that changes while this thread communicates.
    template <class Arrived>
    void serve_until(Arrived&& arrived) {
        for (int turn = 1; !arrived(); ++turn) {
            serve();
            run_backlog();
            relax();
            if (turn % 64 == 0) std::this_thread::yield();
        }
    }

    const std::thread::id text = std::this_thread::get_id();
    const bool alone, communicates_alone;
    const int computing, tiles;
    std::optional<tbb::global_control> most;
    tbb::task_arena arena;
    Gate gate_of_text;
    ReadyTasks ready;
    std::atomic<int> handed{0};  // to TBB, and not yet done with

    std::deque<Task> pool;
    Task* free = nullptr;                  // that are in no use
    std::atomic<Task*> returned{nullptr};  // those that threads are done with
    std::uint64_t taken = 0;
    std::unordered_map<const void*, Tiles> vectors;
    std::deque<Task*> backlog;  // with one thread

    std::atomic<int> open{0};
    std::mutex drain_mutex;
    Gate* drain_gate = nullptr;

    std::mutex mpi;  // of what follows, and of MPI itself
    std::deque<Task*> waiting_sums, waiting_exchanges;
    std::vector<Task*> flying;
    std::atomic<int> flying_count{0};
    std::atomic<bool> polling{false};
    std::atomic<unsigned> polls{0};

    std::atomic<bool> recording{false};
    std::atomic<Clock::rep> working{0};  // of all threads, while something was in flight
    std::vector<std::vector<TaskSpan>> spans = std::vector<std::vector<TaskSpan>>(2);  // communication, then by thread
};

}  // namespace stretto
