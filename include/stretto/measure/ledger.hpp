// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "stretto/core/types.hpp"
#include "stretto/measure/trace.hpp"
#include "stretto/measure/traffic.hpp"

namespace stretto {

/// What time is booked under. A kind is added by its name here and its row below. `vectors` are passes of statements,
/// `dots` those that only form dot products; what takes up a product's rows on its way counts with the product; `small`
/// is what a method does between all others: scalars, small matrices.
enum class Kernel { apply, precondition, vectors, dots, reductions, halo, small };
inline constexpr auto kernels = std::to_array<std::pair<Kernel, std::string_view>>({
    {Kernel::apply, "apply"},
    {Kernel::precondition, "precondition"},
    {Kernel::vectors, "vectors"},
    {Kernel::dots, "dots"},
    {Kernel::reductions, "reductions"},
    {Kernel::halo, "halo"},
    {Kernel::small, "small"},
});

/// What a stretch of a solve did on this rank.
struct Counts {
    std::int64_t applies = 0;
    std::int64_t preconditionings = 0;
    std::int64_t reductions = 0;
    std::int64_t hidden_reductions = 0;  ///< with a product or a preconditioner between start and wait
    double hidden = 0;                   ///< reductions, each counted by the fraction of it that was hidden (Flight)
    double lost = 0;                     ///< seconds that reductions kept this rank from working
    Traffic vectors;                     ///< statements only, in vectors of n × m values
    double bytes = 0;                    ///< statements, products and preconditioners on this rank
    std::array<double, kernels.size()> seconds{};

    void add(const Traffic& moved, double vector_bytes) {
        vectors += moved;
        bytes += static_cast<double>(moved.reads + moved.writes) * vector_bytes;
    }
    Counts& operator+=(const Counts& other) { return combine(other, 1); }
    Counts& operator-=(const Counts& other) { return combine(other, -1); }

private:
    Counts& combine(const Counts& other, int sign) {
        applies += sign * other.applies;
        preconditionings += sign * other.preconditionings;
        reductions += sign * other.reductions;
        hidden_reductions += sign * other.hidden_reductions;
        hidden += sign * other.hidden;
        lost += sign * other.lost;
        vectors.reads += sign * other.vectors.reads;
        vectors.writes += sign * other.vectors.writes;
        bytes += sign * other.bytes;
        for (std::size_t kernel = 0; kernel < seconds.size(); ++kernel) seconds[kernel] += sign * other.seconds[kernel];
        return *this;
    }
};

/// When a reduction was in flight, as this rank saw it.
struct Flight {
    Clock::time_point start, posted;         ///< before and after it was handed to the communicator
    Clock::time_point wait, end;             ///< when it was waited for, and when that ended
    std::optional<Clock::time_point> ready;  ///< empty: some time before `wait`, nobody saw when
    bool progresses;                         ///< whether it advanced while this rank computed

    double lost() const { return to_seconds((posted - start) + (end - wait)); }

    /// The fraction of its time in flight that this rank did not lose. Where nothing lets it advance meanwhile, the
    /// time before a wait that blocked counts for nothing: the reduction would have taken as long without it.
    double hidden() const {
        if (!progresses && ready && *ready > wait) return 0;
        const double flight = to_seconds(std::max(ready.value_or(wait), posted) - start);
        return flight > 0 ? std::clamp(1 - lost() / flight, 0.0, 1.0) : 0;
    }
};

/// The account of a solve: counts, and seconds by kernel, of each phase. It is always kept; that costs well under a
/// microsecond per statement group.
class Ledger {
public:
    Counts& now() { return at(phase_); }
    Phase phase() const { return phase_; }
    Counts& at(Phase phase) { return counts_[static_cast<std::size_t>(phase)]; }
    const Counts& at(Phase phase) const { return counts_[static_cast<std::size_t>(phase)]; }
    double seconds(Kernel kernel) const {
        double sum = 0;
        for (const auto& counts : counts_) sum += counts.seconds[static_cast<std::size_t>(kernel)];
        return sum;
    }

    /// Products and preconditionings so far: what a reduction in flight compares to know if it was hidden.
    std::int64_t work() const { return work_; }
    void work_done() { ++work_; }

    /// Books under another phase until the end of the scope.
    class [[nodiscard]] Switch {
    public:
        Switch(Ledger& ledger, Phase phase) : ledger_(ledger), before_(ledger.phase_) { ledger.go_to(phase); }
        Switch(const Switch&) = delete;
        ~Switch() { ledger_.go_to(before_); }

    private:
        Ledger& ledger_;
        Phase before_;
    };
    Switch enter(Phase phase) { return {*this, phase}; }

    /// Adds the time until the end of the scope to a kernel, less what watches inside the scope add to theirs.
    class [[nodiscard]] Watch {
    public:
        /// Without a ledger it does nothing.
        Watch(Ledger* ledger, Kernel kernel, const GroupCost& cost = {})
            : ledger_(ledger),
              kernel_(kernel),
              cost_(cost),
              outer_(ledger ? std::exchange(ledger->watch_, this) : nullptr) {}
        Watch(const Watch&) = delete;
        ~Watch() {
            if (!ledger_) return;
            settle();
            ledger_->watch_ = outer_;
            if (ledger_->trace_ && kernel_ != Kernel::small)
                ledger_->trace_->add_kernel(kernels[static_cast<std::size_t>(kernel_)].second, begin_, settled_, cost_);
        }

    private:
        friend class Ledger;
        /// Books what has passed so far.
        void settle() {
            const auto all = Clock::now() - settled_;
            ledger_->now().seconds[static_cast<std::size_t>(kernel_)] += to_seconds(all - inside_);
            if (outer_) outer_->inside_ += all;
            inside_ = {};
            settled_ += all;
        }

        Ledger* ledger_;
        Kernel kernel_;
        GroupCost cost_;
        Watch* outer_;
        Clock::duration inside_{};  // since it was settled
        Clock::time_point begin_ = Clock::now(), settled_ = begin_;
    };
    Watch time(Kernel kernel, const GroupCost& cost = {}) { return {this, kernel, cost}; }

    /// Books a reduction that was started under `phase`. `lane`: one that no other in flight has.
    void record(Phase phase, const Flight& flight, int lane) {
        at(phase).hidden += flight.hidden();
        at(phase).lost += flight.lost();
        if (trace_) trace_->add_reduction(lane, flight.start, flight.ready.value_or(flight.wait));
    }
    /// Books a reduction that nothing was done beside.
    void waited(Clock::duration time) {
        ++now().reductions;
        now().lost += to_seconds(time);
    }
    Trace* trace() const { return trace_; }
    /// Tells the trace what is done now.
    void step(Step::Kind kind, int count, int lane = 0, const Traffic& moved = {}) const {
        if (trace_) trace_->add_step({kind, phase_, count, lane, moved});
    }
    /// Also keeps every span of time (null: no longer).
    void trace_to(Trace* trace) { trace_ = trace; }

private:
    void go_to(Phase phase) {
        if (watch_) watch_->settle();
        phase_ = phase;
    }

    std::array<Counts, 3> counts_;
    std::int64_t work_ = 0;
    Phase phase_ = Phase::setup;
    Watch* watch_ = nullptr;  // the innermost
    Trace* trace_ = nullptr;
};

}  // namespace stretto
