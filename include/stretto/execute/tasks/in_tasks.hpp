// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "stretto/execute/executor_for.hpp"
#include "stretto/statements/statement.hpp"

namespace stretto {

/// A value in the memory of this process that only tasks look at, because only they know when it is there. Vectors of
/// it are what methods run on as tasks. Where it lies, there is an X (on_host).
template <class X>
class InTasks {
    InTasks() = default;
    X value_;
};

template <class X>
struct NumberOf<InTasks<X>> {
    using type = X;
};
template <class X>
struct ScalarTraits<InTasks<X>> : ScalarTraits<X> {};

template <class X>
class TaskExecutor;
template <class X>
struct ExecutorOf<InTasks<X>> {
    using type = TaskExecutor<X>;
};

// ---- what tasks see: vectors and statements on them as those of X, for the kernels of the processor ----

template <class X>
X* on_host(InTasks<X>* values) {
    return reinterpret_cast<X*>(values);
}
template <class X>
MultiVector<X> on_host(MultiVector<InTasks<X>> v) {
    return {on_host(v.data()), v.rows(), v.columns()};
}
template <class X>
Panel<X> on_host(const Panel<InTasks<X>>& panel) {
    return {on_host(panel[0]), panel.stride(), panel.count()};
}
/// The way to there.
template <class X>
MultiVector<InTasks<X>> in_tasks(MultiVector<X> v) {
    return {reinterpret_cast<InTasks<X>*>(v.data()), v.rows(), v.columns()};
}

template <class X>
VectorTerm<X> on_host(const VectorTerm<InTasks<X>>& e) {
    return {on_host(e.data)};
}
template <class X>
CoefficientTerm<X> on_host(const CoefficientTerm<X>& e) {
    return e;
}
template <template <class, class> class Node, class L, class R>
    requires requires(const Node<L, R>& e) { e.left, e.right; } && (!requires(const Node<L, R>& e) { e.dots; })
auto on_host(const Node<L, R>& e) {
    const auto left = on_host(e.left);
    const auto right = on_host(e.right);
    return Node<std::remove_const_t<decltype(left)>, std::remove_const_t<decltype(right)>>{left, right};
}

template <class E>
auto on_host(const Assign<E>& s) {
    const auto expression = on_host(s.expression);
    return Assign<std::remove_const_t<decltype(expression)>>{on_host(s.target), expression};
}
template <class X>
Dot<X> on_host(const Dot<InTasks<X>>& s) {
    return {on_host(s.left), on_host(s.right)};
}
template <class X>
PanelAssign<X> on_host(const PanelAssign<InTasks<X>>& s) {
    return {on_host(s.target), on_host(s.start), on_host(s.panel), s.coefficients, s.divisor, s.sign};
}
template <class X>
PanelDots<X> on_host(const PanelDots<InTasks<X>>& s) {
    return {on_host(s.left), on_host(s.right)};
}

template <class S>
auto on_host(const When<S>& s);
template <class S>
auto on_host(const Guard<S>& s);
template <class S, int most>
auto on_host(const Each<S, most>& s);
template <class... S>
auto on_host(const Group<S...>& s);

template <class S>
auto on_host(const When<S>& s) {
    const auto inner = on_host(s.statement);
    return When<std::remove_const_t<decltype(inner)>>{s.active, inner};
}
template <class S>
auto on_host(const Guard<S>& s) {
    const auto inner = on_host(s.statement);
    return Guard<std::remove_const_t<decltype(inner)>>{inner};
}
template <class S, int most>
auto on_host(const Each<S, most>& s) {
    Each<decltype(on_host(*s.statements[0])), most> list{s.count, {}};
    for (std::size_t k = 0; k < static_cast<std::size_t>(s.count); ++k)
        list.statements[k].emplace(on_host(*s.statements[k]));
    return list;
}
template <class... S>
auto on_host(const Group<S...>& s) {
    return std::apply([](const S&... all) { return Group<decltype(on_host(all))...>{{on_host(all)...}}; },
                      s.statements);
}

}  // namespace stretto
