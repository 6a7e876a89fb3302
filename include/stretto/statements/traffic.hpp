// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What statements move through memory, counted: by their merged formulation, one pass a group, and by the basic one,
// one pass a call.

#include "stretto/measure/traffic.hpp"
#include "stretto/statements/statement.hpp"

namespace stretto {

/// The basic formulation: calls f with each call that a statement is made of.
template <class S, class F>
void for_each_call(F&& f, const S& statement) {
    if constexpr (requires { statement.for_each_call(f); })
        statement.for_each_call(f);
    else
        f(statement);
}

/// How many dot products are asked for.
template <class S>
int count_dots_of(const S& s) {
    if constexpr (S::dots == counted_when_running)
        return s.count();
    else
        return S::dots;
}
template <Said said = Said::all, class... S>
int count_dots(const S&... statements) {
    int count = 0;
    (for_each_statement<said>([&](const auto& s) { count += count_dots_of(s); }, statements), ...);
    return count;
}

/// Whether nothing but dot products is said.
template <class... S>
bool only_dots(const S&... statements) {
    bool some = false, others = false;
    (for_each_statement([&]<class One>(const One&) { (One::dots > 0 ? some : others) = true; }, statements), ...);
    return some && !others;
}

enum class Formulation { basic, merged };

/// Vector reads and writes of statements said together; what `merged` has touched, they find in cache.
template <Said said = Said::all, class... S>
Traffic traffic_after(Pass merged, Formulation formulation, const S&... statements) {
    Traffic total = Traffic{} - merged.traffic();
    const auto count = [&](const auto& s) {
        if (formulation == Formulation::merged) return s.touch(merged);
        for_each_call(
            [&](const auto& call) {
                Pass pass;
                call.touch(pass);
                total += pass.traffic();
            },
            s);
    };
    (for_each_statement<said>(count, statements), ...);
    total += merged.traffic();
    return total;
}
template <Said said = Said::all, class... S>
Traffic traffic(Formulation formulation, const S&... statements) {
    return traffic_after<said>({}, formulation, statements...);
}

}  // namespace stretto
