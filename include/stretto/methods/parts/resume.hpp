// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// What a CG method had before its first iteration, where another one handed over to it: with β = γ/γ_old the first
/// direction is conjugate to the last one of the other, and the Krylov space goes on. Zero where there was none.
template <class T>
struct Resumed {
    bool resumed;
    Scalars<T> alpha, gamma_old;
};

/// Takes over p and computes s = A p. In exact arithmetic r is orthogonal to p; where it is not nearly so, β is zero.
template <class T>
constexpr Resumed<T> resume(Space<T>& V, const LinearMap<T>& A, MultiVector<T> r, MultiVector<T> u, MultiVector<T> p,
                            MultiVector<T> s, Verdict<T>& stop) {
    constexpr Number<T> orthogonal = 1e-6;  // keeping a direction that is less clean can cost many iterations
    Resumed<T> before{stop.take_direction(p), V.scalars(), V.scalars()};
    if (!before.resumed) return before;
    A.apply(p, s);
    auto [us, ps, rp, rr, pp, gamma] = V.start(dot(u, s), dot(p, s), dot(r, p), dot(r, r), dot(p, p), dot(r, u)).wait();
    for (int j = 0; j < V.width(); ++j)
        if (!(rp[j] * rp[j] <= orthogonal * orthogonal * rr[j] * pp[j])) us[j] = 0;
    before.alpha = -(gamma / us);
    before.gamma_old = before.alpha * ps;
    return before;
}

}  // namespace stretto
