// SPDX-License-Identifier: BSD-3-Clause
// The graph of tasks: what waits for what.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <vector>

#include "execute/tasks/inside.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/executor.hpp"
#include "stretto/execute/tasks/comm.hpp"
#include "stretto/execute/tasks/executor.hpp"

using namespace stretto;

static_assert(Executor<TaskExecutor<double>, InTasks<double>>);

namespace {

/// Adds one to what it writes, from the largest of what it reads: what an order that is not that of submission changes.
struct Step {
    std::vector<long*> from, to;
};
void advance(void* of, int) {
    const Step& step = *static_cast<Step*>(of);
    long most = 0;
    for (const long* value : step.from) most = std::max(most, *value);
    for (long* value : step.to) *value = 3 * *value + most + 1;
}

struct TaskGraphs : testing::TestWithParam<std::tuple<int, TaskCommunication>> {
    MpiComm comm;
    const int threads = std::get<0>(GetParam());
    const TaskCommunication communication = std::get<1>(GetParam());
};

TEST_P(TaskGraphs, GiveWhatTheOrderOfSubmissionGives) {
    constexpr int vectors = 5, tiles = 4, steps = 3000;
    TaskGraph graph(threads, tiles, communication);
    std::array<std::array<long, tiles>, vectors> expected{}, values{};
    std::vector<Step> all(steps);
    std::uint64_t random = 17;
    const auto next = [&](int below) {
        random = splitmix64(random);
        return static_cast<std::size_t>(random % static_cast<std::uint64_t>(below));
    };
    for (auto& step : all) {
        auto& task = graph.task({advance, &step, static_cast<int>(next(tiles)), "step"},
                                next(5) == 0 ? TaskGraph::at_once : TaskGraph::compute);
        Step here;
        const auto touch = [&](std::vector<long*>& there, std::vector<long*>& same, auto&& say) {
            const auto v = next(vectors), t = next(tiles);
            there.push_back(&values[v][t]);
            same.push_back(&expected[v][t]);
            say(task, &values[v], static_cast<int>(t));
        };
        for (std::size_t k = next(4); k > 0; --k)
            touch(step.from, here.from, [&](Task& of, const void* v, int t) { graph.reads(of, v, t); });
        touch(step.to, here.to, [&](Task& of, const void* v, int t) { graph.writes(of, v, t); });
        advance(&here, 0);
        const auto ref = graph.submit(task);
        if (next(50) == 0) graph.wait(ref);
    }
    graph.drain();
    EXPECT_EQ(values, expected);
}

TEST_P(TaskGraphs, EndBehindAllThatTheyWaitFor) {
    constexpr int rounds = 300, tasks = 12;
    TaskGraph graph(threads, tasks, communication);
    struct Count {
        std::atomic<int> done{0};
        int seen = 0;
    } count;
    for (int round = 0; round < rounds; ++round) {
        auto& finish = graph.task({[](void* of, int) {
                                       auto& [done, seen] = *static_cast<Count*>(of);
                                       seen = done.exchange(0);
                                   },
                                   &count, 0, "finish"},
                                  TaskGraph::at_once);
        for (int k = 0; k < tasks; ++k) {  // the first are done, and their places used again, before the last is said
            auto& task = graph.task({[](void* of, int part) {
                                         volatile double work = 0;
                                         for (int turn = 0; turn < 3000 * (part % 3); ++turn) work = work + 1;
                                         ++static_cast<Count*>(of)->done;
                                     },
                                     &count, k, "task"});
            graph.before(finish, task);
            graph.submit(task);
        }
        graph.wait(graph.submit(finish));
        ASSERT_EQ(count.seen, tasks) << round;
    }
}

TEST_P(TaskGraphs, StartSumsInTheOrderOfSubmission) {
    constexpr int sums = 40;
    TaskGraph graph(threads, 2, communication);
    TaskComm tasked(comm, graph);
    std::vector<std::array<double, 1>> mine(sums), total(sums);
    std::vector<Pending> pending;
    struct Fill {
        double* to;
        double value;
    };
    std::vector<Fill> fills(sums);
    for (std::size_t k = 0; k < sums; ++k) {
        fills[k] = {mine[k].data(), static_cast<double>(k + 1)};
        auto& task = graph.task({[](void* of, int) {
                                     const Fill& fill = *static_cast<Fill*>(of);
                                     volatile double work = 0;  // the first take longest
                                     for (int turn = 0; turn < 2000 * (sums - fill.value); ++turn) work = work + 1;
                                     *fill.to = fill.value;
                                 },
                                 &fills[k], 0, "fill"});
        graph.writes(task, mine[k].data(), 0);
        graph.submit(task);
        pending.push_back(tasked.start_sum(mine[k], total[k]));
    }
    for (std::size_t k = sums; k-- > 0;) {
        pending[k].wait();
        EXPECT_EQ(total[k][0], static_cast<double>(k + 1) * comm.size());
    }
}

TEST_P(TaskGraphs, RecordWhatThreadsDo) {
    TaskGraph graph(threads, 1, communication);
    TaskComm tasked(comm, graph);
    std::atomic<int> done{0};
    graph.record();
    for (int k = 0; k < 10; ++k)
        graph.submit(graph.task({[](void* of, int) { ++*static_cast<std::atomic<int>*>(of); }, &done, k, "count"}));
    std::array<double, 1> one{1}, total{};
    tasked.start_sum(one, total).wait();
    const auto spans = graph.recorded();
    EXPECT_EQ(done, 10);
    int counts = 0, reductions = 0;
    for (const auto& span : spans) {
        counts += span.what == std::string_view("count");
        reductions += span.what == std::string_view("reduction");
        EXPECT_LE(span.begin, span.end);
        EXPECT_LT(span.thread, threads + 1);
    }
    EXPECT_EQ(counts, 10);
    EXPECT_EQ(reductions, 1);
}

TEST(ReadyTasks, GiveThoseThatASumWaitsForFirst) {
    Task first, second, kept, urgent;
    urgent.kind = TaskGraph::to_sum;
    ReadyTasks ready(2);
    ready.put(first, 0);
    ready.put(urgent, 0);
    ready.put(second, 1);
    EXPECT_EQ(&ready.rather(kept, 1), &kept);  // that of another thread is left to it
    EXPECT_EQ(&ready.rather(kept, 0), &urgent);
    EXPECT_EQ(&ready.take(0), &first);
    ready.put(urgent, 1);
    EXPECT_EQ(&ready.take(0), &kept);
    EXPECT_EQ(&ready.take(0), &urgent);
    EXPECT_EQ(&ready.take(0), &second);
}

INSTANTIATE_TEST_SUITE_P(Threads, TaskGraphs,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(TaskCommunication::any, TaskCommunication::main)),
                         [](const auto& of) {
                             return std::to_string(std::get<0>(of.param)) +
                                    (std::get<1>(of.param) == TaskCommunication::any ? "any" : "main");
                         });

}  // namespace
