// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/resume.hpp"

namespace stretto {

/// Preconditioned conjugate gradients (Hestenes and Stiefel 1952), for A and M symmetric positive definite.
///
/// Two reductions per iteration, none hidden; stores 3 vectors, 4 with a preconditioner. ‖r‖² travels with
/// (r, u). Without a preconditioner u is r, whose update shares its pass over memory with the products. The update of x
/// waits for that of p, which reads the old p too.
template <class T>
constexpr void cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                  Verdict<T>& stop) {
    auto [r, p, s] = vectors<3>(V);
    auto u = M ? V.vector() : r;

    stop.initial_residual(A, b, x, r);
    auto [gamma] = V.start(u <<= M * r, dot(r, u)).wait();
    auto [resumed, alpha, gamma_old] = resume(V, A, r, u, p, s, stop);
    auto beta = gamma / gamma_old;
    V.run(p <<= u + beta * p);
    stop.checkpoint(r, p, gamma);

    for (int k = 1; !stop.unless_positive(gamma, Status::indefinite_preconditioner); ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        auto [delta] = V.start(s <<= A * p, dot(p, s)).wait();
        if (stop.unless_positive(delta, Status::indefinite_matrix)) break;
        alpha = gamma / delta;
        if (M) V.run(r <<= r - alpha * s);
        auto [gamma_new, rr] = V.start(u <<= M * r, when(!M, r <<= r - alpha * s), dot(r, u), dot(r, r)).wait();
        beta = gamma_new / gamma;
        gamma = gamma_new;
        V.run(x <<= x + alpha * p, p <<= u + beta * p);
        if (stop(k, rr)) break;
    }
}

}  // namespace stretto
