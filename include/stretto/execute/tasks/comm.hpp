// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>

#include "stretto/comm/comm.hpp"
#include "stretto/execute/inflight.hpp"
#include "stretto/execute/tasks/graph.hpp"
#include "stretto/execute/tasks/in_tasks.hpp"

namespace stretto {

/// Communication of a text that runs as tasks: a sum is started when the tasks before it have left there what is to be
/// summed, and wait() runs tasks until it has arrived. Exchanges of neighbours are those of the operators, which know
/// what they wait for.
class TaskComm final : public WrappedComm {
public:
    TaskComm(Comm& inner, TaskGraph& graph) : WrappedComm(inner), graph_(&graph), sums_(sums_at_first) {}

    TaskGraph& graph() const { return *graph_; }
    Comm& inner() const { return inner_; }

    /// `mine` is what a task writes (TaskGraph::writes, tile 0), or has been there.
    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        std::size_t ticket = 0;
        while (ticket < sums_.size() && sums_[ticket].used) ++ticket;
        if (ticket == sums_.size()) sums_.emplace_back();
        Sum& sum = sums_[ticket];
        sum = {&inner_, mine, total, {}, {}, true};
        auto& task = graph_->communication(
            [](void* of) {
                const Sum& started = *static_cast<const Sum*>(of);
                return started.comm->start_sum(started.mine, started.total);
            },
            &sum, TaskGraph::sum, &sum.flight);
        graph_->reads(task, mine.data(), 0);
        sum.task = graph_->submit(task);
        return {*this, static_cast<int>(ticket)};
    }
    bool progresses() const override { return true; }

    /// The last sum that was waited for, of which the text knows when it was said: when it was in flight, and what of
    /// its wait the threads that compute were idle, in the mean.
    Flight seen(const Flight& said) const {
        const auto& [started, arrived, worked_at_start] = last_;
        const auto from = std::max(said.wait, started);
        const auto worked = graph_->worked() - std::max(worked_at_wait_, worked_at_start);
        const auto idle = std::max(arrived - from - worked, Clock::duration{});
        return {started, started, from, from + idle, arrived, true};
    }

private:
    struct Sum {
        Comm* comm = nullptr;
        std::span<const double> mine;
        std::span<double> total;
        TaskRef task;
        TaskFlight flight;
        bool used = false;
    };
    static constexpr std::size_t sums_at_first = 16;

    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override {
        return inner_.start_exchange(receives, sends);
    }
    bool is_complete(int) override { return false; }
    std::optional<Clock::time_point> finish(int ticket) override {
        Sum& sum = sums_[static_cast<std::size_t>(ticket)];
        worked_at_wait_ = graph_->worked();
        graph_->wait(sum.task);
        last_ = sum.flight;
        sum.used = false;
        return last_.arrived;
    }

    TaskGraph* graph_;
    std::deque<Sum> sums_;  // by ticket; a deque never moves its elements
    TaskFlight last_;
    Clock::duration worked_at_wait_{};
};

template <class X>
struct FlightOf<InTasks<X>> {
    static Flight seen(const Comm& comm, const Flight& said) { return static_cast<const TaskComm&>(comm).seen(said); }
};

}  // namespace stretto
