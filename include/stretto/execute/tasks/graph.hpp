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

/// The tasks of a process, in the order in which a text says them, run as soon as what they need is there. Each says
/// which tiles of which vectors it reads and writes; a task waits for those before it that write what it reads or
/// writes, or read what it writes. Which thread runs what is oneTBB's affair: a ready task is put at the end of its
/// queue, but for the next one on the same tile, which the thread that made it ready goes on with.
///
/// Communications are tasks too: started by the thread that ends the last task that they wait for, without a place in
/// a queue, each kind in the order of submission, which is the same on all ranks; threads look after them between other
/// tasks, and all the time where there are none.
///
/// All members are for one thread, that of the text. With one thread a task is run when it is submitted, or what it
/// waits for has arrived.
class TaskGraph {
public:
    enum Kind { compute, at_once, sum, exchange };

    /// What is done: call(context, part).
    struct Work {
        void (*call)(void* context, int part);
        void* context;
        int part;
        const char* what;
    };
    using Start = Pending (*)(void* context);

    TaskGraph(int threads, int tiles, TaskCommunication communication);
    ~TaskGraph();
    TaskGraph(const TaskGraph&) = delete;

    int threads() const { return threads_; }
    int tiles() const { return tiles_; }

    /// A task, to be submitted when it has said what it waits for. `at_once`: too short to be handed on, done by the
    /// thread that ends the last task it waits for. An exception from it ends the program.
    class Task& task(const Work& what, Kind kind = compute);
    /// A communication. Done when what it has started is complete.
    class Task& communication(Start start, void* context, Kind kind);
    void reads(class Task& task, const void* vector, int tile);
    void writes(class Task& task, const void* vector, int tile);
    /// What statements touch.
    void touches(class Task& task, const Pass& statements, int tile) {
        statements.for_each_vector([&](const void* vector, bool written) {
            written ? writes(task, vector, tile) : reads(task, vector, tile);
        });
    }
    /// `task` waits for `other`, which is not submitted yet.
    void before(class Task& task, class Task& other);
    TaskRef submit(class Task& task);

    /// While there is one, products hand on the rows that they finish: their tasks touch what the statements do in
    /// these rows, too, and `finish` waits for them.
    class Together {
    public:
        Together(TaskGraph& graph, const Pass& statements, class Task& finish)
            : graph_(graph), statements_(statements), finish_(finish) {
            graph_.together_ = this;
        }
        ~Together() { graph_.together_ = nullptr; }
        Together(const Together&) = delete;
        void join(class Task& task, std::span<const int> tiles) const {
            for (const int tile : tiles) graph_.touches(task, statements_, tile);
            graph_.before(finish_, task);
        }

    private:
        TaskGraph& graph_;
        Pass statements_;
        class Task& finish_;
    };
    /// Null: rows go nowhere.
    const Together* together() const { return together_; }

    /// Returns when a task is done; runs others meanwhile.
    void wait(TaskRef ref);
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
