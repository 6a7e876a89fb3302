// SPDX-License-Identifier: BSD-3-Clause
// What tasks cost beside the work in them: a loop of threads with its barrier, the same as tasks of this library's
// graph, as tasks of OpenMP with depend, and as nodes of oneTBB's flow graph, made in each round and made once and
// replayed. Each round is a chain of loops over tiles, and waits for the last at its end.
#include <benchmark/benchmark.h>
#include <omp.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

#include <deque>
#include <vector>

#include "stretto/core/parallel.hpp"
#include "stretto/execute/tasks/graph.hpp"

namespace {

using namespace stretto;

constexpr int loops = 8;

struct Tile {
    alignas(64) double value = 1;
    int turns = 0;
};
/// About a nanosecond a turn, by the same code wherever it is called.
[[gnu::noinline]] void work_on(Tile& tile) {
    for (int turn = 0; turn < tile.turns; ++turn) benchmark::DoNotOptimize(tile.value = 0.5 * tile.value + 1);
}

std::vector<Tile> make_tiles(benchmark::State& state) {
    std::vector<Tile> tiles(static_cast<std::size_t>(state.range(1)));
    for (auto& tile : tiles) tile.turns = static_cast<int>(state.range(2));
    return tiles;
}
void count(benchmark::State& state) {
    state.counters["task"] =
        benchmark::Counter(static_cast<double>(loops * state.range(1)),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void threads(benchmark::State& state) {
    auto tiles = make_tiles(state);
    for (auto _ : state)
        for (int loop = 0; loop < loops; ++loop)
            parallel(static_cast<int>(state.range(0)), [&](int t, int all) {
                for (std::size_t k = static_cast<std::size_t>(t); k < tiles.size(); k += static_cast<std::size_t>(all))
                    work_on(tiles[k]);
            });
    count(state);
}

void graph(benchmark::State& state) {
    auto tiles = make_tiles(state);
    TaskGraph of(static_cast<int>(state.range(0)), static_cast<int>(tiles.size()), TaskCommunication::any);
    of.enter([&] {
        for (auto _ : state) {
            for (int loop = 0; loop < loops; ++loop)
                for (int t = 0; t < of.tiles(); ++t) {
                    auto& task = of.task(
                        {[](void* all, int k) { work_on(static_cast<Tile*>(all)[k]); }, tiles.data(), t, "tile"});
                    of.writes(task, tiles.data(), t);
                    of.submit(task);
                }
            of.drain();
        }
    });
    count(state);
}

void openmp(benchmark::State& state) {
    auto tiles = make_tiles(state);
    Tile* const all = tiles.data();
    const int number = static_cast<int>(tiles.size());
#pragma omp parallel num_threads(static_cast<int>(state.range(0)))
#pragma omp single
    for (auto _ : state) {
        for (int loop = 0; loop < loops; ++loop)
            for (int t = 0; t < number; ++t) {
#pragma omp task depend(inout : all[t].value) firstprivate(t)
                work_on(all[t]);
            }
#pragma omp taskwait
    }
    count(state);
}

/// A round as a flow graph, which one message starts.
class Flow {
public:
    explicit Flow(std::vector<Tile>& tiles) : start_(graph_) {
        for (int loop = 0; loop < loops; ++loop)
            for (std::size_t k = 0; k < tiles.size(); ++k) {
                nodes_.emplace_back(graph_, [&tile = tiles[k]](tbb::flow::continue_msg) { work_on(tile); });
                if (loop == 0)
                    tbb::flow::make_edge(start_, nodes_.back());
                else
                    tbb::flow::make_edge(nodes_[nodes_.size() - 1 - tiles.size()], nodes_.back());
            }
    }
    void run() {
        start_.try_put({});
        graph_.wait_for_all();
    }

private:
    tbb::flow::graph graph_;
    tbb::flow::broadcast_node<tbb::flow::continue_msg> start_;
    std::deque<tbb::flow::continue_node<tbb::flow::continue_msg>> nodes_;
};

void flow(benchmark::State& state) {
    auto tiles = make_tiles(state);
    tbb::task_arena(static_cast<int>(state.range(0))).execute([&] {
        for (auto _ : state) Flow(tiles).run();
    });
    count(state);
}

void replayed(benchmark::State& state) {
    auto tiles = make_tiles(state);
    tbb::task_arena(static_cast<int>(state.range(0))).execute([&] {
        Flow round(tiles);
        for (auto _ : state) round.run();
    });
    count(state);
}

void sizes(benchmark::internal::Benchmark* of) {
    of->UseRealTime()->ArgNames({"threads", "tiles", "ns"});
    for (const int tiles : {2, 8})
        for (const int nanoseconds : {0, 5000, 50000}) of->Args({2, tiles, nanoseconds});
}
BENCHMARK(threads)->Apply(sizes);
BENCHMARK(graph)->Apply(sizes);
BENCHMARK(openmp)->Apply(sizes);
BENCHMARK(flow)->Apply(sizes);
BENCHMARK(replayed)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
