// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <tuple>

#include "stretto/execute/cpu/kind.hpp"
#include "stretto/statements/control.hpp"

namespace stretto {

template <class S>
struct CpuKind<When<S>> {
    using value_type = typename S::value_type;
    bool active;
    Bound<S> statement;

    static CpuKind bind(const When<S>& s, Binding<value_type>& binding) {
        return s.active ? CpuKind{true, CpuKind<S>::bind(s.statement, binding)} : CpuKind{};
    }
    template <class Sums>
    void run(std::size_t block, std::size_t lanes, Sums sums) const {
        if (active) statement.run(block, lanes, sums);
    }
};

template <class S>
struct CpuKind<Guard<S>> {
    static Bound<S> bind(const Guard<S>& s, Binding<typename S::value_type>& binding) {
        return CpuKind<S>::bind(s.statement, binding);
    }
};

template <class S, int most>
struct CpuKind<Each<S, most>> {
    using value_type = typename S::value_type;
    int count;
    std::array<Bound<S>, static_cast<std::size_t>(most)> statements;

    static CpuKind bind(const Each<S, most>& s, Binding<value_type>& binding) {
        CpuKind bound{};
        bound.count = s.count;
        for (std::size_t k = 0; k < static_cast<std::size_t>(s.count); ++k)
            bound.statements[k] = CpuKind<S>::bind(*s.statements[k], binding);
        return bound;
    }
    template <class Sums>
    void run(std::size_t block, std::size_t lanes, Sums sums) const {
        for (int k = 0; k < count; ++k) statements[static_cast<std::size_t>(k)].run(block, lanes, sums);
    }
};

template <class... S>
struct CpuKind<Group<S...>> {
    using value_type = typename Group<S...>::value_type;
    std::tuple<Bound<S>...> statements;

    static CpuKind bind(const Group<S...>& s, Binding<value_type>& binding) {
        return std::apply([&](const S&... all) { return bind(binding, all...); }, s.statements);
    }
    static CpuKind bind(Binding<value_type>& binding, const S&... all) {
        // Braces order the evaluation, so places follow the order of the dot products.
        return {std::tuple<Bound<S>...>{CpuKind<S>::bind(all, binding)...}};
    }
    void run(std::size_t block, std::size_t lanes, sum_of<value_type>* sums) const {
        std::apply([&](const auto&... all) { (all.run(block, lanes, sums), ...); }, statements);
    }
    void run(std::size_t block, std::size_t lanes, ExactSums<value_type> sums) const {
        std::apply([&](const auto&... all) { (run_apart(all, block, lanes, sums), ...); }, statements);
    }

private:
    /// Exact sums hide a call, so that the code of a statement is there once for all groups.
    template <class S1>
    [[gnu::noinline]] static void run_apart(const S1& statement, std::size_t block, std::size_t lanes,
                                            ExactSums<value_type> sums) {
        statement.run(block, lanes, sums);
    }
};

}  // namespace stretto
