// SPDX-License-Identifier: BSD-3-Clause
#include "gathered_comm.hpp"

#include <algorithm>

#include "virtual_clock.hpp"

using namespace stretto;

GatheredComm::GatheredComm(const Costs& costs, const SimulationOptions& options, std::vector<simgrid::s4u::Host*> hosts,
                           const Partition& partition)
    : Comm(MPI_COMM_WORLD),
      options_(options),
      clocks_(hosts.size()),
      seconds_per_byte_(hosts.size()),
      calls_(hosts.size()),
      arrivals_(hosts.size()) {
    network_.costs = costs;
    network_.hosts = std::move(hosts);
    for (int p = 0; p < ranks(); ++p)
        share_.push_back(static_cast<double>(partition.rows(p)) / static_cast<double>(partition.rows()));
    gathered_clock() = this;
}

GatheredComm::~GatheredComm() { gathered_clock() = nullptr; }

void GatheredComm::begin(const std::function<double(int rank)>& working_set) {
    for (int p = 0; p < ranks(); ++p)
        seconds_per_byte_[static_cast<std::size_t>(p)] = network_.costs.seconds_per_byte(working_set(p));
    std::ranges::fill(clocks_, 0.0);
    std::ranges::fill(calls_, 0);
    moved_ = true;
}

void GatheredComm::work(std::size_t rank, double bytes) {
    const double seconds = network_.costs.kernel + bytes * seconds_per_byte_[rank];
    clocks_[rank] +=
        network_.costs.are_noisy() ? network_.costs.noisy(seconds, static_cast<int>(rank), calls_[rank]) : seconds;
}

void GatheredComm::charge(double bytes) {
    for (std::size_t p = 0; p < clocks_.size(); ++p) work(p, bytes * share_[p]);
    moved_ = true;
}

void GatheredComm::charge_each(const std::vector<double>& bytes) {
    for (std::size_t p = 0; p < clocks_.size(); ++p)
        if (bytes[p] >= 0) work(p, bytes[p]);
    moved_ = true;
}

double GatheredComm::now() const {
    if (std::exchange(moved_, false)) latest_ = std::ranges::max(clocks_);
    return latest_;
}

Pending GatheredComm::start_sum(std::span<const double> mine, std::span<double> total) {
    if (free_tickets_.empty()) {
        free_tickets_.push_back(static_cast<int>(sums_.size()));
        sums_.emplace_back();
    }
    const int ticket = free_tickets_.back();
    free_tickets_.pop_back();
    std::ranges::copy(mine, total.begin());
    auto& ends = sums_[static_cast<std::size_t>(ticket)];
    ends = clocks_;
    network_.all_reduce(ends, mine.size());
    if (options_.blocking) {
        clocks_ = ends;
        moved_ = true;
    }
    return {*this, ticket};
}

Pending GatheredComm::post_exchange(std::span<const Message>, std::span<const Message>) {
    std::ranges::fill(arrivals_, 0.0);
    for (std::size_t p = 0; p < clocks_.size(); ++p)
        for (const auto& [to, seconds] : exchange_->messages[p]) {
            auto& arrival = arrivals_[static_cast<std::size_t>(to)];
            clocks_[p] += network_.costs.message;
            arrival = std::max(arrival, clocks_[p] + seconds);
        }
    moved_ = true;
    return {*this, ticket_of_exchange};
}

std::optional<Clock::time_point> GatheredComm::finish(int ticket) {
    moved_ = true;
    if (ticket == ticket_of_exchange) {
        for (std::size_t p = 0; p < clocks_.size(); ++p)
            clocks_[p] = std::max(clocks_[p], arrivals_[p]) + exchange_->senders[p] * network_.costs.message;
        return at_virtual_time(now());
    }
    const auto& ends = sums_[static_cast<std::size_t>(ticket)];
    for (std::size_t p = 0; p < clocks_.size(); ++p) clocks_[p] = std::max(clocks_[p], ends[p]);
    free_tickets_.push_back(ticket);
    return at_virtual_time(std::ranges::max(ends));
}
