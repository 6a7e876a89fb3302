// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/statements/expression.hpp"

namespace stretto {

/// target = expression, element by element.
template <class E>
struct Assign {
    using value_type = typename E::value_type;
    static constexpr int dots = 0;
    value_type* target;
    E expression;

    void touch(Pass& pass) const {
        expression.touch(pass);
        pass.write(target);
    }

    /// Calls take at most three vectors, as in BLAS and its extensions. What the methods say with four, y − ω(t − αv),
    /// takes two (Krasnopolsky 2019, footnotes of Table 2): first the inner expression into the target, then the rest.
    template <class F>
    void for_each_call(F&& f) const {
        split(f, expression);
    }

private:
    template <class F, class Other>
    void split(F& f, const Other&) const {
        f(*this);
    }
    template <class F, class A, class C, Expression Inner>
    void split(F& f, const Difference<A, Product<C, Inner>>& e) const {
        Pass all, outer;
        touch(all);
        e.left.touch(outer);
        const int before = outer.vectors();
        outer.read(target);
        if (all.vectors() <= 3 || outer.vectors() == before) return f(*this);
        const VectorTerm<value_type> done{target};
        Assign<Inner>{target, e.right.right}.for_each_call(f);
        f(Assign<Difference<A, Product<C, VectorTerm<value_type>>>>{target, {e.left, {e.right.left, done}}});
    }
};

template <class T, VectorExpression E>
constexpr auto operator<<=(MultiVector<T> target, const E& e) {
    return Assign<Term<E>>{target.data(), term(e)};
}

}  // namespace stretto
