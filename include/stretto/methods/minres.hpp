// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>
#include <utility>

#include "stretto/methods/parts/natural_norm.hpp"

namespace stretto {

/// Minimal residuals, MINRES (Paige and Saunders 1975; preconditioned as in Elman, Silvester and Wathen 2014, Algorithm
/// 4.1), for A symmetric, definite or not, and M symmetric positive definite.
///
/// Two reductions per iteration, none hidden; stores 5 vectors, 7 with a preconditioner. The Lanczos vectors v, and
/// z = M⁻¹v, are scaled here as soon as their length is known. What is minimal is ‖r‖ without a preconditioner, else
/// (r, M⁻¹r), which |η| is the root of.
template <class T>
void minres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
            Verdict<T>& stop) {
    auto [v, v_last, q, w, w_last] = vectors<5>(V);
    auto z = M ? V.vector() : v, z_next = M ? V.vector() : v_last;
    const auto one = V.scalars(1);
    constexpr Number<T> rounding = std::numeric_limits<Number<T>>::epsilon();

    V.clear(v_last, w, w_last);
    stop.initial_residual(A, b, x, v);
    auto [square, rr] = V.start(z <<= M * v, dot(z, v), dot(v, v)).wait();
    if (stop.unless_positive(square, Status::indefinite_preconditioner)) return;
    auto gamma = sqrt(square), eta = gamma;
    auto c = one, c_last = one, s = V.scalars(), s_last = V.scalars();
    NaturalNorm<T> norm(square, rr, stop);
    V.run(v <<= (one / gamma) * v, when(M, z <<= (one / gamma) * z));
    stop.checkpoint(v, v_last, z, w, w_last, gamma, eta, c, c_last, s, s_last);

    for (int k = 1;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        auto [delta] = V.start(q <<= A * z, dot(q, z)).wait();
        const auto next_v = v_last <<= q - delta * v - gamma * v_last;
        if (M) V.run(next_v);
        auto [next] = V.start(z_next <<= M * v_last, when(!M, next_v), dot(z_next, v_last)).wait();
        // Where the Krylov space ends, rounding alone is left of it, and may be negative.
        if (stop.unless_positive(next + rounding * (delta * delta + gamma * gamma), Status::indefinite_preconditioner))
            break;
        const auto gamma_next = sqrt(next);

        const auto alpha0 = c * delta - c_last * s * gamma;
        const auto alpha1 = sqrt(alpha0 * alpha0 + gamma_next * gamma_next);
        const auto alpha2 = s * delta + c_last * c * gamma;
        const auto alpha3 = s_last * gamma;
        if (stop.unless_nonzero(alpha1)) break;
        c_last = std::exchange(c, alpha0 / alpha1);
        s_last = std::exchange(s, gamma_next / alpha1);
        gamma = gamma_next;

        V.run(w_last <<= (one / alpha1) * (z - alpha3 * w_last - alpha2 * w),
              x <<= x + (c * eta) * w_last,
              v_last <<= (one / gamma) * v_last,
              when(M, z_next <<= (one / gamma) * z_next));
        eta = -(s * eta);
        std::swap(w, w_last);
        std::swap(v, v_last);
        std::swap(z, z_next);

        const auto natural = eta * eta;
        if (M && norm.due(natural)) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            residual(V, A, b, x, q);
            auto [true_rr] = V.start(dot(q, q)).wait();
            norm.measured(natural, true_rr);
        }
        if (stop(k, M ? norm(natural) : natural)) break;
    }
}

}  // namespace stretto
