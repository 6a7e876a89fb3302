// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/shadow.hpp"

namespace stretto {

/// Improved BiCGStab (Yang and Brent 2002; Krasnopolsky 2019, Algorithm 3), right-preconditioned, for any square A
/// with products with Aᵀ and M⁻ᵀ, of which each run makes one.
///
/// One reduction per iteration, not hidden; stores 9 vectors, 12 with a preconditioner. Corrected: z takes v before it
/// changes. Preconditioned as the paper has it not: f₀ = M⁻ᵀAᵀr₀, and x advances along the hatted vectors.
template <class T>
void improved_bicgstab(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                       Verdict<T>& stop) {
    auto [r, r0, f0, u, z, v, s, q, t] = vectors<9>(V);  // z is α p̂
    auto rh = M ? V.vector() : r;                        // the hatted vectors: r̂ = M⁻¹r, …
    auto vh = M ? V.vector() : v;
    auto sh = M ? V.vector() : s;
    auto beta = V.scalars(), delta = V.scalars(), tau = V.scalars(), pi = V.scalars();
    auto rho = V.scalars(1), alpha = V.scalars(1), omega = V.scalars(1);

    V.clear(z, v, q, vh);
    stop.initial_residual(A, b, x, r);
    auto [norm_r0, rho_new] = shadow(V, r, r0, stop);
    stop.checkpoint(r, r0, z, v, vh, q, rho_new, rho, alpha, omega, tau, pi, norm_r0);
    A.apply_transpose(r0, M ? t : f0);
    M.apply_transpose(t, f0);
    M.apply(r, rh);
    A.apply(rh, u);
    auto [sigma] = V.start(dot(r0, u)).wait();
    if (stop.unless_nonzero(rho_new)) return;

    for (int k = 1;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        delta = (rho_new / rho) * alpha;
        beta = delta / omega;
        tau = sigma + beta * tau - delta * pi;
        rho = rho_new;
        if (stop.unless_nonzero(tau)) break;
        const auto alpha_new = rho / tau;
        V.run(z <<= alpha_new * rh + (beta * alpha_new / alpha) * z - (alpha_new * delta) * vh,
              v <<= u + beta * v - delta * q,
              s <<= r - alpha_new * v);
        alpha = alpha_new;
        M.apply(v, vh);
        A.apply(vh, q);
        auto dots = V.start(
            t <<= u - alpha * q, dot(r0, s), dot(r0, q), dot(f0, s), dot(f0, t), dot(t, s), dot(t, t), dot(s, s));
        auto [phi, pi_new, gamma, eta, theta, kappa, nu] = dots.wait();
        omega = stabiliser(theta, kappa, nu, stop);
        const auto rr = nu - conjugate(omega) * (2 * theta - omega * kappa);
        pi = pi_new;
        rho_new = phi - omega * sigma + omega * alpha * pi;
        sigma = gamma - omega * eta;
        V.run(r <<= s - omega * t, when(M, sh <<= rh - alpha * vh), x <<= x + z + omega * sh);
        if (stop(k, rr) || stop.unless_nonzero(omega) || stop.unless_nonzero(rho_new, sqrt(rr) * norm_r0)) break;
        M.apply(r, rh);
        A.apply(rh, u);
    }
}

}  // namespace stretto
