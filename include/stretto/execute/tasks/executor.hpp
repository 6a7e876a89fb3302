// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How statements become tasks. The rows are dealt to parts, and what a thread of the processor's executor does
// (cpu/executor.hpp) is done with each. One such executor is kept for every group that is under way, with its
// coefficients and what its dot products add up in. So the results are, to the bit, those of as many threads as there
// are parts. A task has a tile, which is a part or, where they are small, several.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "stretto/execute/cpu/executor.hpp"
#include "stretto/execute/tasks/comm.hpp"
#include "stretto/execute/tasks/graph.hpp"
#include "stretto/execute/tasks/in_tasks.hpp"

namespace stretto {

/// The executor (executor.hpp) of vectors that tasks look at, for as many parts as it is told of threads. Its
/// communicator is a TaskComm.
template <class X>
class TaskExecutor {
public:
    using T = InTasks<X>;

    TaskExecutor(int columns, int parts, Formulation formulation, Comm* comm = nullptr, Ledger* = nullptr)
        : columns_(columns),
          parts_(parts),
          formulation_(formulation),
          graph_(comm ? &static_cast<TaskComm*>(comm)->graph() : nullptr),
          exact_(comm && comm->reproducible()),
          here_(columns, parts, formulation) {}

    Formulation formulation() const { return formulation_; }
    int threads() const { return parts_; }
    void reserve(std::size_t products) {
        products_ = std::max(products_, products);
        for (auto& group : groups_) group.cpu.reserve(products_);
    }
    /// Nothing: what is summed over the ranks is waited for by the task that starts the sum.
    void wait() {}

    class Memory {
    public:
        explicit Memory(std::size_t size) : values_(size) {}
        T* data() const { return reinterpret_cast<T*>(values_.data()); }

    private:
        Buffer<X> values_;
    };
    Memory allocate(std::size_t size) const { return Memory(size); }

    // ---- seldom: on the team's threads, when all tasks are done ----
    void clear(MultiVector<T> v) const { done().clear(on_host(v)); }
    void clear_column(MultiVector<T> v, int column) const { done().clear_column(on_host(v), column); }
    void copy_column(MultiVector<T> from, MultiVector<T> to, int column) const {
        done().copy_column(on_host(from), on_host(to), column);
    }
    void fill_uniform(MultiVector<T> v, std::uint64_t seed, Global first_row) const {
        done().fill_uniform(on_host(v), seed, first_row);
    }
    void upload(std::span<const X> values, MultiVector<T> v) const { done().upload(values, on_host(v)); }
    void download(MultiVector<T> v, std::span<X> values) const { done().download(on_host(v), values); }
    std::vector<double> largest(MultiVector<T> v) const { return done().largest(on_host(v)); }

    /// Submits the statements over `rows` rows. A last task writes the dot products of this rank to `dots`.
    template <class... S>
    void run(Index rows, double* dots, const S&... statements) {
        Group& group = take(rows, dots);
        const int shares = here_.shares(rows), all = graph_->tiles();
        group.parts_of_a_task = shares == 1 ? 1 : parts_ / all;
        const auto* const bound = keep(group, group.cpu.bind(shares, on_host(statements)...));
        using Bound = std::remove_cvref_t<decltype(*bound)>;
        const auto vectors = graph_->look_up(touched(statements...));
        auto& finish = graph_->task({fold<Bound>, &group, 0, "dots"}, TaskGraph::at_once);
        // The last first: the first are for this thread, which has to say all of them before.
        for (int t = (shares == 1 ? 1 : all) - 1; t >= 0; --t) {
            auto& task =
                graph_->task({share<Bound>, &group, t, bound->dots > 0 ? "vectors, dots" : "vectors"}, kind_of(*bound));
            for (int tile = t; tile < (shares == 1 ? all : t + 1); ++tile) graph_->touches(task, vectors, tile);
            graph_->before(finish, task);
            graph_->submit(task);
        }
        end(finish, dots);
    }
    /// The same behind a product, whose tasks take the statements up.
    template <class Product, class... S>
    void run_with(int parts, Product&& product, double* dots, const S&... statements) {
        Group& group = take(0, dots);
        const auto* const bound = keep(group, group.cpu.bind(parts, on_host(statements)...));
        using Bound = std::remove_cvref_t<decltype(*bound)>;
        auto& finish = graph_->task({fold<Bound>, &group, 0, "dots"}, TaskGraph::at_once);
        const TaskGraph::Together together(*graph_, touched(statements...), finish, kind_of(*bound));
        product(RowWork(*new (group.rows_of.data()) Rows<Bound>{&group}));
        end(finish, dots);
    }

private:
    /// A group under way.
    struct Group {
        Group(int columns, int parts) : cpu(columns, parts, Formulation::merged) {}
        CpuExecutor<X> cpu;
        Index rows = 0;
        int parts_of_a_task = 1;
        double* dots = nullptr;
        std::vector<std::max_align_t> bound;
        std::array<std::max_align_t, 1> rows_of;
        std::atomic<bool> busy{false};

        template <class Bound>
        const Bound& as() const {
            return *std::launder(reinterpret_cast<const Bound*>(bound.data()));
        }
    };
    template <class Bound>
    struct Rows {
        Group* group;
        void operator()(int part, Index begin, Index end) const {
            group->cpu.run_rows(group->template as<Bound>(), part, begin, end);
        }
    };
    template <class Bound>
    static void share(void* of, int task) {
        Group& group = *static_cast<Group*>(of);
        const int n = group.parts_of_a_task;
        for (int part = task * n; part < (task + 1) * n; ++part)
            group.cpu.run_share(group.template as<Bound>(), group.rows, part);
    }
    template <class Bound>
    static void fold(void* of, int) {
        Group& group = *static_cast<Group*>(of);
        if (group.dots) group.cpu.fold(group.template as<Bound>(), group.dots);
        group.busy.store(false, std::memory_order_release);
    }

    template <class Bound>
    static TaskGraph::Kind kind_of(const Bound& bound) {
        return bound.dots > 0 ? TaskGraph::to_sum : TaskGraph::compute;
    }

    const CpuExecutor<X>& done() const {
        if (graph_) graph_->drain();
        return here_;
    }
    Group& take(Index rows, double* dots) {
        auto free = std::ranges::find_if(
            groups_, [](const Group& group) { return !group.busy.load(std::memory_order_acquire); });
        if (free == groups_.end()) {
            groups_.emplace_back(columns_, parts_);
            free = std::prev(groups_.end());
            if (exact_) free->cpu.sum_exactly();
            free->cpu.reserve(products_);
        }
        free->busy.store(true, std::memory_order_relaxed);
        free->rows = rows;
        free->dots = dots;
        return *free;
    }
    template <class Bound>
    static const Bound* keep(Group& group, const Bound& bound) {
        static_assert(std::is_trivially_destructible_v<Bound>);
        const std::size_t size = (sizeof(Bound) + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
        if (group.bound.size() < size) group.bound.resize(size);
        return new (group.bound.data()) Bound(bound);
    }
    template <class... S>
    static Pass touched(const S&... statements) {
        Pass vectors;
        (for_each_statement([&](const auto& s) { s.touch(vectors); }, statements), ...);
        return vectors;
    }
    void end(class Task& finish, const double* dots) {
        if (dots) graph_->writes(finish, dots, 0);
        graph_->submit(finish);
    }

    int columns_, parts_;
    Formulation formulation_;
    TaskGraph* graph_;
    bool exact_;
    CpuExecutor<X> here_;
    std::size_t products_ = 0;
    std::deque<Group> groups_;
};

}  // namespace stretto
