// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <tuple>

#include "stretto/methods/parts/shadow.hpp"

namespace stretto {

/// Pipelined BiCGStab (Cools and Vanroose 2017; Krasnopolsky 2019, Algorithms 4 and 7), right-preconditioned, for any
/// square A.
///
/// Two reductions per iteration, each hidden behind a product and a preconditioner; stores 10 vectors, 15
/// with a preconditioner. Corrected: ŵ₀ = M⁻¹w₀, and line 15 of Algorithm 7 makes ŵ and t of the next
/// iteration. Past its attainable accuracy the true residual grows while the recursive one falls; every
/// `check` iterations the gap is measured and, where it exceeds `gap`·‖r‖ and a tenth of the tolerance, all vectors are
/// recomputed from what defines them (residual replacement).
///
/// Where it is the product's gather that may be in flight (`product_in_flight`: every rank has all vectors, sums need
/// no reduction), the statements are in another order: the product begins as soon as it can, and the dot products and
/// all else that does not need it hide the gather (Yamazaki and others 2018, Section VII, pipe2).
// Long: one loop, as its paper has it.
template <class T>
void pipelined_bicgstab(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                        Verdict<T>& stop) {
    auto [r, r0, ph, s, z, v, q, y, w, t] = vectors<10>(V);
    auto rh = M ? V.vector() : r;  // the hatted vectors: r̂ = M⁻¹r, …
    auto sh = M ? V.vector() : s;
    auto qh = M ? V.vector() : q;
    auto zh = M ? V.vector() : z;
    auto wh = M ? V.vector() : w;
    auto alpha = V.scalars(), beta = V.scalars(), omega = V.scalars();
    constexpr double harmless = 0.1;  // of the tolerance: such a gap is let be, for a replacement delays convergence
    const bool product_in_flight = A.finishes_later();
    Pending gather;  // of v, and of t

    stop.initial_residual(A, b, x, r);
    auto [norm_r0, rho] = shadow(V, r, r0, stop);
    auto rr = stop.initial_squares(r);
    stop.checkpoint(r, r0, ph, sh, s, z, zh, v, alpha, omega, rho, norm_r0);
    if (stop.unless_nonzero(rho)) return;
    M.apply(r, rh);
    A.apply(rh, w);
    auto more = V.start(dot(r0, r), dot(r0, z), dot(r0, w), dot(r0, s));
    M.apply(w, wh);
    gather = A.start(wh, t);

    for (int k = 1;; ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        auto [rho_new, psi, sigma, delta] = more.wait();
        beta = (alpha / omega) * (rho_new / rho);
        rho = rho_new;
        const auto denominator = sigma + beta * delta - beta * omega * psi;
        if (stop.unless_nonzero(rho, sqrt(rr) * norm_r0) || stop.unless_nonzero(denominator)) break;
        alpha = rho / denominator;

        const auto directions = group(ph <<= rh + beta * (ph - omega * sh),
                                      when(M, sh <<= wh + beta * (sh - omega * zh)),
                                      when(M, qh <<= rh - alpha * sh),
                                      s <<= w + beta * (s - omega * z),
                                      q <<= r - alpha * s);
        const auto next_z = z <<= t + beta * (z - omega * v);
        const auto product_with_z = [&] {
            M.apply(z, zh);
            gather = A.start(zh, v);
        };
        if (product_in_flight) {
            V.run(directions);
            gather.wait();
            V.run(next_z);
            product_with_z();
        }
        auto dots = V.start(when(!product_in_flight, directions),
                            when(!product_in_flight, next_z),
                            y <<= w - alpha * z,
                            dot(y, q),
                            dot(y, y),
                            dot(q, q));
        if (!product_in_flight) product_with_z();
        auto [theta, phi, pi] = dots.wait();
        omega = stabiliser(theta, phi, pi, stop);
        rr = pi - conjugate(omega) * (2 * theta - omega * phi);

        const auto advance = group(x <<= x + alpha * ph + omega * qh, r <<= q - omega * y);
        const auto next_rh = rh <<= qh - omega * (wh - alpha * zh);
        const auto next_w = w <<= y - omega * (t - alpha * v);
        const auto product_with_w = [&] {
            M.apply(w, wh);
            gather = A.start(wh, t);
        };
        if (!M || product_in_flight)
            V.run(when(M, next_rh), advance);  // as Algorithm 4 has it; Algorithm 7 merges it with what follows
        if (product_in_flight) {
            gather.wait();
            V.run(next_w);
            product_with_w();
        }
        if (stop.passes(rr)) {  // nobody would wait for what follows
            const auto last = V.ledger().enter(Phase::setup);
            V.run(when(M && !product_in_flight, advance));
            std::ignore = stop(k, rr);
            break;
        }
        more = V.start(when(M && !product_in_flight, next_rh),
                       when(M && !product_in_flight, advance),
                       when(!product_in_flight, next_w),
                       dot(r0, r),
                       dot(r0, z),
                       dot(r0, w),
                       dot(r0, s));
        if (stop(k, rr) || stop.unless_nonzero(omega)) break;
        const auto hides = [&] {
            const auto own = V.ledger().enter(Phase::iteration);
            if (!product_in_flight) product_with_w();
        };
        if (!stop.due("check")) {
            hides();
        } else {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            gather.wait();
            if (stop.residual_gap(A, b, x, r, q, harmless, hides)) {
                gather.wait();
                residual(V, A, b, x, r);
                M.apply(r, rh);
                A.apply(rh, w);
                M.apply(w, wh);
                A.apply(wh, t);
                A.apply(ph, s);
                M.apply(s, sh);
                A.apply(sh, z);
                more = V.start(dot(r0, r), dot(r0, z), dot(r0, w), dot(r0, s));
                M.apply(z, zh);
                A.apply(zh, v);
                stop.event("residual replaced");
            }
        }
    }
}

}  // namespace stretto
