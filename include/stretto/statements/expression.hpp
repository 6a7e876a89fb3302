// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include "stretto/statements/multivector.hpp"
#include "stretto/statements/pass.hpp"
#include "stretto/statements/scalars.hpp"

namespace stretto {

// What stands on the right of an assignment. An element is addressed by the start of its block of rows and its lane
// inside the block (execute/cpu). Vectors use both; coefficients, which repeat with the columns, only the lane.
// touch(pass) tells what is read, in order.

template <class T>
struct VectorTerm {
    using value_type = T;
    T* data;
    T at(std::size_t block, std::size_t lane) const { return data[block + lane]; }
    void touch(Pass& pass) const { pass.read(data); }
};

/// It is an executor's to say where its values are.
template <class T>
struct CoefficientTerm {
    using value_type = T;
    ScalarsOf<T> scalars;
};

template <class L, class R>
struct Sum {
    using value_type = typename L::value_type;
    L left;
    R right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) + right.at(block, lane); }
    void touch(Pass& pass) const { left.touch(pass), right.touch(pass); }
};

template <class L, class R>
struct Difference {
    using value_type = typename L::value_type;
    L left;
    R right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) - right.at(block, lane); }
    void touch(Pass& pass) const { left.touch(pass), right.touch(pass); }
};

/// A coefficient times an expression.
template <class C, class E>
struct Product {
    using value_type = typename E::value_type;
    C left;
    E right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) * right.at(block, lane); }
    void touch(Pass& pass) const { right.touch(pass); }
};

template <class E>
concept Expression = requires(const E& e, std::size_t at) { e.at(at, at); };

template <class T>
constexpr VectorTerm<T> term(MultiVector<T> v) {
    return {v.data()};
}
template <Expression E>
constexpr E term(E e) {
    return e;
}

/// A vector, or an expression made of vectors and coefficients.
template <class E>
concept VectorExpression = requires(E e) { term(e); };
template <VectorExpression E>
using Term = decltype(term(std::declval<E>()));

template <VectorExpression L, VectorExpression R>
constexpr auto operator+(const L& left, const R& right) {
    return Sum<Term<L>, Term<R>>{term(left), term(right)};
}
template <VectorExpression L, VectorExpression R>
constexpr auto operator-(const L& left, const R& right) {
    return Difference<Term<L>, Term<R>>{term(left), term(right)};
}
template <class T, VectorExpression E>
constexpr auto operator*(const ScalarsOf<T>& coefficient, const E& e) {
    return Product<CoefficientTerm<T>, Term<E>>{{coefficient}, term(e)};
}

}  // namespace stretto
