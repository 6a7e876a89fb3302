// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "stretto/execute/tasks/graph.hpp"
#include "stretto/execute/tasks/in_tasks.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "tasks/tiles.hpp"

namespace stretto {

/// A preconditioner as tasks, one for each of its blocks, or several where there are more than tiles; one without
/// blocks runs alone, on the team's threads.
class TaskPreconditioner {
public:
    using T = InTasks<double>;

    TaskPreconditioner(const Preconditioner& M, Index rows, TaskGraph& graph) : M_(&M), graph_(&graph) {
        const Tiles tiles(rows, graph.tiles());
        const int most = std::max(1, M.blocks() / graph.tiles());
        for (int first = 0; first < M.blocks(); first += most) {
            const int end = std::min(first + most, M.blocks());
            Tiles::Set of_task(tiles);
            for (int b = first; b < end; ++b) of_task.add(M.block_rows(b).first, M.block_rows(b).second);
            tasks_.push_back({first, end, of_task.list()});
        }
    }

    void apply(MultiVector<T> r, MultiVector<T> z) const { submit(r, z, nullptr); }
    void apply(MultiVector<T> r, MultiVector<T> z, const RowWork& work) const { submit(r, z, &work); }
    int parts() const { return M_->parts(); }
    bool has_transpose() const { return M_->has_transpose(); }
    bool varies() const { return M_->varies(); }
    double bytes(int columns) const { return M_->bytes(columns); }
    void apply_transpose(MultiVector<T> r, MultiVector<T> z) const {
        graph_->alone([&] { M_->apply_transpose(on_host(r), on_host(z)); });
    }

private:
    struct Blocks {
        int begin, end;
        std::vector<int> tiles;
    };
    struct Call {
        const Preconditioner* M = nullptr;
        const std::vector<Blocks>* tasks = nullptr;
        MultiVector<double> r, z;
        std::optional<RowWork> work;
        std::atomic<int> left{0};
    };
    static void blocks(void* of, int t) {
        Call& call = *static_cast<Call*>(of);
        const auto& [begin, end, tiles] = (*call.tasks)[static_cast<std::size_t>(t)];
        for (int b = begin; b < end; ++b) call.M->apply_block(b, call.r, call.z, call.work ? &*call.work : nullptr);
        call.left.fetch_sub(1, std::memory_order_acq_rel);
    }

    void submit(MultiVector<T> r, MultiVector<T> z, const RowWork* work) const {
        if (tasks_.empty()) return graph_->alone([&] { M_->apply(on_host(r), on_host(z)); });
        const int count = static_cast<int>(tasks_.size());
        Call& call = calls_.take(count);
        call.M = M_;
        call.tasks = &tasks_;
        call.r = on_host(r);
        call.z = on_host(z);
        call.work.reset();
        if (work) call.work.emplace(*work);
        auto &from = graph_->tiles_of(r.data()), &to = graph_->tiles_of(z.data());
        // The last first, as groups do.
        for (int t = count - 1; t >= 0; --t) {
            const auto& tiles = tasks_[static_cast<std::size_t>(t)].tiles;
            auto& task = graph_->task({blocks, &call, t, "preconditioner"}, graph_->kind_of_products());
            for (const int tile : tiles) {
                graph_->reads(task, from, tile);
                graph_->writes(task, to, tile);
            }
            // A block has work vectors of its own.
            graph_->writes(task, this, t % graph_->tiles());
            if (work) graph_->together()->join(task, tiles);
            graph_->submit(task);
        }
    }

    const Preconditioner* M_;
    TaskGraph* graph_;
    std::vector<Blocks> tasks_;
    mutable Calls<Call> calls_;
};

}  // namespace stretto
