// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/probe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stretto/comm/collective.hpp"
#include "stretto/model/benchmarks.hpp"

namespace stretto {
namespace {

constexpr std::size_t values = 4;        // as many as an iteration sums, or so
constexpr double budget = 0.02;          // seconds for the modes together; what else is done takes as long at most
constexpr double longest = 0.005;        // a reduction that takes longer is measured once and not hidden
constexpr double clearly = 0.1;          // what a mode must gain over none: a tenth of the reduction
constexpr double sensible = 0.5;         // a part that remains lies between 0 and 1, give or take so much
constexpr double next_to_nothing = 0.9;  // of it remains

double gamma_of(const Probe& probe, ProgressMode mode) {
    for (const auto& [each, gamma] : probe.gamma)
        if (each == mode) return gamma;
    return 1;
}

}  // namespace

ProgressMode Probe::choice() const {
    if (gamma.empty()) return library_progress().on ? ProgressMode::library : ProgressMode::poll;
    ProgressMode best = ProgressMode::none;
    for (const auto& [mode, remains] : gamma)
        if (remains < gamma_of(*this, best) - (best == ProgressMode::none ? clearly : 0)) best = mode;
    return best;
}

double Probe::remains() const { return gamma.empty() ? 0 : gamma_of(*this, choice()); }

bool Probe::hides() const { return gamma.empty() || gamma_of(*this, choice()) < next_to_nothing; }

Probe probe(Comm& comm, MpiComm& mpi) {
    const auto start = Clock::now();
    std::vector<double> mine(values, 1.0), total(values);
    Probe result;
    result.reduction = longest;
    // The first also wakes what sleeps; the fastest of some is the latency.
    for (int k = 0; k < 5 && all_max(comm, to_seconds(Clock::now() - start)) < budget / 2; ++k) {
        const auto began = Clock::now();
        comm.start_sum(mine, total).wait();
        const double took = all_max(comm, to_seconds(Clock::now() - began));
        result.reduction = k == 0 ? took : std::min(result.reduction, took);
    }
    if (result.reduction <= longest) {
        const auto modes = offered_modes();
        Work work;
        const Effort effort{30, budget / static_cast<double>(modes.size() + 2)};
        const auto measured = measure_overlap(comm, mpi, values, modes, effort, work);
        result.reduction = measured.blocking;
        for (const auto& each : measured.modes) result.gamma.emplace_back(each.mode, each.gamma);
        if (std::ranges::any_of(result.gamma, [](const auto& each) {
                return !(each.second > -sensible && each.second < 1 + sensible);
            }))
            result.gamma.clear();
    }
    result.seconds = all_max(comm, to_seconds(Clock::now() - start));
    return result;
}

std::string advice(const Probe& probe, double ten) {
    // The vectors that pipelined methods move besides, 40 bytes a row, take as long for a thousand rows of a rank.
    constexpr double negligible = 5e-6;
    constexpr double several = 5;  // ten of them side by side
    const auto takes = fmt::format("reductions take {:.1f} µs", 1e6 * probe.reduction);
    if (probe.reduction < negligible) return takes + ": nothing to hide here: use cg, bicgstab or gmres";
    if (!probe.hides())
        return takes +
               ", and no progress mode hides them behind work: use methods with fewer of them, single_reduction_cg, "
               "improved_bicgstab or s_step_gmres";
    auto text = fmt::format(
        "{}, and with --progress-mode {} work hides {:.0f} % of one: use pipelined_cg, pipelined_bicgstab or "
        "pipelined_gmres:l=1",
        takes, name(probe.choice()), 100 * std::clamp(1 - gamma_of(probe, probe.choice()), 0.0, 1.0));
    if (ten < several)
        text += fmt::format(
            "; where a product takes less than a reduction, deep_pipelined_cg:l=3, for ten in flight take "
            "{:.1f} times as long as one",
            ten);
    return text;
}

std::string to_string(const Probe& probe) {
    std::string text = fmt::format("{}; a reduction takes {:.1f} µs", name(probe.choice()), 1e6 * probe.reduction);
    if (probe.gamma.empty()) text += ", what remains of it behind work could not be measured";
    for (const auto& [mode, remains] : probe.gamma)
        text += fmt::format("{} {} {:.0f} %", mode == ProgressMode::none ? ", of which remain behind work:" : ",",
                            name(mode), 100 * remains);
    return text;
}

}  // namespace stretto
