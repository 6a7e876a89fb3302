// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/execute/tasks/graph.hpp"
#include "stretto/execute/tasks/in_tasks.hpp"
#include "stretto/operators/any_operator.hpp"
#include "stretto/sparse/csr.hpp"
#include "tasks/tiles.hpp"

namespace stretto {

/// Products with a sparse matrix as tasks: the exchange, which waits for the tiles that have rows for other ranks; the
/// interior rows of each tile, which wait for the tiles that their columns are in; the interface rows of each tile,
/// which wait for the exchange besides. What is seldom asked for runs alone.
class TaskMatrix {
public:
    using T = InTasks<double>;

    TaskMatrix(const CsrMatrix<double>& A, TaskGraph& graph) : A_(&A), graph_(&graph) {
        const Tiles tiles(A.local_rows(), graph.tiles());
        const auto& rows = A.rows_here();
        for (int tile = 0; tile < graph.tiles(); ++tile) {
            Tiles::Set from(tiles), to(tiles), from_interface(tiles), to_interface(tiles);
            const auto columns = [&](Tiles::Set& set, Index i) {
                for (const Index column : rows.row(i).columns)
                    if (column < A.local_rows()) set.add(column);
            };
            for (int part = tile * parts_of_a_task(); part < (tile + 1) * parts_of_a_task(); ++part) {
                const auto intervals = rows.interior(part);
                for (const auto [begin, end] : intervals)
                    for (Index i = begin; i < end; ++i) columns(from, i);
                // A form may write between its rows, too.
                if (!intervals.empty()) to.add(intervals.front().begin, intervals.back().end);
                rows.each_interface_row(part, [&](Index i) {
                    columns(from_interface, i);
                    to_interface.add(i);
                });
            }
            interior_.push_back({from.list(), to.list()});
            interface_.push_back({from_interface.list(), to_interface.list()});
        }
        Tiles::Set sent(tiles);
        for (const Index row : A.halo().send_rows()) sent.add(row);
        sent_ = sent.list();
        for (const auto& places : interior_) tasks_ += !places.to.empty();
        for (const auto& places : interface_) tasks_ += !places.to.empty();
        tasks_ += !A.halo().empty();
    }

    void apply(MultiVector<T> x, MultiVector<T> y) const { submit(x, y, nullptr); }
    void apply(MultiVector<T> x, MultiVector<T> y, const RowWork& work) const { submit(x, y, &work); }
    int parts() const { return A_->parts(); }
    double bytes(int columns) const { return A_->bytes(columns); }
    Index local_rows() const { return A_->local_rows(); }

    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
        graph_->alone([&] { A_->apply_transpose(on_host(x), on_host(y)); });
    }
    void residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const {
        graph_->alone([&] { A_->residual(on_host(b), on_host(x), on_host(r)); });
    }
    double norm_bound() const {
        double bound = 0;
        graph_->alone([&] { bound = A_->norm_bound(); });
        return bound;
    }
    int prepare_powers(int h) const {
        int prepared = 1;
        graph_->alone([&] { prepared = A_->prepare_powers(h); });
        return prepared;
    }
    void apply_powers(const Panel<T>& v, int first, int count, const SmallMatrix<double>& B) const {
        graph_->alone([&] { A_->apply_powers(on_host(v), first, count, B); });
    }

private:
    struct Places {
        std::vector<int> from, to;  // tiles
    };
    struct Call {
        const CsrMatrix<double>* A = nullptr;
        MultiVector<double> x, y;
        std::optional<RowWork> work;
        int parts_of_a_task = 1;
        std::atomic<int> left{0};  // tasks

        const RowWork* rows() const { return work ? &*work : nullptr; }
    };
    int parts_of_a_task() const { return A_->threads() / graph_->tiles(); }

    static void interior(void* of, int tile) {
        Call& call = *static_cast<Call*>(of);
        const int n = call.parts_of_a_task;
        for (int part = tile * n; part < (tile + 1) * n; ++part)
            call.A->rows_here().multiply_interior(part, nullptr, call.x, call.y, call.rows());
        call.left.fetch_sub(1, std::memory_order_acq_rel);
    }
    static void interface(void* of, int tile) {
        Call& call = *static_cast<Call*>(of);
        const int n = call.parts_of_a_task;
        for (int part = tile * n; part < (tile + 1) * n; ++part)
            call.A->rows_here().multiply_interface(part, call.x, call.A->halo_values(call.x.columns()), call.y,
                                                   call.rows());
        call.left.fetch_sub(1, std::memory_order_acq_rel);
    }
    static Pending exchange(void* of) {
        Call& call = *static_cast<Call*>(of);
        Pending pending = call.A->halo().start(call.x.data(), call.x.columns());
        call.left.fetch_sub(1, std::memory_order_acq_rel);
        return pending;
    }

    void submit(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const {
        if (tasks_ == 0) return;
        Call& call = calls_.take(tasks_);
        call.A = A_;
        call.x = on_host(x);
        call.y = on_host(y);
        call.parts_of_a_task = parts_of_a_task();
        call.work.reset();
        if (work) call.work.emplace(*work);
        const void* const halo = this;  // what comes from other ranks, as a vector of one tile
        if (!A_->halo().empty()) {
            auto& task = graph_->communication(exchange, &call, TaskGraph::exchange);
            for (const int tile : sent_) graph_->reads(task, x.data(), tile);
            graph_->writes(task, halo, 0);
            graph_->submit(task);
        }
        of_tiles(interior_, {interior, &call, 0, "product"}, x, y, nullptr, work);
        of_tiles(interface_, {interface, &call, 0, "product, interface"}, x, y, halo, work);
    }
    void of_tiles(const std::vector<Places>& tiles, TaskGraph::Work what, MultiVector<T> x, MultiVector<T> y,
                  const void* halo, const RowWork* work) const {
        auto &from = graph_->tiles_of(x.data()), &to = graph_->tiles_of(y.data());
        // The last first, as groups do.
        for (what.part = graph_->tiles() - 1; what.part >= 0; --what.part) {
            const auto& places = tiles[static_cast<std::size_t>(what.part)];
            if (places.to.empty()) continue;
            auto& task = graph_->task(what, graph_->kind_of_products());
            if (halo) graph_->reads(task, halo, 0);
            for (const int tile : places.from) graph_->reads(task, from, tile);
            for (const int tile : places.to) graph_->writes(task, to, tile);
            if (work) {
                graph_->together()->join(task, places.to);
                // The dot products of a part add up in one place.
                graph_->writes(task, &places_of_sums_, what.part);
            }
            graph_->submit(task);
        }
    }

    const CsrMatrix<double>* A_;
    TaskGraph* graph_;
    std::vector<Places> interior_, interface_;  // by tile
    std::vector<int> sent_;
    int tasks_ = 0;
    char places_of_sums_ = 0;
    mutable Calls<Call> calls_;
};

}  // namespace stretto
