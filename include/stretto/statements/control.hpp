// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "stretto/statements/panel_statements.hpp"

namespace stretto {

/// Which statements are meant: all, or those of the paper's method alone.
enum class Said { all, unguarded };

/// Calls f with every statement said, in order: groups and lists are opened, inactive conditions left out.
template <Said said = Said::all, class F, class S>
void for_each_statement(F&& f, const S& statement) {
    if constexpr (requires { statement.template open<said>(f); })
        statement.template open<said>(f);
    else
        f(statement);
}

/// Whether panels are in a statement.
template <class S>
inline constexpr bool has_panels = [] {
    if constexpr (requires { S::panels; })
        return S::panels;
    else
        return false;
}();

/// How many dot products statements ask for, at most.
template <class... S>
inline constexpr int dots_of =
    static_cast<int>(std::min<std::int64_t>((0 + ... + std::int64_t{S::dots}), counted_when_running));

template <class S>
struct When {
    using value_type = typename S::value_type;
    static constexpr int dots = 0;
    static constexpr bool panels = has_panels<S>;
    bool active;
    S statement;

    template <Said said, class F>
    void open(F& f) const {
        if (active) for_each_statement<said>(f, statement);
    }
};

template <class S>
struct Guard {
    using value_type = typename S::value_type;
    static constexpr int dots = S::dots;
    static constexpr bool panels = has_panels<S>;
    S statement;

    template <Said said, class F>
    void open(F& f) const {
        if constexpr (said == Said::all) for_each_statement<said>(f, statement);
    }
};

/// `count` statements of one kind, `most` at most: on the stack, so that no list allocates.
template <class S, int most>
struct Each {
    using value_type = typename S::value_type;
    static constexpr int dots = most * S::dots;
    static_assert(!has_panels<S>, "a list of panel statements: its dot products could not be counted");
    int count;
    std::array<std::optional<S>, static_cast<std::size_t>(most)> statements;

    template <Said said, class F>
    void open(F& f) const {
        for (int k = 0; k < count; ++k) for_each_statement<said>(f, *statements[static_cast<std::size_t>(k)]);
    }
};

template <class... S>
struct Group {
    using value_type = typename std::tuple_element_t<0, std::tuple<S...>>::value_type;
    static constexpr int dots = dots_of<S...>;
    static constexpr bool panels = (has_panels<S> || ...);  // NOLINT(misc-redundant-expression): twice the same kind
    std::tuple<S...> statements;

    template <Said said, class F>
    void open(F& f) const {
        std::apply([&](const auto&... s) { (for_each_statement<said>(f, s), ...); }, statements);
    }
};

template <class Condition, class S>
    requires std::is_constructible_v<bool, Condition>
constexpr When<S> when(const Condition& condition, S statement) {
    static_assert(S::dots == 0, "the number of dot products of a group must not depend on a condition");
    return {static_cast<bool>(condition), statement};
}
/// What `statement(k)` returns for k = 0 … count − 1, each asked for once, here. Throws std::length_error where that is
/// more than `most`.
template <int most = 16, class F>
    requires std::is_invocable_v<F&, int>
auto each(int count, F&& statement) {
    if (count < 0 || count > most) throw std::length_error("each: more statements than it can hold");
    Each<std::invoke_result_t<F&, int>, most> list{count, {}};
    for (int k = 0; k < count; ++k) list.statements[static_cast<std::size_t>(k)].emplace(statement(k));
    return list;
}
template <class S>
constexpr Guard<S> guard(S statement) {
    return {statement};
}
template <class... S>
Group<S...> group(S... statements) {
    return {{statements...}};
}

}  // namespace stretto
