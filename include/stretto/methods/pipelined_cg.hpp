// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/resume.hpp"

namespace stretto {

/// Pipelined conjugate gradients (Ghysels and Vanroose 2014, Algorithm 4), for A and M symmetric positive
/// definite.
///
/// One reduction per iteration, hidden behind the preconditioner and the product; stores 6 vectors, 9 with a
/// preconditioner. Its recursive residual drifts from the true one, so every `check` iterations the gap is
/// measured and, where it exceeds `gap`·‖r‖, all vectors are recomputed from what defines them (residual
/// replacement). After so many `replacements` the refuge goes on instead, in the same Krylov space.
template <class T>
constexpr void pipelined_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b,
                            MultiVector<T> x, Verdict<T>& stop) {
    auto [r, p, s, w, z, n] = vectors<6>(V);
    auto u = M ? V.vector() : r;
    auto m = M ? V.vector() : w;
    auto q = M ? V.vector() : s;
    auto beta = V.scalars(), trust = V.scalars(1);
    int replacements = static_cast<int>(stop.option("replacements"));

    stop.initial_residual(A, b, x, r);
    M.apply(r, u);
    A.apply(u, w);
    auto [resumed, alpha, gamma_old] = resume(V, A, r, u, p, s, stop);
    if (resumed) {
        M.apply(s, q);
        A.apply(q, z);
    }
    stop.checkpoint(r, u, w, p, s, q, z, alpha, gamma_old, trust, replacements);
    auto dots = V.start(dot(r, u), dot(w, u), dot(r, r));

    for (int k = 0;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        M.apply(w, m);
        A.apply(m, n);
        auto [gamma, delta, rr] = dots.wait();
        if (stop(k, rr) || stop.unless_positive(gamma, Status::indefinite_preconditioner) ||
            stop.hand_over_unless(trust, p))
            break;

        beta = gamma / gamma_old;
        const auto pivot = delta - beta * gamma / alpha;  // (p, Ap)
        if (stop.hand_over_unless(pivot, p)) break;
        alpha = gamma / pivot;
        gamma_old = gamma;

        dots = V.start(z <<= n + beta * z,
                       when(M, q <<= m + beta * q),
                       s <<= w + beta * s,
                       p <<= u + beta * p,
                       x <<= x + alpha * p,
                       r <<= r - alpha * s,
                       when(M, u <<= u - alpha * q),
                       w <<= w - alpha * z,
                       dot(r, u),
                       dot(w, u),
                       dot(r, r));

        if (stop.due("check")) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            if (!stop.residual_gap(A, b, x, r, n)) continue;
            if (replacements-- == 0) {
                trust = V.scalars();
                continue;
            }
            residual(V, A, b, x, r);
            M.apply(r, u);
            A.apply(u, w);
            A.apply(p, s);
            M.apply(s, q);
            A.apply(q, z);
            dots = V.start(dot(r, u), dot(w, u), dot(r, r));
            stop.event("residual replaced");
        }
    }
}

}  // namespace stretto
