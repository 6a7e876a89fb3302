// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/shadow.hpp"

namespace stretto {

/// Reordered BiCGStab (Krasnopolsky 2010; Krasnopolsky 2019, Algorithm 6), right-preconditioned, for any square A.
///
/// Two reductions per iteration, each hidden behind the preconditioner; stores 6 vectors, 10 with a preconditioner.
/// Corrected: ω = θ/φ; z takes t̂ − ωq; and ρ = (r₀, r̃) − ω(r₀, t), where the printed −ω(r₀, t) takes (r₀, r̃) for zero,
/// which rounding does not. Every `refresh` iterations z is made anew from r.
template <class T>
constexpr void reordered_bicgstab(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b,
                                  MultiVector<T> x, Verdict<T>& stop) {
    auto [r, r0, vh, v, rt, t] = vectors<6>(V);
    auto z = M ? V.vector() : r;  // z = M⁻¹r, s = M⁻¹v, t̂ = M⁻¹r̃, q = M⁻¹t
    auto s = M ? V.vector() : v;
    auto th = M ? V.vector() : rt;
    auto q = M ? V.vector() : t;
    auto beta = V.scalars();

    stop.initial_residual(A, b, x, r);
    auto [norm_r0, rho] = shadow(V, r, r0, stop);
    M.apply(r, z);
    V.run(vh <<= z + beta * vh);
    stop.checkpoint(r, r0, z, vh, rho, norm_r0);
    if (stop.unless_nonzero(rho)) return;

    for (int k = 1;; ++k) {
        if (M && stop.due("refresh")) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            M.apply(r, q);
            V.run(vh <<= vh + (q - z), z <<= q);
        }
        const auto phase = V.ledger().enter(Phase::iteration);
        A.apply(vh, v);
        auto first = V.start(dot(r0, v));
        M.apply(v, s);
        auto [delta] = first.wait();
        if (stop.unless_nonzero(delta)) break;
        const auto alpha = rho / delta;
        V.run(th <<= z - alpha * s);
        A.apply(th, t);
        auto second =
            V.start(when(M, rt <<= r - alpha * v), dot(t, rt), dot(t, t), dot(r0, t), dot(rt, rt), guard(dot(r0, rt)));
        M.apply(t, q);
        auto [theta, phi, psi, eta, zero] = second.wait();
        const auto omega = stabiliser(theta, phi, eta, stop), rr = eta - conjugate(omega) * (2 * theta - omega * phi);
        const auto rho_new = zero - omega * psi;
        beta = (rho_new / rho) * (alpha / omega);
        rho = rho_new;
        V.run(r <<= rt - omega * t,
              x <<= x + alpha * vh + omega * th,
              when(M, z <<= th - omega * q),
              vh <<= z + beta * (vh - omega * s));
        if (stop(k, rr) || stop.unless_nonzero(omega) || stop.unless_nonzero(rho, sqrt(rr) * norm_r0)) break;
    }
}

}  // namespace stretto
