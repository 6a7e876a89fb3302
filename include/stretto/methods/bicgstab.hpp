// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/shadow.hpp"

namespace stretto {

/// BiCGStab (van der Vorst 1992; Krasnopolsky 2019, Algorithms 2 and 5), right-preconditioned, for any square A.
///
/// Three reductions per iteration, none hidden; stores 6 vectors, 8 with a preconditioner. Corrected:
/// Algorithm 2 lacks ω = φ/ψ.
template <class T>
constexpr void bicgstab(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                        Verdict<T>& stop) {
    auto [r, r0, p, v, s, t] = vectors<6>(V);
    auto ph = M ? V.vector() : p;  // p̂, ŝ
    auto sh = M ? V.vector() : s;
    auto beta = V.scalars();

    stop.initial_residual(A, b, x, r);
    auto [norm_r0, rho] = shadow(V, r, r0, stop);
    V.run(p <<= r + beta * p);
    stop.checkpoint(r, r0, p, rho, norm_r0);
    if (stop.unless_nonzero(rho)) return;

    for (int k = 1;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        M.apply(p, ph);
        A.apply(ph, v);
        auto [delta] = V.start(dot(r0, v)).wait();
        if (stop.unless_nonzero(delta)) break;
        const auto alpha = rho / delta;
        V.run(s <<= r - alpha * v);
        M.apply(s, sh);
        A.apply(sh, t);
        auto [phi, psi, theta] = V.start(dot(t, s), dot(t, t), dot(s, s)).wait();
        const auto omega = stabiliser(phi, psi, theta, stop), rr = theta - conjugate(omega) * (2 * phi - omega * psi);
        const auto advance = x <<= x + alpha * ph + omega * sh;
        auto [rho_new] = V.start(when(!M, advance), r <<= s - omega * t, dot(r0, r)).wait();
        beta = (rho_new / rho) * (alpha / omega);
        rho = rho_new;
        V.run(when(M, advance), p <<= r + beta * (p - omega * v));
        if (stop(k, rr) || stop.unless_nonzero(omega) || stop.unless_nonzero(rho, sqrt(rr) * norm_r0)) break;
    }
}

}  // namespace stretto
