// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_comm.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <simgrid/s4u.hpp>
#include <unordered_map>

#include "stretto/core/random.hpp"

using namespace stretto;
namespace s4u = simgrid::s4u;

namespace {

constexpr int exchange_tag = 11, first_sum_tag = 20;
constexpr std::int64_t sum_tags = 64;  // more than are in flight at once

Clock::time_point at(double seconds) {
    return Clock::time_point(Clock::duration(std::llround(seconds * static_cast<double>(Clock::period::den))));
}

}  // namespace

/// What the ranks share, for they are actors in one process that run in turn: it is the network that no MPI message
/// stands for.
struct SimulatedComm::World {
    /// A sum that is computed, not sent.
    struct Computed {
        std::vector<double> values;  // rank by rank
        std::vector<double> times;   // of the starts, then of the ends
        std::vector<s4u::Actor*> waiting;
        int started = 0, finished = 0;
        bool ready = false;
    };
    /// What one actor of a sum leaves for another.
    struct Letter {
        std::vector<double> values;
        s4u::SemaphorePtr here = s4u::Semaphore::create(0);
    };
    struct Parcel {
        double arrival;
        std::vector<std::byte> data;
    };
    struct Inbox {
        std::unordered_map<int, std::deque<Parcel>> from;
        s4u::Actor* waiting = nullptr;
        int awaited = 0;  // from whom
    };

    std::unordered_map<long, SimulatedComm*> ranks;  // by actor
    std::vector<s4u::Host*> hosts;                   // by rank
    std::map<std::int64_t, Computed> computed;
    std::map<std::tuple<std::int64_t, int, int>, std::shared_ptr<Letter>> letters;  // by sum, level and receiver
    std::vector<Inbox> inboxes;
    std::vector<std::int64_t> counts;
    std::vector<double> largest;
    struct {
        int arrived = 0;
        std::vector<s4u::Actor*> waiting;
    } meeting;
    std::map<std::pair<s4u::Host*, s4u::Host*>, double> latencies;
    std::vector<double> ends;

    static World& the() {
        static World world;
        return world;
    }

    Letter& letter(std::int64_t number, int level, int rank) {
        auto& found = letters[{number, level, rank}];
        if (!found) found = std::make_shared<Letter>();
        return *found;
    }

    double latency(int from, int to) {
        s4u::Host *const a = hosts[static_cast<std::size_t>(from)], *const b = hosts[static_cast<std::size_t>(to)];
        const auto [found, fresh] = latencies.try_emplace({a, b}, 0.0);
        if (fresh) {
            std::vector<s4u::Link*> links;
            a->route_to(b, links, &found->second);
        }
        return found->second;
    }
};

Clock::time_point Clock::now() noexcept { return at(SimulatedComm::clock()); }

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
    world_.hosts.resize(ranks);
    world_.inboxes.resize(ranks);
    world_.counts.resize(ranks);
    world_.hosts[static_cast<std::size_t>(rank())] = s4u::this_actor::get_host();
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

void SimulatedComm::set_working_set(double bytes) {
    const double cached = bytes > 0 ? std::min(1.0, costs_.cache / bytes) : 1;
    seconds_per_byte_ = cached / costs_.cache_bandwidth + (1 - cached) / costs_.memory_bandwidth;
}

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

/// Imbalance makes a kernel longer in proportion, detours of the operating system come by the time it takes.
double SimulatedComm::noisy(double seconds) {
    const auto uniform_01 = [&] { return (1 + uniform(costs_.seed, rank(), static_cast<Global>(calls_++))) / 2; };
    if (costs_.imbalance > 0) seconds *= 1 - costs_.imbalance * std::log1p(-uniform_01());
    if (costs_.detour_rate > 0 && uniform_01() < seconds * costs_.detour_rate) seconds += costs_.detour_seconds;
    return seconds;
}

void SimulatedComm::work(double bytes) {
    const double seconds = noisy(costs_.kernel + bytes * seconds_per_byte_);
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

/// What the law of the machine adds to the step at this level, in which groups of 2^level ranks become twice as large.
double SimulatedComm::floor_of(int level, std::size_t bytes) const {
    const auto& c = costs_.all_reduce;
    if ((c[0] == 0 && c[1] == 0) || level < 0) return 0;
    const auto law = [&](int log_nodes) {
        return c[0] + c[1] * std::pow(static_cast<double>(bytes), c[2]) * std::pow(2.0, c[3] * log_nodes);
    };
    const int inside = std::bit_width(static_cast<unsigned>(costs_.ranks_per_node - 1));  // levels within a node
    if (level < inside) return law(0) / inside;
    return law(level - inside + 1) - law(level - inside);
}

// ---- rd: messages, advanced by calls ----

void SimulatedComm::post(Flying& flying) {
    if (flying.step == steps_.size()) {
        flying.done = true;
        flying.due = s4u::Engine::get_clock();
        return;
    }
    const Step& step = steps_[flying.step];
    const int tag = first_sum_tag + static_cast<int>(flying.number % sum_tags);
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
            const double floor = floor_of(step.level, flying.total.size_bytes());
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

    const std::size_t bytes = (width + 1) * sizeof(double);
    const auto message = [&](std::size_t from, std::size_t to) {
        const bool near = world_.hosts[from] == world_.hosts[to];
        return 2 * costs_.message +
               static_cast<double>(bytes) / (near ? costs_.node_bandwidth : costs_.network_bandwidth) +
               (near ? costs_.node_latency : world_.latency(static_cast<int>(from), static_cast<int>(to)));
    };
    auto& times = sum.times;
    const auto value = [&](std::size_t p) { return sum.values.begin() + static_cast<std::ptrdiff_t>(p * width); };
    const auto add = [&](std::size_t from, std::size_t to) {
        for (std::size_t k = 0; k < width; ++k)
            value(to)[static_cast<std::ptrdiff_t>(k)] += value(from)[static_cast<std::ptrdiff_t>(k)];
    };
    const std::size_t power = std::bit_floor(ranks), rest = ranks - power;
    const auto rank_of = [&](std::size_t place) { return place < rest ? 2 * place + 1 : place + rest; };
    for (std::size_t p = 0; p < 2 * rest; p += 2) {
        add(p, p + 1);
        times[p + 1] = std::max(times[p + 1] + costs_.message, times[p] + message(p, p + 1));
    }
    auto& ends = world_.ends;
    ends.resize(ranks);
    for (int level = 0; (std::size_t{1} << level) < power; ++level) {
        const double floor = floor_of(level, width * sizeof(double));
        for (std::size_t place = 0; place < power; ++place) {
            const std::size_t other = place ^ (std::size_t{1} << level), p = rank_of(place), q = rank_of(other);
            ends[p] = std::max(
                {times[p] + 2 * costs_.message, times[q] + message(q, p), std::max(times[p], times[q]) + floor});
            if (place < other) add(q, p);
        }
        for (std::size_t place = 0; place < power; ++place) {
            const std::size_t other = place ^ (std::size_t{1} << level), p = rank_of(place);
            times[p] = ends[p];
            if (place > other) std::copy_n(value(rank_of(other)), width, value(p));
        }
    }
    for (std::size_t p = 0; p < 2 * rest; p += 2) {
        std::copy_n(value(p + 1), width, value(p));
        times[p] = times[p + 1] + message(p + 1, p);
    }
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
                                        world_.hosts[static_cast<std::size_t>(step.partner)],
                                        letter.values.size() * sizeof(double))
                    ->wait();
                here->release();
            }
            if (step.receives) {
                world_.letter(flying.number, step.level, rank()).here->acquire();
                const auto letter = world_.letters.extract({flying.number, step.level, rank()}).mapped();
                s4u::this_actor::sleep_for(overhead);
                due = std::max(posted, letter->values.back()) + floor_of(step.level, flying.total.size_bytes());
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
            const bool near = world_.hosts[static_cast<std::size_t>(to)] == s4u::this_actor::get_host();
            auto& inbox = world_.inboxes[static_cast<std::size_t>(to)];
            World::Parcel parcel{
                time + latency_to(to) +
                    static_cast<double>(data.size()) / (near ? costs_.node_bandwidth : costs_.network_bandwidth),
                {}};
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

double SimulatedComm::latency_to(int to) {
    const auto known = std::ranges::find(latencies_, to, &std::pair<int, double>::first);
    if (known != latencies_.end()) return known->second;
    const bool near = world_.hosts[static_cast<std::size_t>(to)] == s4u::this_actor::get_host();
    return latencies_.emplace_back(to, near ? costs_.node_latency : world_.latency(rank(), to)).second;
}

void SimulatedComm::take_parcels(Flying& flying) {
    auto& inbox = world_.inboxes[static_cast<std::size_t>(rank())];
    double arrival = 0;
    for (const auto& [from, data] : flying.receives) {
        auto& parcels = inbox.from[from];
        while (parcels.empty()) {
            inbox.waiting = s4u::Actor::self();
            inbox.awaited = from;
            s4u::this_actor::suspend();
        }
        arrival = std::max(arrival, parcels.front().arrival);
        if (!options_.dry) std::ranges::copy(parcels.front().data, data.begin());
        parcels.pop_front();
    }
    sleep_until(arrival);
    owed_ += static_cast<double>(flying.receives.size()) * costs_.message;
}

// ---- waiting ----

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
    return flying.sum ? at(flying.due) : at(now());
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
