// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/execute/tasks/graph.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "inside.hpp"

namespace stretto {

TaskGraph::TaskGraph(int threads, int tiles, TaskCommunication communication)
    : threads_(threads), tiles_(tiles), inside_(std::make_unique<Inside>(threads, tiles, communication)) {}

TaskGraph::~TaskGraph() {
    drain();
    inside_->serve_until([&] { return inside_->flying_count.load() == 0 && inside_->handed.load() == 0; });
    if (!inside_->alone) inside_->arena.terminate();
}

Task& TaskGraph::task(const Work& what, Kind kind) {
    Task& task = inside_->take();
    task.kind = kind;
    task.work = what;
    return task;
}

Task& TaskGraph::communication(Start start, void* context, Kind kind, TaskFlight* flight) {
    Task& task = inside_->take();
    task.kind = kind;
    task.work = {nullptr, context, 0, nullptr};
    task.start = start;
    task.flight = flight;
    return task;
}

TaskGraph::Tiles& TaskGraph::tiles_of(const void* vector) {
    auto& tiles = inside_->vectors[vector];
    if (tiles.all.empty()) tiles.all.resize(static_cast<std::size_t>(tiles_));
    return tiles;
}

void TaskGraph::reads(Task& task, Tiles& vector, int tile) {
    auto& [writer, readers] = vector.all[static_cast<std::size_t>(tile)];
    Inside::add_edge(writer, task);
    if (readers.size() >= 8) std::erase_if(readers, Inside::is_done);
    readers.push_back({&task, task.number});
}

void TaskGraph::writes(Task& task, Tiles& vector, int tile) {
    auto& [writer, readers] = vector.all[static_cast<std::size_t>(tile)];
    Inside::add_edge(writer, task);
    for (const auto& reader : readers) Inside::add_edge(reader, task);
    readers.clear();
    writer = {&task, task.number};
}

void TaskGraph::before(Task& task, Task& other) { Inside::add_edge({&other, other.number}, task); }

TaskRef TaskGraph::submit(Task& task) {
    const TaskRef ref{&task, task.number};
    auto& inside = *inside_;
    inside.open.fetch_add(1, std::memory_order_relaxed);
    if (task.kind == sum || task.kind == exchange) {
        const std::lock_guard lock(inside.mpi);
        (task.kind == sum ? inside.waiting_sums : inside.waiting_exchanges).push_back(&task);
    }
    if (task.missing.fetch_sub(1, std::memory_order_acq_rel) == 1)
        if (Task* const now = inside.begin(task, nullptr, 0)) inside.hand_on(*now);
    if (inside.alone) inside.run_backlog();
    return ref;
}

void TaskGraph::wait(TaskRef ref) {
    auto& inside = *inside_;
    if (inside.alone || inside.communicates_alone) return inside.serve_until([&] { return Inside::is_done(ref); });
    {
        const std::lock_guard lock(ref.task->mutex);
        if (ref.task->number != ref.number || ref.task->done) return;
        inside.gate_of_text.shut();
        ref.task->gate = &inside.gate_of_text;
    }
    inside.arena.execute([&] { inside.gate_of_text.wait(); });
    (void)Inside::is_done(ref);  // what it has written is seen from here on
}

void TaskGraph::drain() {
    auto& inside = *inside_;
    if (inside.alone || inside.communicates_alone)
        return inside.serve_until([&] { return inside.open.load(std::memory_order_acquire) == 0; });
    {
        const std::lock_guard lock(inside.drain_mutex);
        if (inside.open.load(std::memory_order_acquire) == 0) return;
        inside.gate_of_text.shut();
        inside.drain_gate = &inside.gate_of_text;
    }
    inside.arena.execute([&] { inside.gate_of_text.wait(); });
    const std::lock_guard lock(inside.drain_mutex);  // what tasks have written is seen from here on
}

Clock::duration TaskGraph::worked() const { return inside_->worked(); }

TaskGraph::Locked::Locked(TaskGraph& graph) : graph_(graph) { graph_.inside_->mpi.lock(); }
TaskGraph::Locked::~Locked() { graph_.inside_->mpi.unlock(); }

void TaskGraph::run_inside(void (*text)(void*), void* context) {
    if (inside_->alone || inside_->communicates_alone) return text(context);
    inside_->arena.execute([&] { text(context); });
}

void TaskGraph::record() {
    for (auto& of_thread : inside_->spans) of_thread.clear();
    inside_->recording.store(true);
}
std::vector<TaskSpan> TaskGraph::recorded() {
    drain();
    inside_->recording.store(false);
    std::vector<TaskSpan> all;
    for (const auto& of_thread : inside_->spans) all.insert(all.end(), of_thread.begin(), of_thread.end());
    return all;
}

}  // namespace stretto
