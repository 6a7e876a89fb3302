// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "stretto/execute/device/on_device.hpp"

namespace stretto {

/// Spans of time between events, told by the clock of the host: from where an event and that clock were read together.
class Recording {
public:
    bool on() const { return origin_; }
    void on(cudaStream_t stream) {
        take();
        if (origin_) cudaEventDestroy(std::exchange(origin_, nullptr));
        if (!stream) return;
        origin_ = event();
        must(cudaEventRecord(origin_, stream), "no event on the GPU");
        must(cudaEventSynchronize(origin_), "the GPU failed");
        began_ = Clock::now();
    }
    void begin(std::string_view name, bool copy, cudaStream_t stream) {
        if (open_.size() == most_open) settle();
        open_.push_back({name, copy, event(), event(), stream});
        must(cudaEventRecord(open_.back().begin, stream), "no event on the GPU");
    }
    void end() { must(cudaEventRecord(open_.back().end, open_.back().stream), "no event on the GPU"); }
    void clear() {
        settle();
        done_.clear();
    }
    std::vector<DeviceSpan> take() {
        settle();
        return std::exchange(done_, {});
    }

private:
    struct Open {
        std::string_view name;
        bool copy;
        cudaEvent_t begin, end;
        cudaStream_t stream;
    };
    static constexpr std::size_t most_open = 4096;  // events that are not read yet

    static cudaEvent_t event() {
        cudaEvent_t made = nullptr;
        must(cudaEventCreate(&made), "no event on the GPU");
        return made;
    }
    Clock::time_point time(cudaEvent_t at) const {
        float milliseconds = 0;
        must(cudaEventElapsedTime(&milliseconds, origin_, at), "no time of an event");
        return began_ +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<float, std::milli>(milliseconds));
    }
    /// Reads the times of all events, and waits for them.
    void settle() {
        for (const auto& [name, copy, begin, end, stream] : open_) {
            must(cudaEventSynchronize(end), "the GPU failed");
            done_.push_back({name, copy, time(begin), time(end)});
            cudaEventDestroy(begin);
            cudaEventDestroy(end);
        }
        open_.clear();
    }

    cudaEvent_t origin_ = nullptr;
    Clock::time_point began_;
    std::vector<Open> open_;
    std::vector<DeviceSpan> done_;
};

}  // namespace stretto
