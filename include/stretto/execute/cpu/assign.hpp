// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/cpu/kind.hpp"
#include "stretto/statements/assign.hpp"

namespace stretto {

/// A coefficient spread over the lanes of a block.
template <class T>
struct Spread {
    using value_type = T;
    const T* values;
    T at(std::size_t, std::size_t lane) const { return values[lane]; }
};

template <class T>
VectorTerm<T> bind(const VectorTerm<T>& e, Binding<T>&) {
    return e;
}
template <class T>
Spread<T> bind(const CoefficientTerm<Number<T>>& e, Binding<T>& binding) {
    return {binding.spread(e.scalars)};
}
template <class T, template <class, class> class Node, class L, class R>
    requires Expression<Node<L, R>>
auto bind(const Node<L, R>& e, Binding<T>& binding) {
    auto left = bind(e.left, binding);
    auto right = bind(e.right, binding);
    return Node<decltype(left), decltype(right)>{left, right};
}

template <class E>
struct CpuKind<Assign<E>> {
    using value_type = typename E::value_type;
    value_type* target;
    decltype(stretto::bind(std::declval<const E&>(), std::declval<Binding<value_type>&>())) expression;

    static CpuKind bind(const Assign<E>& s, Binding<value_type>& binding) {
        return {s.target, stretto::bind(s.expression, binding)};
    }
    template <class Sums>
    void run(std::size_t block, std::size_t lanes, Sums) const {
        value_type* const to = target + block;
        const auto e = expression;
#pragma omp simd
        for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] = e.at(block, lane);
    }
};

}  // namespace stretto
