// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Statements: what the methods are written in.
//
//     p <<= r + beta * (p - omega * s)     assigns an expression to a vector
//     dot(q, y)                            asks for a dot product, per column
//     when(M, q <<= m + beta * q)          is said only if the condition holds
//     group(x <<= …, r <<= …)              a group with a name, to be said later, alone or inside others
//     each(l, [&](int k) { return … ; })   l statements of one kind, where l is known only when running
//     W <<= (W - Q * S) / R                the same for panels (panel.hpp): tall blocks of vectors, small dense S and R
//     dots(Q, W)                           all products of a vector of Q with one of W
//     s <<= A * p                          a product, first in its group (linear_map.hpp)
//     guard(dot(r0, s))                    is no part of the paper's method but of its safeguards: counted apart
//
// They are values that know what they read and write; nothing is computed here. Meaning of a group: for every
// element, the statements in order; later ones see earlier results.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "stretto/statements/multivector.hpp"
#include "stretto/statements/panel.hpp"
#include "stretto/statements/scalars.hpp"

namespace stretto {

/// The number of products of a list of statements that is known only when running, if there are panels in it: any
/// number from here up.
inline constexpr int many_dots = 1 << 20;

// An element of an expression is addressed by the start of its block of rows and its lane inside the block
// (execute.hpp). Vectors use both; coefficients, which repeat with the columns, only the lane.

template <class T>
struct VectorTerm {
    using value_type = T;
    T* data;
    T at(std::size_t block, std::size_t lane) const { return data[block + lane]; }
};

template <class T>
struct CoefficientTerm {
    using value_type = T;
    Scalars<T> scalars;
};

template <class L, class R>
struct Sum {
    using value_type = typename L::value_type;
    L left;
    R right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) + right.at(block, lane); }
};

template <class L, class R>
struct Difference {
    using value_type = typename L::value_type;
    L left;
    R right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) - right.at(block, lane); }
};

template <class C, class E>
struct Product {
    using value_type = typename E::value_type;
    C left;
    E right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) * right.at(block, lane); }
};

template <class E>
inline constexpr bool is_expression = false;
template <class T>
inline constexpr bool is_expression<VectorTerm<T>> = true;
template <class L, class R>
inline constexpr bool is_expression<Sum<L, R>> = true;
template <class L, class R>
inline constexpr bool is_expression<Difference<L, R>> = true;
template <class C, class E>
inline constexpr bool is_expression<Product<C, E>> = true;

template <class T>
VectorTerm<T> term(MultiVector<T> v) {
    return {v.data()};
}
template <class E>
    requires is_expression<E>
E term(E e) {
    return e;
}

/// A vector, or an expression made of vectors and coefficients.
template <class E>
concept VectorExpression = requires(E e) { term(e); };
template <VectorExpression E>
using Term = decltype(term(std::declval<E>()));

template <VectorExpression L, VectorExpression R>
auto operator+(const L& left, const R& right) {
    return Sum<Term<L>, Term<R>>{term(left), term(right)};
}
template <VectorExpression L, VectorExpression R>
auto operator-(const L& left, const R& right) {
    return Difference<Term<L>, Term<R>>{term(left), term(right)};
}
template <class T, VectorExpression E>
auto operator*(const Scalars<T>& coefficient, const E& e) {
    return Product<CoefficientTerm<T>, Term<E>>{{coefficient}, term(e)};
}

template <class E>
struct Assign {
    using value_type = typename E::value_type;
    static constexpr int dots = 0;
    value_type* target;
    E expression;
};

template <class T>
struct Dot {
    using value_type = T;
    static constexpr int dots = 1;
    T* left;
    T* right;
};

// ---- panels ----

template <class T>
struct Combination {
    Panel<T> panel;
    SmallView<T> coefficients;
};

/// target = (start ± panel · coefficients) · divisor⁻¹; an empty start is zero, a divisor without data is the identity,
/// otherwise an upper triangle. A zero on its diagonal makes a vector zero, as for Scalars.
template <class T>
struct PanelAssign {
    using value_type = T;
    static constexpr int dots = 0;
    Panel<T> target, start, panel;
    SmallView<T> coefficients, divisor;
    T sign;
};

/// All products of a vector of `left` with one of `right`; those of one of `left` together.
template <class T>
struct PanelDots {
    using value_type = T;
    static constexpr int dots = many_dots;
    Panel<T> left, right;
};

template <class S>
struct When {
    using value_type = typename S::value_type;
    static constexpr int dots = 0;
    bool active;
    S statement;
};

template <class S>
struct Guard {
    using value_type = typename S::value_type;
    static constexpr int dots = S::dots;
    S statement;
};

/// What `statement(k)` returns for k = 0 … count − 1. It is asked whenever the group is looked at, so it must be the
/// same every time. `dots` is how many there can be at most.
template <class F, int most>
struct Each {
    using Statement = std::invoke_result_t<const F&, int>;
    using value_type = typename Statement::value_type;
    static constexpr int dots = most * Statement::dots;
    int count;
    F statement;
};

template <class... S>
struct Group {
    using value_type = typename std::tuple_element_t<0, std::tuple<S...>>::value_type;
    static constexpr int dots = (S::dots + ...);
    std::tuple<S...> statements;
};

template <class S>
inline constexpr bool has_panels = false;
template <class T>
inline constexpr bool has_panels<PanelAssign<T>> = true;
template <class T>
inline constexpr bool has_panels<PanelDots<T>> = true;
template <class S>
inline constexpr bool has_panels<When<S>> = has_panels<S>;
template <class S>
inline constexpr bool has_panels<Guard<S>> = has_panels<S>;
template <class... S>
inline constexpr bool has_panels<Group<S...>> =
    (has_panels<S> || ...);  // NOLINT(misc-redundant-expression): twice the same kind

template <class T, VectorExpression E>
auto operator<<=(MultiVector<T> target, const E& e) {
    return Assign<Term<E>>{target.data(), term(e)};
}
template <class T>
Combination<T> operator*(const Panel<T>& panel, const SmallView<T>& coefficients) {
    return {panel, coefficients};
}
template <class T>
PanelAssign<T> operator-(const Panel<T>& start, const Combination<T>& all) {
    return {{}, start, all.panel, all.coefficients, {}, T{-1}};
}
template <class T>
PanelAssign<T> operator+(const Panel<T>& start, const Combination<T>& all) {
    return {{}, start, all.panel, all.coefficients, {}, T{1}};
}
template <class T>
PanelAssign<T> operator/(PanelAssign<T> all, const SmallView<T>& divisor) {
    all.divisor = divisor;
    return all;
}
template <class T>
PanelAssign<T> operator/(const Panel<T>& start, const SmallView<T>& divisor) {
    return {{}, start, start.part(0, 0), {}, divisor, T{1}};
}
template <class T>
PanelAssign<T> operator<<=(const Panel<T>& target, PanelAssign<T> all) {
    all.target = target;
    return all;
}
template <class T>
PanelAssign<T> operator<<=(const Panel<T>& target, const Combination<T>& all) {
    return {target, target.part(0, 0), all.panel, all.coefficients, {}, T{1}};
}
template <class T>
PanelDots<T> dots(const Panel<T>& left, const Panel<T>& right) {
    return {left, right};
}

template <class T>
Dot<T> dot(MultiVector<T> left, MultiVector<T> right) {
    return {left.data(), right.data()};
}
template <class Condition, class S>
    requires std::is_constructible_v<bool, Condition>
When<S> when(const Condition& condition, S statement) {
    static_assert(S::dots == 0, "the number of dot products of a group must not depend on a condition");
    return {static_cast<bool>(condition), statement};
}
template <int most = 16, class F>
    requires std::is_invocable_v<const F&, int>
Each<F, most> each(int count, F statement) {
    if (count < 0 || count > most) throw std::length_error("each: more statements than it can hold");
    return {count, statement};
}
template <class S>
Guard<S> guard(S statement) {
    return {statement};
}
template <class... S>
Group<S...> group(S... statements) {
    return {{statements...}};
}

}  // namespace stretto
