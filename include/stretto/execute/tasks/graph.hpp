// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/statements/pass.hpp"

namespace stretto {

/// Which threads call MPI for tasks.
enum class TaskCommunication {
    any,   ///< whichever is there, one at a time: takes MPI_THREAD_SERIALIZED
    main,  ///< the one that runs the text, which computes nothing while it waits then
};

/// A task that was submitted; stays good when the task is long gone.
struct TaskRef {
    class Task* task = nullptr;
    std::uint64_t number = 0;
};

/// What a timeline is drawn of: what a thread did.
struct TaskSpan {
    const char* what;
    int thread, part;
    Clock::time_point begin, end;
};

/// When a communication was in flight, and what all threads had worked beside communications when it was started.
struct TaskFlight {
    Clock::time_point started, arrived;
    Clock::duration worked_at_start;
};

/// The tasks of a process, in the order in which a text says them, run as soon as what they need is there. Each says
/// which tiles of which vectors it reads and writes; a task waits for those before it that write what it reads or
/// writes, or read what it writes. oneTBB has the threads: for each ready task it is told that there is one more, and a
/// thread that it sends takes the first of those on the tiles that are its own, or of another's where it has none. With
/// the next one on the same tile the thread that made it ready goes on. Before both come tasks that a sum waits for:
/// the sooner it starts, the more there is to do beside it.
///
/// Communications are tasks too: started by the thread that ends the last task that they wait for, without a place in
/// a queue, each kind in the order of submission, which is the same on all ranks; threads look after them between other
/// tasks, and all the time where there are none.
///
/// All members are for one thread, that of the text. With one thread a task is run when it is submitted, or what it
/// waits for has arrived.
class TaskGraph {
public:
    enum Kind { compute, to_sum, at_once, sum, exchange };

    /// What is done: call(context, part).
    struct Work {
        void (*call)(void* context, int part);
        void* context;
        int part;
        const char* what;
    };
    using Start = Pending (*)(void* context);
    /// A vector that was looked up: where it is known which tasks use its tiles.
    class Tiles;
    struct Touch {
        Tiles* vector;
        bool written;
    };

    TaskGraph(int threads, int tiles, TaskCommunication communication);
    ~TaskGraph();
    TaskGraph(const TaskGraph&) = delete;

    int threads() const { return threads_; }
    int tiles() const { return tiles_; }

    /// A task, to be submitted when it has said what it waits for. `to_sum`: a sum waits for it. `at_once`: too short
    /// to be handed on, done by the thread that ends the last task it waits for. An exception from it ends the program.
    class Task& task(const Work& what, Kind kind = compute);
    /// A communication. Done when what it has started is complete; `flight`, which stays until then, knows when it was.
    class Task& communication(Start start, void* context, Kind kind, TaskFlight* flight = nullptr);
    Tiles& tiles_of(const void* vector);
    void reads(class Task& task, Tiles& vector, int tile);
    void writes(class Task& task, Tiles& vector, int tile);
    void reads(class Task& task, const void* vector, int tile) { reads(task, tiles_of(vector), tile); }
    void writes(class Task& task, const void* vector, int tile) { writes(task, tiles_of(vector), tile); }
    /// What statements touch.
    std::vector<Touch> look_up(const Pass& statements) {
        std::vector<Touch> all;
        all.reserve(static_cast<std::size_t>(statements.vectors()));
        statements.for_each_vector(
            [&](const void* vector, bool written) { all.push_back({&tiles_of(vector), written}); });
        return all;
    }
    void touches(class Task& task, std::span<const Touch> vectors, int tile) {
        for (const auto& [vector, written] : vectors)
            written ? writes(task, *vector, tile) : reads(task, *vector, tile);
    }
    /// `task` waits for `other`, which is not submitted yet.
    void before(class Task& task, class Task& other);
    TaskRef submit(class Task& task);

    /// While there is one, products hand on the rows that they finish: their tasks touch what the statements do in
    /// these rows, too, and `finish` waits for them.
    class Together {
    public:
        Together(TaskGraph& graph, const Pass& statements, class Task& finish, Kind kind)
            : graph_(graph), vectors_(graph.look_up(statements)), finish_(finish), kind_(kind) {
            graph_.together_ = this;
        }
        ~Together() { graph_.together_ = nullptr; }
        Together(const Together&) = delete;
        void join(class Task& task, std::span<const int> tiles) const {
            for (const int tile : tiles) graph_.touches(task, vectors_, tile);
            graph_.before(finish_, task);
        }
        Kind kind() const { return kind_; }

    private:
        TaskGraph& graph_;
        std::vector<Touch> vectors_;
        class Task& finish_;
        Kind kind_;
    };
    /// Null: rows go nowhere.
    const Together* together() const { return together_; }
    /// Of the tasks of a product.
    Kind kind_of_products() const { return together_ ? together_->kind() : compute; }

    /// Returns when a task is done; runs others meanwhile.
    void wait(TaskRef ref);
    /// What threads have worked in tasks while something was in flight, by the mean of those that compute.
    Clock::duration worked() const;
    /// Returns when all are, but for sums in flight, which have been started.
    void drain();
    /// drain(), then work() on this thread, which may call MPI as if there were no tasks.
    template <class Alone>
    void alone(Alone&& what) {
        drain();
        const Locked locked(*this);
        what();
    }
    /// Runs text() as one of the threads of the tasks.
    template <class Text>
    void enter(Text&& text) {
        run_inside([](void* of) { (*static_cast<std::remove_reference_t<Text>*>(of))(); },
                   const_cast<void*>(static_cast<const void*>(std::addressof(text))));
    }

    /// Keeps what every thread does from now on, or ends that and returns it.
    void record();
    std::vector<TaskSpan> recorded();

private:
    class Locked {
    public:
        explicit Locked(TaskGraph& graph);
        ~Locked();
        Locked(const Locked&) = delete;

    private:
        TaskGraph& graph_;
    };
    void run_inside(void (*text)(void*), void* context);

    int threads_, tiles_;
    const Together* together_ = nullptr;
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace stretto
