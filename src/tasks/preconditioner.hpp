// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "stretto/execute/tasks/graph.hpp"
#include "stretto/execute/tasks/in_tasks.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "tasks/tiles.hpp"

namespace stretto {

/// A preconditioner as tasks, one for each of its blocks; one without blocks runs alone, on the team's threads.
class TaskPreconditioner {
public:
    using T = InTasks<double>;

    TaskPreconditioner(const Preconditioner& M, Index rows, TaskGraph& graph) : M_(&M), graph_(&graph) {
        const Tiles tiles(rows, graph.tiles());
        for (int b = 0; b < M.blocks(); ++b) {
            Tiles::Set of_block(tiles);
            const auto [begin, end] = M.block_rows(b);
            of_block.add(begin, end);
            tiles_.push_back(of_block.list());
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
    struct Call {
        const Preconditioner* M = nullptr;
        MultiVector<double> r, z;
        std::optional<RowWork> work;
        std::atomic<int> left{0};
    };
    static void block(void* of, int b) {
        Call& call = *static_cast<Call*>(of);
        call.M->apply_block(b, call.r, call.z, call.work ? &*call.work : nullptr);
        call.left.fetch_sub(1, std::memory_order_acq_rel);
    }

    void submit(MultiVector<T> r, MultiVector<T> z, const RowWork* work) const {
        if (tiles_.empty()) return graph_->alone([&] { M_->apply(on_host(r), on_host(z)); });
        Call& call = calls_.take(static_cast<int>(tiles_.size()));
        call.M = M_;
        call.r = on_host(r);
        call.z = on_host(z);
        call.work.reset();
        if (work) call.work.emplace(*work);
        for (std::size_t b = 0; b < tiles_.size(); ++b) {
            auto& task = graph_->task({block, &call, static_cast<int>(b), "preconditioner"});
            for (const int tile : tiles_[b]) {
                graph_->reads(task, r.data(), tile);
                graph_->writes(task, z.data(), tile);
            }
            // A block has work vectors of its own.
            graph_->writes(task, this, static_cast<int>(b) % graph_->tiles());
            if (work) graph_->together()->join(task, tiles_[b]);
            graph_->submit(task);
        }
    }

    const Preconditioner* M_;
    TaskGraph* graph_;
    std::vector<std::vector<int>> tiles_;  // by block
    mutable Calls<Call> calls_;
};

}  // namespace stretto
