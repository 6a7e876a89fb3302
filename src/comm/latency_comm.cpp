// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/latency_comm.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/spec.hpp"

namespace stretto {
namespace {

constexpr std::size_t flying_at_first = 16;  // so that no iteration allocates one: more than any method has in flight
// A sleep ends late by this much or so; the rest is waited for awake.
constexpr auto oversleep = std::chrono::microseconds(100);

Clock::duration parse_time(const std::string& text) {
    double value = 0;
    const auto* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    const std::string_view unit(end, static_cast<std::size_t>(last - end));
    const double scale = unit == "s"                    ? 1
                         : unit == "ms"                 ? 1e-3
                         : unit == "us" || unit == "µs" ? 1e-6
                         : unit == "ns"                 ? 1e-9
                                                        : 0;
    if (error != std::errc() || !(value >= 0) || (scale == 0 && !(unit.empty() && value == 0)) || value * scale > 60)
        throw InputError(fmt::format("'{}' is not a time up to a minute, as 500us or 1.5ms", text));
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(value * scale));
}

}  // namespace

Latency parse_latency(const std::string& text) {
    Latency latency;
    std::size_t begin = 0;
    for (int part = 0; begin <= text.size(); ++part) {
        const auto end = std::min(text.find(',', begin), text.size());
        const auto item = text.substr(begin, end - begin);
        const auto equals = item.find('=');
        const auto key = equals == item.npos ? "" : item.substr(0, equals);
        const auto value = item.substr(equals == item.npos ? 0 : equals + 1);
        if (part == 0 && key.empty())
            latency.reduction = parse_time(value);
        else if (key == "message")
            latency.message = parse_time(value);
        else if (key == "jitter")
            latency.jitter = parse_time(value);
        else
            throw InputError(fmt::format("'{}' is not a latency: REDUCTION[,message=TIME][,jitter=TIME]", text));
        begin = end + 1;
    }
    if (latency.jitter.count() > 0 && latency.reduction.count() == 0 && latency.message.count() == 0)
        throw InputError(fmt::format("'{}': jitter is of a latency, and there is none", text));
    return latency;
}

LatencyComm::LatencyComm(Comm& inner, Latency latency, std::uint64_t seed)
    : WrappedComm(inner), latency_(latency), seed_(seed), offset_(clock_offset(inner)), flying_(flying_at_first) {}

/// Something that flies from now on. The jitter is the same in every run, and for sums on every rank.
LatencyComm::Flying& LatencyComm::take(Clock::duration latency, std::uint64_t stream, std::int64_t number) {
    const auto free = std::ranges::find_if(flying_, [](const Flying& each) { return !each.used; });
    Flying& flying = free == flying_.end() ? flying_.emplace_back() : *free;
    flying.used = true;
    flying.latency = latency;
    flying.start = Clock::now();
    if (latency > Clock::duration::zero()) {
        const double fraction = (1 + uniform(seed_ + stream, number)) / 2;
        flying.latency += std::chrono::duration_cast<Clock::duration>(fraction * latency_.jitter);
    }
    return flying;
}

Pending LatencyComm::fly(Flying& flying, Pending pending) {
    flying.pending = std::move(pending);
    const auto place = std::ranges::find_if(flying_, [&](const Flying& each) { return &each == &flying; });
    return {*this, static_cast<int>(place - flying_.begin())};
}

Pending LatencyComm::start_sum(std::span<const double> mine, std::span<double> total) {
    Flying& flying = take(latency_.reduction, 0, sums_++);
    auto pending = fly(flying, inner_.start_sum(mine, total));
    flying.mine = (flying.start - offset_).time_since_epoch().count();
    if (flying.latency > Clock::duration::zero())
        MPI_Iallreduce(&flying.mine, &flying.last, 1, MPI_INT64_T, MPI_MAX, mpi(), &flying.request);
    return pending;
}

Pending LatencyComm::post_exchange(std::span<const Message> receives, std::span<const Message> sends) {
    Flying& flying = take(receives.empty() ? Clock::duration::zero() : latency_.message,
                          1 + static_cast<std::uint64_t>(rank()), exchanges_++);
    return fly(flying, inner_.start_exchange(receives, sends));
}

/// That of a sum, when the ranks have told each other theirs.
void LatencyComm::take_start(Flying& flying) const {
    flying.start = Clock::time_point(Clock::duration(flying.last)) + offset_;
}

bool LatencyComm::is_complete(int ticket) {
    Flying& flying = flying_[static_cast<std::size_t>(ticket)];
    if (!flying.pending.complete()) return false;
    if (flying.request != MPI_REQUEST_NULL) {
        int complete = 0;
        MPI_Test(&flying.request, &complete, MPI_STATUS_IGNORE);
        if (!complete) return false;
        take_start(flying);
    }
    return flying.latency == Clock::duration::zero() || Clock::now() >= flying.start + flying.latency;
}

std::optional<Clock::time_point> LatencyComm::finish(int ticket) {
    Flying& flying = flying_[static_cast<std::size_t>(ticket)];
    const auto arrived = flying.pending.wait();
    flying.used = false;
    if (flying.latency == Clock::duration::zero()) return arrived;
    if (flying.request != MPI_REQUEST_NULL) {
        MPI_Wait(&flying.request, MPI_STATUS_IGNORE);
        take_start(flying);
    }
    const auto due = flying.start + flying.latency;
    for (auto now = Clock::now(); now < due; now = Clock::now()) {
        inner_.progress();  // as any MPI library does while it waits
        if (due - now > oversleep)
            std::this_thread::sleep_for(std::min<Clock::duration>(due - now - oversleep, oversleep));
        else
            std::this_thread::yield();
    }
    return arrived ? std::max(*arrived, due) : due;
}

}  // namespace stretto
