// SPDX-License-Identifier: BSD-3-Clause
// The sums of SimulatedComm, recursive doubling in three ways.
#include <algorithm>
#include <bit>

#include "simulated_comm.hpp"
#include "world.hpp"

using namespace stretto;
namespace s4u = simgrid::s4u;

namespace {

constexpr int first_tag = 20;
constexpr std::int64_t tags = 64;  // more than are in flight at once

}  // namespace

Pending SimulatedComm::start_sum(std::span<const double> mine, std::span<double> total) {
    if (options_.reductions != Reductions::ana) pay();
    const int ticket = take_ticket();
    auto& flying = flying_[static_cast<std::size_t>(ticket)];
    flying.sum = true;
    flying.done = false;
    flying.number = sums_++;
    flying.total = total;
    flying.start = now();
    std::ranges::copy(mine, total.begin());
    switch (options_.reductions) {
        case Reductions::rd:
            under_way_.push_back(ticket);
            flying.step = 0;
            post(flying);
            break;
        case Reductions::act: post_actor(flying); break;
        case Reductions::ana: post_computed(flying); break;
        case Reductions::mpi:
            MPI_Allreduce(mine.data(), total.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_SUM, mpi());
            flying.due = s4u::Engine::get_clock();
    }
    if (options_.blocking) complete(flying, ticket);
    return {*this, ticket};
}

// ---- rd: messages, advanced by calls ----

void SimulatedComm::post(Flying& flying) {
    if (flying.step == steps_.size()) {
        flying.done = true;
        flying.due = s4u::Engine::get_clock();
        return;
    }
    const Step& step = steps_[flying.step];
    const int tag = first_tag + static_cast<int>(flying.number % tags);
    const auto count = static_cast<int>(flying.total.size()) + 1;
    flying.posted = s4u::Engine::get_clock();
    flying.arrived = false;
    flying.requests.assign(2, MPI_REQUEST_NULL);
    if (step.receives) {
        flying.receiving.resize(static_cast<std::size_t>(count));
        MPI_Irecv(flying.receiving.data(), count, MPI_DOUBLE, step.partner, tag, mpi(), flying.requests.data());
    }
    if (step.sends) {
        flying.sending.assign(flying.total.begin(), flying.total.end());
        flying.sending.push_back(flying.posted);
        s4u::this_actor::sleep_for(costs_.message);
        MPI_Isend(flying.sending.data(), count, MPI_DOUBLE, step.partner, tag, mpi(), &flying.requests[1]);
    }
}

void SimulatedComm::advance(Flying& flying, bool wait) {
    while (!flying.done) {
        const Step& step = steps_[flying.step];
        if (!flying.arrived) {
            int complete = 1;
            if (wait)
                MPI_Waitall(2, flying.requests.data(), MPI_STATUSES_IGNORE);
            else
                MPI_Testall(2, flying.requests.data(), &complete, MPI_STATUSES_IGNORE);
            if (!complete) return;
            flying.arrived = true;
            if (step.receives) s4u::this_actor::sleep_for(costs_.message);
            const double floor = world_.network.floor_of(step.level, flying.total.size_bytes());
            flying.due = step.receives ? std::max(flying.posted, flying.receiving.back()) + floor : 0;
        }
        if (flying.due > s4u::Engine::get_clock()) {
            if (!wait) return;
            sleep_until(flying.due);
        }
        if (step.receives)
            for (std::size_t k = 0; k < flying.total.size(); ++k)
                flying.total[k] = flying.receiving[k] + (step.replaces ? 0 : flying.total[k]);
        ++flying.step;
        post(flying);
    }
}

// ---- ana: the steps of all ranks at once, when the last has started ----

void SimulatedComm::post_computed(Flying& flying) {
    auto& sum = world_.computed[flying.number];
    const auto ranks = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank()),
               width = flying.total.size();
    if (sum.started == 0) {
        sum.values.resize(ranks * width);
        sum.times.resize(ranks);
    }
    sum.times[me] = flying.start;
    std::ranges::copy(flying.total, sum.values.begin() + static_cast<std::ptrdiff_t>(me * width));
    if (++sum.started < size()) return;

    const auto value = [&](std::size_t p) { return sum.values.begin() + static_cast<std::ptrdiff_t>(p * width); };
    const auto add = [&](std::size_t from, std::size_t to) {
        for (std::size_t k = 0; k < width; ++k)
            value(to)[static_cast<std::ptrdiff_t>(k)] += value(from)[static_cast<std::ptrdiff_t>(k)];
    };
    // Both partners of a step get the same bits, so one of each group has the sum of all.
    const std::size_t power = std::bit_floor(ranks), rest = ranks - power;
    const auto rank_of = [&](std::size_t place) { return place < rest ? 2 * place + 1 : place + rest; };
    for (std::size_t p = 0; p < 2 * rest; p += 2) add(p, p + 1);
    for (std::size_t step = 1; step < power; step *= 2)
        for (std::size_t place = 0; place < power; place += 2 * step) add(rank_of(place + step), rank_of(place));
    for (std::size_t p = 0; p < ranks; ++p)
        if (p != rank_of(0)) std::copy_n(value(rank_of(0)), width, value(p));
    world_.network.all_reduce(sum.times, width);
    sum.ready = true;
    for (auto* actor : sum.waiting) actor->resume();
    sum.waiting.clear();
}

// ---- act: an actor for each rank and sum ----

void SimulatedComm::post_actor(Flying& flying) {
    // The actor outlives no wait, and the flying stays where it is until then.
    s4u::Actor::create("sum", s4u::this_actor::get_host(), [this, &flying] {
        const double overhead = costs_.message;
        for (const Step& step : steps_) {
            const double posted = s4u::Engine::get_clock();
            double due = posted;
            if (step.sends) {
                s4u::this_actor::sleep_for(overhead);
                auto& letter = world_.letter(flying.number, step.level, step.partner);
                letter.values.assign(flying.total.begin(), flying.total.end());
                letter.values.push_back(posted);
                const auto here = letter.here;
                s4u::Comm::sendto_async(s4u::this_actor::get_host(),
                                        world_.network.hosts[static_cast<std::size_t>(step.partner)],
                                        letter.values.size() * sizeof(double))
                    ->wait();
                here->release();
            }
            if (step.receives) {
                world_.letter(flying.number, step.level, rank()).here->acquire();
                const auto letter = world_.letters.extract({flying.number, step.level, rank()}).mapped();
                s4u::this_actor::sleep_for(overhead);
                due = std::max(posted, letter->values.back()) +
                      world_.network.floor_of(step.level, flying.total.size_bytes());
                for (std::size_t k = 0; k < flying.total.size(); ++k)
                    flying.total[k] = letter->values[k] + (step.replaces ? 0 : flying.total[k]);
            }
            sleep_until(due);
        }
        flying.due = s4u::Engine::get_clock();
        flying.done = true;
        if (flying.waiting) flying.waiting->resume();
    });
}

// ---- all of them ----

void SimulatedComm::complete(Flying& flying, int ticket) {
    pay();
    switch (options_.reductions) {
        case Reductions::mpi: break;
        case Reductions::rd:
            std::erase(under_way_, ticket);
            advance(flying, true);
            break;
        case Reductions::act:
            if (!flying.done) {
                flying.waiting = s4u::Actor::self();
                s4u::this_actor::suspend();
                flying.waiting = nullptr;
            }
            break;
        case Reductions::ana: {
            auto& sum = world_.computed[flying.number];
            if (!sum.ready) sum.waiting.push_back(s4u::Actor::self());
            while (!sum.ready) s4u::this_actor::suspend();
            const auto me = static_cast<std::size_t>(rank()), width = flying.total.size();
            std::copy_n(sum.values.begin() + static_cast<std::ptrdiff_t>(me * width), width, flying.total.begin());
            flying.due = sum.times[me];
            if (++sum.finished == size()) world_.computed.erase(flying.number);
            sleep_until(flying.due);
        }
    }
    flying.done = true;
}
