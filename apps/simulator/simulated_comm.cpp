// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_comm.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "gathered_comm.hpp"
#include "virtual_clock.hpp"
#include "world.hpp"

using namespace stretto;
namespace s4u = simgrid::s4u;

namespace {

constexpr int exchange_tag = 11;
constexpr double between_polls = 200e-9;

}  // namespace

Clock::time_point at_virtual_time(double seconds) {
    return Clock::time_point(Clock::duration(std::llround(seconds * static_cast<double>(Clock::period::den))));
}

GatheredComm*& gathered_clock() {
    static GatheredComm* comm = nullptr;
    return comm;
}

Clock::time_point Clock::now() noexcept {
    return at_virtual_time(gathered_clock() ? gathered_clock()->now() : SimulatedComm::clock());
}

double SimulatedComm::clock() {
    const auto& ranks = World::the().ranks;
    const auto here = ranks.find(s4u::this_actor::get_pid());
    return here == ranks.end() ? s4u::Engine::get_clock() : here->second->now();
}

SimulatedComm::SimulatedComm(const Costs& costs, const SimulationOptions& options)
    : Comm(MPI_COMM_WORLD),
      costs_(costs),
      options_(options),
      on_paper_(options.reductions == Reductions::ana && options.exchanges == Exchanges::memory),
      world_(World::the()) {
    const auto ranks = static_cast<std::size_t>(size());
    world_.network.costs = costs;
    world_.network.hosts.resize(ranks);
    world_.inboxes.resize(ranks);
    world_.counts.resize(ranks);
    world_.network.hosts[static_cast<std::size_t>(rank())] = s4u::this_actor::get_host();
    world_.ranks[s4u::this_actor::get_pid()] = this;
    set_working_set(INFINITY);

    // Of the ranks above the largest power of two, each gives its values to a neighbour first and gets the sum last.
    const int power = static_cast<int>(std::bit_floor(ranks)), rest = size() - power;
    const bool paired = rank() < 2 * rest, gives = paired && rank() % 2 == 0;
    if (paired) steps_.push_back({gives ? rank() + 1 : rank() - 1, gives, !gives, false, before_all});
    const int place = paired ? rank() / 2 : rank() - rest;
    for (int level = 0; !gives && (1 << level) < power; ++level) {
        const int partner = place ^ (1 << level);
        steps_.push_back({partner < rest ? 2 * partner + 1 : partner + rest, true, true, false, level});
    }
    if (paired) steps_.push_back({gives ? rank() + 1 : rank() - 1, !gives, gives, gives, after_all});
    meet();  // all are registered
}

SimulatedComm::~SimulatedComm() {
    meet();
    world_.ranks.erase(s4u::this_actor::get_pid());
}

void SimulatedComm::begin(double working_set) {
    set_working_set(working_set);
    calls_ = 0;
    pay();
    std::array<double, 1> last{now()};
    largest_of(last);
    sleep_until(last[0]);
}

void SimulatedComm::set_working_set(double bytes) { seconds_per_byte_ = costs_.seconds_per_byte(bytes); }

double SimulatedComm::now() const { return s4u::Engine::get_clock() + owed_; }

void SimulatedComm::pay() {
    if (!on_paper_ && owed_ > 0) s4u::this_actor::sleep_for(std::exchange(owed_, 0));
}

void SimulatedComm::sleep_until(double time) {
    if (on_paper_)
        owed_ += std::max(0.0, time - now());
    else if (time > s4u::Engine::get_clock())
        s4u::this_actor::sleep_until(time);
}

void SimulatedComm::work(double bytes) {
    const double seconds = costs_.noisy(costs_.kernel + bytes * seconds_per_byte_, rank(), calls_);
    if (options_.polls == 0 || under_way_.empty()) {
        owed_ += seconds;
        return;
    }
    for (int poll = 0; poll < options_.polls; ++poll) {
        owed_ += seconds / options_.polls;
        pay();
        for (const int ticket : under_way_) advance(flying_[static_cast<std::size_t>(ticket)], false);
    }
}

/// Waits for all ranks, in no virtual time.
void SimulatedComm::meet() {
    auto& meeting = world_.meeting;
    if (++meeting.arrived == size()) {
        meeting.arrived = 0;
        for (auto* const actor : std::exchange(meeting.waiting, {})) actor->resume();
        return;
    }
    meeting.waiting.push_back(s4u::Actor::self());
    s4u::this_actor::suspend();
}

std::int64_t SimulatedComm::sum_before(std::int64_t mine) {
    // SMPI's MPI_Exscan sends P²/2 messages.
    world_.counts[static_cast<std::size_t>(rank())] = mine;
    meet();
    const auto first = world_.counts.begin();
    const std::int64_t before = std::accumulate(first, first + rank(), std::int64_t{0});
    meet();
    return before;
}

void SimulatedComm::largest_of(std::span<double> values) {
    if (world_.meeting.arrived == 0) world_.largest.assign(values.begin(), values.end());
    for (std::size_t k = 0; k < values.size(); ++k) world_.largest[k] = std::max(world_.largest[k], values[k]);
    meet();
    std::ranges::copy(world_.largest, values.begin());
    meet();
}

int SimulatedComm::take_ticket() {
    if (free_tickets_.empty()) {
        free_tickets_.push_back(static_cast<int>(flying_.size()));
        flying_.emplace_back();
    }
    const int ticket = free_tickets_.back();
    free_tickets_.pop_back();
    return ticket;
}

// ---- exchanges ----

Pending SimulatedComm::post_exchange(std::span<const Message> receives, std::span<const Message> sends) {
    pay();
    const int ticket = take_ticket();
    auto& flying = flying_[static_cast<std::size_t>(ticket)];
    flying.sum = false;
    if (options_.exchanges == Exchanges::memory) {
        flying.receives.clear();
        for (const auto& [from, data] : receives) flying.receives.emplace_back(from, data);
        double time = now();
        for (const auto& [to, data] : sends) {
            time += costs_.message;
            auto& inbox = world_.inboxes[static_cast<std::size_t>(to)];
            World::Parcel parcel{time + world_.network.exchanged(rank(), to, data.size()), {}};
            if (!options_.dry) parcel.data.assign(data.begin(), data.end());
            inbox.from[rank()].push_back(std::move(parcel));
            if (inbox.waiting && inbox.awaited == rank()) std::exchange(inbox.waiting, nullptr)->resume();
        }
        owed_ += static_cast<double>(sends.size()) * costs_.message;
        return {*this, ticket};
    }
    flying.requests.resize(receives.size() + sends.size());
    auto request = flying.requests.begin();
    for (const auto& [from, data] : receives)
        MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, from, exchange_tag, mpi(), &*request++);
    for (const auto& [to, data] : sends) {
        s4u::this_actor::sleep_for(costs_.message);
        MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, exchange_tag, mpi(), &*request++);
    }
    flying.received = receives.size();
    return {*this, ticket};
}

void SimulatedComm::take_parcels(Flying& flying) {
    auto& inbox = world_.inboxes[static_cast<std::size_t>(rank())];
    double arrival = 0;
    for (const auto& [from, data] : flying.receives) {
        auto& parcels = inbox.from[from];
        while (parcels.empty()) {
            if (options_.reductions != Reductions::rd) {
                inbox.waiting = s4u::Actor::self();
                inbox.awaited = from;
                s4u::this_actor::suspend();
                continue;
            }
            // The one who is to send may wait for a step of a sum from here: an MPI library advances them while it
            // waits.
            s4u::this_actor::sleep_for(between_polls);
            for (const int sum : under_way_) advance(flying_[static_cast<std::size_t>(sum)], false);
        }
        arrival = std::max(arrival, parcels.front().arrival);
        if (!options_.dry) std::ranges::copy(parcels.front().data, data.begin());
        parcels.pop_front();
    }
    sleep_until(arrival);
    owed_ += static_cast<double>(flying.receives.size()) * costs_.message;
}

// ---- waiting ----

std::optional<Clock::time_point> SimulatedComm::finish(int ticket) {
    pay();
    auto& flying = flying_[static_cast<std::size_t>(ticket)];
    if (flying.sum) {
        if (!options_.blocking) complete(flying, ticket);
    } else if (options_.exchanges == Exchanges::memory) {
        for (const int sum : under_way_) advance(flying_[static_cast<std::size_t>(sum)], false);
        take_parcels(flying);
        for (const int sum : under_way_) advance(flying_[static_cast<std::size_t>(sum)], false);
    } else {
        wait_for(flying.requests);
        owed_ += static_cast<double>(flying.received) * costs_.message;
    }
    free_tickets_.push_back(ticket);
    return at_virtual_time(flying.sum ? flying.due : now());
}

/// While an MPI library waits for one thing, it lets the others advance.
void SimulatedComm::wait_for(std::vector<MPI_Request>& requests) {
    if (under_way_.empty()) {
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        return;
    }
    for (const int sum : under_way_) advance(flying_[static_cast<std::size_t>(sum)], false);
    std::vector<MPI_Request> all;
    for (std::size_t left = requests.size(); left > 0;) {
        all.assign(requests.begin(), requests.end());
        for (const int sum : under_way_) {
            const auto& flying = flying_[static_cast<std::size_t>(sum)];
            if (!flying.done && !flying.arrived) all.insert(all.end(), flying.requests.begin(), flying.requests.end());
        }
        int which = MPI_UNDEFINED;
        MPI_Waitany(static_cast<int>(all.size()), all.data(), &which, MPI_STATUS_IGNORE);
        if (which == MPI_UNDEFINED) break;
        if (static_cast<std::size_t>(which) < requests.size()) {
            requests[static_cast<std::size_t>(which)] = MPI_REQUEST_NULL;
            --left;
            continue;
        }
        auto at = static_cast<std::size_t>(which) - requests.size();
        for (const int sum : under_way_) {
            auto& flying = flying_[static_cast<std::size_t>(sum)];
            if (flying.done || flying.arrived) continue;
            if (at < flying.requests.size()) {
                flying.requests[at] = MPI_REQUEST_NULL;
                advance(flying, false);
                break;
            }
            at -= flying.requests.size();
        }
    }
}
