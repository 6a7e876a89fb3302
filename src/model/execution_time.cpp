// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/execution_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stretto {

// ---- the machine ----

namespace {

/// Between two sizes a power of the size.
double at(const std::vector<std::pair<double, double>>& sweep, double working_set) {
    const auto above = std::ranges::lower_bound(sweep, working_set, {}, &std::pair<double, double>::first);
    if (above == sweep.begin()) return sweep.front().second;
    if (above == sweep.end()) return sweep.back().second;
    const auto& [size0, b0] = *std::prev(above);
    const auto& [size1, b1] = *above;
    const double part = std::log(working_set / size0) / std::log(size1 / size0);
    return b0 * std::pow(b1 / b0, part);
}

}  // namespace

double ModelMachine::b(double working_set) const {
    if (!sweep.empty()) return at(sweep, working_set);
    const double cached = working_set > cache ? cache / working_set : 1;
    return 1 / (cached / cache_bandwidth + (1 - cached) / memory_bandwidth);
}

double ModelMachine::b_of_reads(double working_set) const {
    return reads.empty() ? b(working_set) : at(reads, working_set);
}

/// Links on the way to a node so far away, in the order in which nodes are numbered.
double ModelMachine::latency(int distance) const {
    if (dragonfly)  // as Aries: 4 nodes on a router, 64 in a chassis, 384 in a group
        return link_latency * (distance < 4 ? 2 : distance < 64 ? 3 : distance < 384 ? 4 : 7);
    return link_latency * (distance < 16 ? 2 : 4);
}

double ModelMachine::T_L(double l, int p) const {
    if (p == 1 && !exchange) return 2 * message + node_latency + l / node_bandwidth;
    if (exchange) return (*exchange)(l);
    return 2 * message + latency(1) + l / network_bandwidth;
}

double ModelMachine::T_G(int p, double l) const {
    if (all_reduce) return (*all_reduce)(l, p);
    const int ranks = p * ranks_per_node;
    double seconds = 0;
    for (int distance = 1; distance < ranks; distance *= 2) {  // a partner of each step
        const bool inside = ranks_per_node % (2 * distance) == 0;
        seconds += 2 * message + (inside ? node_latency + l / node_bandwidth
                                         : latency(std::max(1, distance / ranks_per_node)) + l / network_bandwidth);
    }
    if (!std::has_single_bit(static_cast<unsigned>(ranks))) seconds += 2 * message + node_latency;
    return seconds;
}

// ---- the system ----

ModelSystem ModelSystem::published() const {
    ModelSystem paper = *this;
    paper.product = {N * 4 * (3 * C + 1), N * 8 * (C + 1)};
    paper.boundary = [own = boundary](int ranks) {
        const int few = 4;  // which have neighbours on both sides, and many rows
        Boundary all = own(ranks);
        all.message = own(std::min(ranks, few)).halo;
        all.interface = all.halo = 0;
        return all;
    };
    return paper;
}

// ---- the terms ----

double ExecutionTime::working_set(int p, int vectors) const {
    return (system_.stored + 8 * system_.N * m_ * (2 + vectors)) / p;
}

double ExecutionTime::T_vec(int p, int vectors) const { return 8 * system_.N * m_ / (b(p, vectors) * p); }

double ExecutionTime::T_mul(int p, int vectors) const {
    if (system_.trial) return system_.trial(vectors).product;
    const auto [rows, interface, halo, message, neighbours] = system_.boundary(p * machine_.ranks_per_node);
    const double of_halo = 8 * m_ * halo * machine_.ranks_per_node;  // of a node
    return machine_.kernel * (interface > 0 ? 2 : 1) + (system_.product(m_) / p + of_halo) / b(p, vectors);
}

double ExecutionTime::T_SpMV(int p, int vectors) const {
    const auto [rows, interface, halo, message, neighbours] = system_.boundary(p * machine_.ranks_per_node);
    const double T_mul = this->T_mul(p, vectors);
    if (neighbours == 0 || system_.trial) return T_mul;
    // Interior rows hide the way of the messages, and not what a processor does at its ends of them; of the others the
    // product begins when they are there.
    const double after = interface / rows * T_mul, ends = 2 * machine_.message;
    return neighbours * ends + std::max(T_mul - after, machine_.T_L(8 * m_ * message, p) - ends) + after;
}

double ExecutionTime::T_prec(int p, int vectors) const {
    if (system_.trial) return system_.trial(vectors).preconditioner;
    const auto& moved = system_.preconditioner;
    return machine_.kernel * moved.passes + moved(m_) / (b(p, vectors) * p) + moved.reductions * T_G(p, 1, vectors);
}

double ExecutionTime::T_G(int p, int k, int vectors) const {
    if (system_.trial) return system_.trial(vectors).reduction;
    return machine_.T_G(p, 8.0 * m_ * k);
}

/// A pass is bound by memory, or by the processor, which has its share of what the text of the iteration takes. An
/// update, by which bandwidth is measured, reads two vectors and writes one.
double ExecutionTime::pass_time(const MethodIteration& iteration, const MethodIteration::Event& event, int p) const {
    const double T_vec = this->T_vec(p, iteration.vectors_stored);
    const double T_read =
        T_vec * b(p, iteration.vectors_stored) / machine_.b_of_reads(working_set(p, iteration.vectors_stored));
    const double T_write = std::max(3 * T_vec - 2 * T_read, 0.0);
    const double moving = (event.vectors - event.writes) * T_read + event.writes * T_write;
    if (!iteration.text) return machine_.kernel + moving;
    double all = 0, passes = 0;
    for (const auto& other : iteration.events)
        if (other.kind == Step::vectors) all += other.vectors, ++passes;
    const double values = system_.N * m_ / (p * machine_.ranks_per_node);
    return iteration.iterations * (iteration.text->iteration / passes) +
           std::max(moving, iteration.iterations * iteration.text->value * values * event.vectors / all);
}

double ExecutionTime::range_of_optimality(int p, int vectors) const { return T_G(p, 1, vectors) * b(p, vectors) / 8; }

// ---- an iteration ----

/// A loop that is one kernel (src/device/one_kernel.hpp) takes one column, on one rank.
bool ExecutionTime::is_one_kernel(const MethodIteration& iteration, int p) const {
    return iteration.may_be_one_kernel && machine_.barrier > 0 && system_.N <= machine_.one_kernel_rows &&
           system_.diagonal && m_ == 1 && p * machine_.ranks_per_node == 1 && !system_.trial;
}

/// Nothing is launched, and nothing hidden: all blocks meet before a product, and where a sum is to be there. The
/// matrix is compressed rows with 4 bytes for a column.
IterationTime ExecutionTime::in_one_kernel(const MethodIteration& iteration) const {
    const double N = system_.N, row = 12 * system_.C;
    const double b = machine_.b(N * (row + 8.0 * (2 + iteration.vectors_stored + iteration.preconditioned)));
    IterationTime time;
    for (const auto& event : iteration.events) {
        if (event.kind == Step::vectors) time.vectors += event.vectors * 8 * N / b;
        if (event.kind == Step::product) time.products += event.count * (machine_.barrier + (row + 16) * N / b);
        if (event.kind == Step::preconditioner) time.preconditioner += event.count * system_.preconditioner(1) / b;
        if (event.kind == Step::start) time.sums += machine_.barrier;
    }
    for (double* const part : {&time.vectors, &time.products, &time.preconditioner, &time.sums})
        *part /= iteration.iterations;
    return time;
}

/// Time goes by as the text has it. A sum that was started at s is there at T = max(t + γ T_G, s + T_G), for at t,
/// where it is waited for, T_calc = t − s of work has gone by: (12). Periods are repeated until they all take as long.
IterationTime ExecutionTime::operator()(const MethodIteration& iteration, int p) const {
    if (is_one_kernel(iteration, p)) return in_one_kernel(iteration);
    const int vectors = iteration.vectors_stored;
    const double T_mul = this->T_mul(p, vectors), T_SpMV = this->T_SpMV(p, vectors), T_prec = this->T_prec(p, vectors);
    IterationTime time;
    std::vector<double> seconds;  // of each event
    std::size_t most_in_flight = 1;
    for (const auto& event : iteration.events) {
        most_in_flight = std::max(most_in_flight, static_cast<std::size_t>(event.lag) + 1);
        const auto take = [&](double each, double& part) {
            part += each;
            seconds.push_back(each);
        };
        switch (event.kind) {
            case Step::vectors: take(pass_time(iteration, event, p), time.vectors); break;
            case Step::product:
                take(event.count * T_SpMV, time.products);
                time.products -= event.count * (T_SpMV - T_mul);
                time.exchanges += event.count * (T_SpMV - T_mul);
                break;
            case Step::preconditioner: take(event.count * T_prec, time.preconditioner); break;
            case Step::start: seconds.push_back(T_G(p, event.count, vectors)); break;
            default: seconds.push_back(0);
        }
    }
    const auto sums = static_cast<std::size_t>(iteration.sums());
    const std::size_t before = 8 * most_in_flight, periods = 16 * most_in_flight;
    std::vector<double> start((before + periods) * sums), T_G(sums);
    double t = 0, begin = 0;
    for (std::size_t period = 0; period < before + periods; ++period) {
        if (period == before) begin = t;
        for (std::size_t k = 0; k < seconds.size(); ++k) {
            const auto& event = iteration.events[k];
            const auto sum = static_cast<std::size_t>(event.sum), lag = static_cast<std::size_t>(event.lag);
            if (event.kind == Step::start) {
                T_G[sum] = seconds[k];
                start[period * sums + sum] = t;
            } else if (event.kind != Step::wait) {
                t += seconds[k];
            } else if (period >= lag) {
                const double s = start[(period - lag) * sums + sum];
                t = std::max(t + gamma_ * T_G[sum], s + T_G[sum]);
            }
        }
    }
    const double total = (t - begin) / static_cast<double>(periods);
    time.sums = std::max(0.0, total - time.total());  // or less than nothing, by rounding
    for (double* const part : {&time.vectors, &time.products, &time.exchanges, &time.preconditioner, &time.sums})
        *part /= iteration.iterations;
    return time;
}

}  // namespace stretto
