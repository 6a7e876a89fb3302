// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace stretto {

/// CUDA graphs of what is launched between two waits: kernels are captured instead, and all of them launched at once
/// before anybody waits. What is captured again and again, the same kernels with other parameters, updates the graph
/// that it was the first time. Never run on a GPU so far.
class Graphs {
public:
    explicit Graphs(bool on) : on_(on) {}
    Graphs(const Graphs&) = delete;

    /// Before a kernel is launched in the stream.
    void capture(cudaStream_t stream, const void* kernel) {
        if (!on_) return;
        if (captured_.empty())
            must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "a graph cannot be captured");
        captured_.push_back(kernel);
    }
    /// Before anything else is asked of the stream.
    void launch(cudaStream_t stream) {
        if (captured_.empty()) return;
        const auto kernels = std::exchange(captured_, {});
        cudaGraph_t graph = nullptr;
        must(cudaStreamEndCapture(stream, &graph), "a graph was not captured");
        if (known_.size() > most_known) forget();
        cudaGraphExec_t& ready = known_[kernels];
        cudaGraphExecUpdateResultInfo result{};
        if (ready && cudaGraphExecUpdate(ready, graph, &result) != cudaSuccess) {
            cudaGetLastError();  // is made anew instead
            cudaGraphExecDestroy(std::exchange(ready, nullptr));
        }
        if (!ready) must(cudaGraphInstantiate(&ready, graph, 0), "a graph cannot be instantiated");
        cudaGraphDestroy(graph);
        must(cudaGraphLaunch(ready, stream), "a graph was not launched");
    }
    /// Not while spans of time are recorded: their events would be part of graphs.
    void turn(bool on) { on_ = on; }

private:
    static constexpr std::size_t most_known = 256;

    void forget() {
        for (const auto& [kernels, graph] : known_) cudaGraphExecDestroy(graph);
        known_.clear();
    }

    bool on_;
    std::vector<const void*> captured_;
    std::map<std::vector<const void*>, cudaGraphExec_t> known_;  // by their kernels, in order
};

}  // namespace stretto
