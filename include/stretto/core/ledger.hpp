// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "stretto/core/statement.hpp"

namespace stretto {

/// What a stretch of a solve did on this rank.
struct Counts {
    std::int64_t applies = 0;
    std::int64_t preconditionings = 0;
    std::int64_t reductions = 0;
    std::int64_t hidden_reductions = 0;  ///< with a product or a preconditioner between start and wait
    Traffic vectors;                     ///< statements only, in vectors of n × m values
    double bytes = 0;                    ///< statements, products and preconditioners on this rank

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
        vectors.reads += sign * other.vectors.reads;
        vectors.writes += sign * other.vectors.writes;
        bytes += sign * other.bytes;
        return *this;
    }
};

/// What the counts are booked under: an iteration as its paper has it, the way there, and what safeguards
/// add.
enum class Phase { setup, iteration, safeguard };

enum class Kernel { apply, precondition, vectors, reductions };
inline constexpr std::array<std::pair<Kernel, std::string_view>, 4> kernels{{{Kernel::apply, "apply"},
                                                                             {Kernel::precondition, "precondition"},
                                                                             {Kernel::vectors, "vectors"},
                                                                             {Kernel::reductions, "reductions"}}};

/// The account of a solve: counts by phase, seconds by kernel. Counting is always on; it costs well under a
/// microsecond per statement group.
class Ledger {
public:
    Counts& now() { return counts_[static_cast<std::size_t>(phase_)]; }
    Phase phase() const { return phase_; }
    Counts& at(Phase phase) { return counts_[static_cast<std::size_t>(phase)]; }
    const Counts& at(Phase phase) const { return counts_[static_cast<std::size_t>(phase)]; }
    double seconds(Kernel kernel) const { return seconds_[static_cast<std::size_t>(kernel)]; }

    /// Products and preconditionings so far: what a reduction in flight compares to know if it was hidden.
    std::int64_t work() const { return work_; }
    void work_done() { ++work_; }

    /// Books under another phase until the end of the scope.
    class [[nodiscard]] Switch {
    public:
        Switch(Ledger& ledger, Phase phase) : ledger_(ledger), before_(ledger.phase_) { ledger.phase_ = phase; }
        Switch(const Switch&) = delete;
        ~Switch() { ledger_.phase_ = before_; }

    private:
        Ledger& ledger_;
        Phase before_;
    };
    Switch book(Phase phase) { return {*this, phase}; }

    /// Adds the time until the end of the scope to a kernel.
    class [[nodiscard]] Watch {
    public:
        Watch(Ledger& ledger, Kernel kernel) : seconds_(ledger.seconds_[static_cast<std::size_t>(kernel)]) {}
        Watch(const Watch&) = delete;
        ~Watch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

    private:
        using Clock = std::chrono::steady_clock;
        double& seconds_;
        Clock::time_point start_ = Clock::now();
    };
    Watch time(Kernel kernel) { return {*this, kernel}; }

private:
    std::array<Counts, 3> counts_;
    std::array<double, kernels.size()> seconds_{};
    std::int64_t work_ = 0;
    Phase phase_ = Phase::setup;
};

}  // namespace stretto
