// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "stretto/model/iteration.hpp"

namespace stretto {
namespace {

using Event = MethodIteration::Event;

struct Amount {
    double vectors = 0, products = 0, preconditioners = 0;
    void add(const Event& event, double sign = 1) {
        if (event.kind == Step::vectors) vectors += sign * event.vectors;
        if (event.kind == Step::product) products += sign * event.count;
        if (event.kind == Step::preconditioner) preconditioners += sign * event.count;
    }
    void add(const Amount& other, double factor) {
        vectors += factor * other.vectors;
        products += factor * other.products;
        preconditioners += factor * other.preconditioners;
    }
    bool none() const { return vectors == 0 && products == 0 && preconditioners == 0; }
};

/// A sum, from where it is started to where it is waited for, and on to the next start of one.
struct Reduction {
    int dots = 0;
    Amount hiding, before_next;
    int in_flight = 1;  ///< sums at its wait, itself among them
};

Reduction reduction_of(const MethodIteration& iteration, int number) {
    const auto& events = iteration.events;
    Reduction sum;
    bool started = false, waited = false;
    const int laps = 2 + std::ranges::max(events, {}, &Event::lag).lag;
    for (int lap = 0; lap < laps + 1; ++lap)
        for (const auto& event : events) {
            const bool own = event.sum == number;
            if (event.kind == Step::start) {
                if (waited) return sum;
                if (started) ++sum.in_flight;
                if (own && lap == 0) started = true, sum.dots = event.count;
            } else if (event.kind == Step::wait) {
                if (started && own && lap == event.lag) waited = true;
            } else if (waited) {
                sum.before_next.add(event);
            } else if (started) {
                sum.hiding.add(event);
            }
        }
    return sum;
}

std::string times(double count, const std::string& what) {
    return count == 1 ? what : fmt::format("{:.4g} {}", count, what);
}

using Terms = std::vector<std::string>;
void add_work(Terms& terms, const Amount& work) {
    for (const auto& [count, name] : {std::pair(work.vectors, "T_vec"), std::pair(work.products, "T_SpMV"),
                                      std::pair(work.preconditioners, "T_prec")})
        if (count > 1e-9) terms.push_back(times(count, name));
}
std::string joined(const Terms& terms) { return fmt::format("{}", fmt::join(terms, " + ")); }
std::string T_G(double dots) { return fmt::format("T_G({:.4g}m)", 8 * dots); }

/// Sums of the same shape, with the mean of what is not. Of iterations that are all alike nothing is averaged.
struct Alike {
    double count = 0, dots = 0;
    Amount hiding;
    void add(const Reduction& sum) {
        ++count;
        dots += sum.dots;
        hiding.add(sum.hiding, 1);
    }
    double mean_dots() const { return dots / count; }
    Amount mean() const {
        Amount work;
        work.add(hiding, 1 / count);
        return work;
    }
};

/// What is never in flight with another: formula (12) for each.
std::string one_by_one(const MethodIteration& iteration, const std::vector<Reduction>& sums, Amount outside) {
    const double n = iteration.iterations;
    const bool alike = iteration.iterations == 1;
    std::map<int, Alike, std::greater<>> blocking;
    std::map<std::tuple<int, double, double, double>, Alike> hidden;
    for (const auto& sum : sums) {
        const auto& [vectors, products, preconditioners] = sum.hiding;
        if (sum.hiding.none())
            blocking[alike ? sum.dots : 0].add(sum);
        else
            hidden[{alike ? sum.dots : 0, alike ? vectors : 0, products, preconditioners}].add(sum);
        outside.add(sum.hiding, -1);
    }
    Amount mean;
    mean.add(outside, 1 / n);
    Terms terms;
    add_work(terms, mean);
    for (const auto& [key, sum] : blocking) terms.push_back(times(sum.count / n, T_G(sum.mean_dots())));
    for (const auto& [key, sum] : hidden) {
        Terms calc;
        add_work(calc, sum.mean());
        const auto G = T_G(sum.mean_dots());
        terms.push_back(times(sum.count / n, fmt::format("max({} + γ {}, {})", joined(calc), G, G)));
    }
    return joined(terms);
}

/// Several in flight: either all work takes longest, or the sums do, of which the next `depth` are under way.
std::string several(const MethodIteration& iteration, const std::vector<Reduction>& sums, const Amount& all) {
    Amount work, between;
    work.add(all, 1.0 / iteration.iterations);
    Alike blocking, hidden;
    int depth = 1;
    for (const auto& sum : sums) {
        (sum.hiding.none() ? blocking : hidden).add(sum);
        if (sum.hiding.none()) continue;
        between.add(sum.before_next, 1);
        depth = std::max(depth, sum.in_flight);
    }
    Terms computing, waiting;
    add_work(computing, work);
    if (blocking.count > 0)
        computing.push_back(times(blocking.count / iteration.iterations, T_G(blocking.mean_dots())));
    const auto G = T_G(hidden.mean_dots());
    const double per_iteration = hidden.count / iteration.iterations;
    computing.push_back(fmt::format("γ {}", times(per_iteration, G)));
    Amount mean;
    mean.add(between, 1 / hidden.count);
    add_work(waiting, mean);
    waiting.push_back(G);
    return fmt::format("max({}, ({})/{:.4g})", joined(computing), joined(waiting), depth / per_iteration);
}

}  // namespace

std::string formula(const MethodIteration& iteration) {
    Amount all;
    for (const auto& event : iteration.events) all.add(event);
    std::vector<Reduction> sums;
    for (int k = 0; k < iteration.sums(); ++k) sums.push_back(reduction_of(iteration, k));
    const bool deep = std::ranges::any_of(sums, [](const Reduction& sum) { return sum.in_flight > 1; });
    return deep ? several(iteration, sums, all) : one_by_one(iteration, sums, all);
}

}  // namespace stretto
