// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "stretto/methods/parts/resume.hpp"

namespace stretto {

/// Predict-and-recompute pipelined conjugate gradients (Chen and Carson 2020, PIPE-PR-CG), for A and M symmetric
/// positive definite.
///
/// One reduction per iteration, hidden behind two products and two preconditioners; stores 5 vectors, 9 with a
/// preconditioner. What the recurrence predicts is recomputed while the reduction is under way, so that the residual
/// stays as near to the true one as in cg. The listing's w and w̃ are written out, as they are recomputed at once.
template <class T>
constexpr void predict_and_recompute_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b,
                                        MultiVector<T> x, Verdict<T>& stop) {
    auto [r, p, s, w, u] = vectors<5>(V);
    auto [r_, s_, w_, u_] = M ? vectors<4>(V) : std::array{r, s, w, u};  // M⁻¹ of them: r̃, s̃, w̃, ũ
    auto alpha = V.scalars(), beta = V.scalars();

    stop.initial_residual(A, b, x, r);
    M.apply(r, r_);
    A.apply(r_, w);
    M.apply(w, w_);
    auto [resumed, alpha_old, nu_old] = resume(V, A, r, r_, p, s, stop);
    if (resumed) {
        M.apply(s, s_);
        auto [nu] = V.start(dot(r_, r)).wait();
        beta = nu / nu_old;
    }
    const int first = stop.checkpoint(r, r_, p, s, s_, w, w_, u, u_, alpha, beta) ? 1 : 0;

    for (int k = first;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        auto dots = V.start(x <<= x + alpha * p,
                            r <<= r - alpha * s,
                            when(M, r_ <<= r_ - alpha * s_),
                            p <<= r_ + beta * p,
                            s <<= (w - alpha * u) + beta * s,
                            when(M, s_ <<= (w_ - alpha * u_) + beta * s_),
                            dot(p, s),
                            dot(r_, s),
                            dot(s_, s),
                            dot(r_, r),
                            dot(r, r));
        A.apply(s_, u);
        M.apply(u, u_);
        A.apply(r_, w);
        M.apply(w, w_);
        auto [mu, delta, gamma, nu, rr] = dots.wait();
        alpha = nu / mu;
        beta = (nu - Number<T>{2} * alpha * delta + alpha * alpha * gamma) / nu;
        for (int j = 0; j < V.width(); ++j)
            beta[j] = std::max(beta[j], Number<T>{});  // rounding, where r̃ all but vanishes
        if (stop(k, rr) || stop.unless_positive(nu, Status::indefinite_preconditioner) ||
            stop.unless_positive(mu, Status::indefinite_matrix))
            break;
    }
}

}  // namespace stretto
