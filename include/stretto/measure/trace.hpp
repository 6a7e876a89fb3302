// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/measure/step.hpp"

namespace stretto {

/// What a group of statements of a method's iterations moves. `group` tells one from another; null: none.
struct GroupCost {
    const void* group = nullptr;
    int reads = 0, writes = 0, dots = 0;  // vectors of n × m values
};

/// The timeline of a rank: what ran when, and what was in flight meanwhile. The ledger of a solve fills it.
class Trace {
public:
    /// Spans beyond `most` are left out (64 bytes each).
    explicit Trace(std::size_t most = 1'000'000) : most_(most) {}

    /// Names must outlive the trace.
    void add_method(std::string_view name, Clock::time_point begin, Clock::time_point end) {
        add(name, methods, begin, end);
    }
    void add_kernel(std::string_view name, Clock::time_point begin, Clock::time_point end, const GroupCost& cost = {}) {
        add(name, kernels, begin, end, cost);
    }
    void add_exchange(Clock::time_point begin, Clock::time_point end) { add("halo exchange", exchanges, begin, end); }
    /// What a device did: a kernel, or a copy beside kernels.
    void add_on_device(std::string_view name, bool copy, Clock::time_point begin, Clock::time_point end) {
        add(name, copy ? copies : device, begin, end);
    }
    /// `lane`: one that no other reduction in flight has.
    void add_reduction(int lane, Clock::time_point begin, Clock::time_point end) {
        add("reduction", reductions + lane, begin, end);
    }

    /// What a thread did as a task (docs/tasks.md).
    void add_task(std::string_view name, int thread, Clock::time_point begin, Clock::time_point end) {
        add(name, tasks + thread, begin, end);
    }

    struct Span {
        std::string_view name;
        int track;
        Clock::time_point begin, end;
        GroupCost cost;
    };
    /// Reductions have as many tracks as are in flight at once, tasks one for each thread.
    enum Track { methods, kernels, exchanges, device, copies, reductions, tasks = 500 };
    const std::vector<Span>& spans() const { return spans_; }
    std::size_t left_out() const { return left_out_; }

    /// Also keeps what is done, in its order.
    void keep_steps() { keeps_steps_ = true; }
    void add_step(const Step& step) {
        if (keeps_steps_) steps_.push_back(step);
    }
    const std::vector<Step>& steps() const { return steps_; }

private:
    void add(std::string_view name, int track, Clock::time_point begin, Clock::time_point end,
             const GroupCost& cost = {}) {
        if (spans_.size() < most_)
            spans_.push_back({name, track, begin, end, cost});
        else
            ++left_out_;
    }

    std::size_t most_;
    std::size_t left_out_ = 0;
    std::vector<Span> spans_;
    bool keeps_steps_ = false;
    std::vector<Step> steps_;
};

}  // namespace stretto
