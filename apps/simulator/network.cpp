// SPDX-License-Identifier: BSD-3-Clause
#include "network.hpp"

#include <algorithm>
#include <bit>
#include <simgrid/s4u.hpp>

#include "stretto/core/random.hpp"

using namespace stretto;
namespace s4u = simgrid::s4u;

double Costs::seconds_per_byte(double working_set) const {
    const double cached = working_set > 0 ? std::min(1.0, cache / working_set) : 1;
    return cached / cache_bandwidth + (1 - cached) / memory_bandwidth;
}

double Costs::noisy(double seconds, int rank, std::uint64_t& calls) const {
    const auto uniform_01 = [&] { return (1 + uniform(seed, rank, static_cast<Global>(calls++))) / 2; };
    if (imbalance > 0) seconds *= 1 - imbalance * std::log1p(-uniform_01());
    if (detour_rate > 0 && uniform_01() < seconds * detour_rate) seconds += detour_seconds;
    return seconds;
}

Network::Way Network::way(int from, int to) {
    auto *const here = hosts[static_cast<std::size_t>(from)], *const there = hosts[static_cast<std::size_t>(to)];
    if (here == there) return {costs.node_latency, costs.node_bandwidth};
    const auto [found, fresh] = ways_.try_emplace({here, there});
    auto& [latency, bandwidth] = found->second;
    if (fresh) {
        std::vector<s4u::Link*> links;
        here->route_to(there, links, &latency);
        bandwidth = costs.network_bandwidth;
        for (const auto* const link : links) bandwidth = std::min(bandwidth, link->get_bandwidth());
    }
    return found->second;
}

double Network::transit(int from, int to, std::size_t bytes) {
    const auto [latency, bandwidth] = way(from, to);
    return latency + static_cast<double>(bytes) / bandwidth;
}

double Network::exchanged(int from, int to, std::size_t bytes) {
    const auto& c = costs.exchange;
    if (c[0] == 0 || hosts[static_cast<std::size_t>(from)] == hosts[static_cast<std::size_t>(to)])
        return transit(from, to, bytes);
    const auto size = static_cast<double>(bytes);
    const double law = size <= c[0] ? c[1] + c[2] * std::pow(size, c[3]) : c[4] + c[5] * std::pow(size, c[6]);
    return std::max(0.0, law - 2 * costs.message);
}

double Network::floor_of(int level, std::size_t bytes) const {
    const auto& c = costs.all_reduce;
    if ((c[0] == 0 && c[1] == 0) || level < 0) return 0;
    const auto law = [&](int log_nodes) {
        return c[0] + c[1] * std::pow(static_cast<double>(bytes), c[2]) * std::pow(2.0, c[3] * log_nodes);
    };
    const int inside = std::bit_width(static_cast<unsigned>(costs.ranks_per_node - 1));  // levels within a node
    if (level < inside) return law(0) / inside;
    return law(level - inside + 1) - law(level - inside);
}

namespace {

/// Of the ranks above the largest power of two, each gives its values to a neighbour first and gets the sum last.
struct Doubling {
    explicit Doubling(std::size_t ranks) : power(std::bit_floor(ranks)), rest(ranks - power) {}
    std::size_t power, rest;
    int levels() const { return std::bit_width(power) - 1; }
    std::size_t rank_of(std::size_t place) const { return place < rest ? 2 * place + 1 : place + rest; }
};

}  // namespace

/// The ways by which ranks receive at a level; at the one after the last, those of the pairs, there and back.
std::vector<Network::Way> Network::ways_of_level(int level) {
    const Doubling doubling(hosts.size());
    std::vector<Way> ways(hosts.size());
    const auto between = [&](std::size_t from, std::size_t to) {
        ways[to] = way(static_cast<int>(from), static_cast<int>(to));
    };
    for (std::size_t place = 0; level < doubling.levels() && place < doubling.power; ++place)
        between(doubling.rank_of(place ^ (std::size_t{1} << level)), doubling.rank_of(place));
    for (std::size_t p = 0; level == doubling.levels() && p < 2 * doubling.rest; p += 2)
        between(p, p + 1), between(p + 1, p);
    return ways;
}

void Network::all_reduce(std::vector<double>& times, std::size_t values) {
    const Doubling doubling(hosts.size());
    for (auto level = static_cast<int>(levels_.size()); level <= doubling.levels(); ++level)
        levels_.push_back(ways_of_level(level));
    const double bytes = static_cast<double>(values + 1) * sizeof(double), end = costs.message;
    const auto arrives = [&](const Way& way, double sent) {
        return sent + (2 * end + (way.latency + bytes / way.bandwidth));
    };
    const auto& pairs = levels_.back();
    for (std::size_t p = 0; p < 2 * doubling.rest; p += 2)
        times[p + 1] = std::max(times[p + 1] + end, arrives(pairs[p + 1], times[p]));
    ends_.resize(times.size());
    for (int level = 0; level < doubling.levels(); ++level) {
        const double floor = floor_of(level, values * sizeof(double));
        const auto& ways = levels_[static_cast<std::size_t>(level)];
        for (std::size_t place = 0; place < doubling.power; ++place) {
            const std::size_t p = doubling.rank_of(place), q = doubling.rank_of(place ^ (std::size_t{1} << level));
            ends_[p] = std::max({times[p] + 2 * end, arrives(ways[p], times[q]), std::max(times[p], times[q]) + floor});
        }
        for (std::size_t place = 0; place < doubling.power; ++place)
            times[doubling.rank_of(place)] = ends_[doubling.rank_of(place)];
    }
    for (std::size_t p = 0; p < 2 * doubling.rest; p += 2) times[p] = arrives(pairs[p], times[p + 1]);
}
