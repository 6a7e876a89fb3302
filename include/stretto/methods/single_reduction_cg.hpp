// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// Conjugate gradients with one reduction per iteration (Chronopoulos and Gear 1989), for A and M symmetric positive
/// definite.
///
/// The reduction is not hidden; stores 4 vectors, 5 with a preconditioner. s = A p is a recurrence, but w = A u is a
/// product, so that the residual drifts little: replacing it was measured to cost more than it saves.
template <class T>
constexpr void single_reduction_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b,
                                   MultiVector<T> x, Verdict<T>& stop) {
    auto [r, p, s, w] = vectors<4>(V);
    auto u = M ? V.vector() : r;
    auto alpha = V.scalars(), beta = V.scalars(), gamma_old = V.scalars();

    stop.initial_residual(A, b, x, r);
    stop.checkpoint(r, p, s, alpha, gamma_old);
    for (int k = 0;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        M.apply(r, u);
        auto [gamma, delta, rr] = V.start(w <<= A * u, dot(r, u), dot(w, u), dot(r, r)).wait();
        if (stop(k, rr) || stop.unless_positive(gamma, Status::indefinite_preconditioner)) break;

        beta = gamma / gamma_old;
        const auto pivot = delta - beta * gamma / alpha;  // (p, Ap)
        if (stop.unless_positive(pivot, Status::indefinite_matrix)) break;
        alpha = gamma / pivot;
        gamma_old = gamma;
        V.run(p <<= u + beta * p, s <<= w + beta * s, x <<= x + alpha * p, r <<= r - alpha * s);
    }
}

}  // namespace stretto
