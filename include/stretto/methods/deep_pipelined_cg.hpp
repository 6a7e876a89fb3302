// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "stretto/methods/parts/natural_norm.hpp"
#include "stretto/methods/parts/pipeline_entry.hpp"

namespace stretto {

inline constexpr int deepest_pipeline = 10;

/// The iterations of a deep pipeline from its entry on. True: columns leave it, to enter again.
// Long: one loop, as its paper has it.
template <class T>
bool run_pipeline(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                  Verdict<T>& stop, Pipeline<T>& pipeline, PipelineLives<T>& lives) {
    auto& [scalars, basis, z, u, u_before, p, eta, rho, rr] = pipeline;
    auto &gamma = scalars.gamma, &delta = scalars.delta;
    auto& sigma = scalars.sigma;
    auto& v = basis[0];
    const auto one = V.scalars(1);
    const int l = scalars.l, n = lives.begun();
    auto zeta = V.scalars(), natural = rho;
    NaturalNorm<T> norm(rho, rr, stop);

    // Column c of G: (u_c, v_{c−l}) and (u_c, z_j), j = c … c − l + 1; the second product is known by symmetry too.
    const auto products = [&](int c) {
        return group(dot(u[c], v.now),
                     guard(dot(u[c], v.last)),
                     each<deepest_pipeline>(std::min(l, c + 1), [&u, &z, c](int k) { return dot(u[c], z[c - k]); }));
    };
    // Lines 3 and 4 while i < l: from A z_i and u_i = M z_i the next ones.
    const auto extend = [&](int i, MultiVector<T> ui, MultiVector<T> z_next, MultiVector<T> u_next) {
        V.run(u_next <<= u_next - sigma[i] * ui);
        M.apply(u_next, z_next);
    };
    Recent in_flight(
        l,
        [&](int i) {
            const auto phase = V.ledger().enter(lives.number() == 1 ? Phase::iteration : Phase::safeguard);
            if (i > 0) A.apply(z[i], u[i + 1]);  // A z₀ is there
            extend(i, u[i], z[i + 1], u[i + 1]);
            return V.start(when(i + 1 < l, basis[i + 1].now <<= z[i + 1]), products(i + 1));
        },
        &V.memory());
    auto z_last = v.last, u_last = u_before, spare = u[l - 1];  // P_k(A) v₋₁, which the recurrences need once
    for (int k = 0; k < l && n > 0; ++k) {
        const auto next = k + 1 < l ? basis[k + 1].last : z[std::min(1, l - 1)], u_next = M ? spare : next;
        A.apply(z_last, u_next);
        extend(k, M ? u_last : z_last, next, u_next);
        z_last = next;
        std::swap(u_last, spare);
    }
    if (!M) u_last = z_last;

    std::optional<InFlight<T, 4>> check;
    auto measured = rho;
    const auto leave = [&] {
        const auto safeguard = V.ledger().enter(Phase::safeguard);
        const auto [true_natural, true_rr, gap_square, vv] = check->wait();
        check.reset();
        norm.measured(measured, true_rr);
        return lives.leave_unless(Number<T>{4} * measured - true_natural) ||
               lives.leave_unless(lives.gap() * lives.gap() - gap_square / (measured * vv) * true_rr);
    };
    for (int i = l;; ++i) {
        const auto phase = V.ledger().enter(Phase::iteration);
        A.apply(z[i], u[i + 1]);
        M.apply(u[i + 1], z[i + 1]);
        const auto dots = in_flight[i].wait();

        const int a = i - l, c = a + 1;
        if (check && leave()) return true;
        const auto g = [&](int j, int k) -> Scalars<T>& { return scalars.g(j, k); };
        const auto square = scalars.orthogonalise(c, dots);
        const auto error = c < l ? V.scalars() : dots[1] - g(c - l - 1, c);
        if (c == l) lives.begin_with(sqrt(error * error / dots[2]));
        const auto most = lives.drift(norm(natural));
        if (lives.leave_unless(most * most * dots[2] - error * error) || lives.leave_unless(square)) return true;
        g(c, c) = sqrt(square);
        const auto &shift = a < l ? sigma[a] : gamma[a - l], &step = a < l ? one : delta[a - l];
        gamma[a] = shift + (step * g(a, c) - delta[a - 1] * g(a - 1, a)) / g(a, a);
        delta[a] = step * g(c, c) / g(a, a);
        const auto lambda = delta[a - 1] / eta, pivot = gamma[a] - lambda * delta[a - 1];
        if (lives.leave_unless(pivot) || lives.leave_unless(lives.growth(norm(natural)) - scalars.growth(a)))
            return true;
        zeta = a == 0 ? sqrt(rho) : -(lambda * zeta);
        eta = pivot;

        for (int k = 0; k < l; ++k) basis[k].advance();
        if (i > l) z_last = z[i - 1], u_last = u[i - 1];
        const auto by_eta = one / eta, by_delta = one / delta[a];
        in_flight[i] = V.start(
            p <<= by_eta * (v.last - delta[a - 1] * p),
            x <<= x + zeta * p,
            each<deepest_pipeline>(l,
                                   [&](int k) {
                                       const auto& [now, last] = basis[k];
                                       const auto ahead = k + 1 < l ? basis[k + 1].last : z[i];
                                       return now <<=
                                              by_delta * (ahead + (sigma[k] - gamma[a]) * last - delta[a - 1] * now);
                                   }),
            z[i + 1] <<= by_delta * (z[i + 1] - gamma[a] * z[i] - delta[a - 1] * z_last),
            when(M, u[i + 1] <<= by_delta * (u[i + 1] - gamma[a] * u[i] - delta[a - 1] * u_last)),
            products(i + 1));

        const auto next = -(zeta * delta[a] / eta);
        natural = next * next;  // M⁻¹r is next · v
        if (stop.due("check") || (M && norm.due(natural))) {
            measured = natural;
            check = measure(V, A, M, b, x, next, v.now, u[i + 2], z[i + 2]);
            if (norm.near(natural) && leave()) return true;  // otherwise the next product hides it
        }
        if (stop(n + c, M ? norm(natural) : natural)) return false;
    }
}

/// Deep pipelined conjugate gradients, p(l)-CG (Cools, Cornelis, Ghysels and Vanroose 2019, Algorithm 1), for A and M
/// symmetric positive definite.
///
/// One reduction per iteration, hidden behind the products and preconditioners of l iterations; stores 2l + max(3, l +
/// 1) + 1 vectors, 4 more with a preconditioner. Corrected: u₀ is divided by its norm like z₀, indices below zero are
/// left out, (9) reads g_{j,i+1} = g_{i−l+1,j+l}, and x does not lag behind. Where the basis drifts, columns leave the
/// pipeline and enter it again, in the same Krylov space; those whose pipelines live too shortly go over to the refuge.
template <class T>
void deep_pipelined_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                       Verdict<T>& stop) {
    const int deepest = static_cast<int>(stop.option("l"));
    Pipeline<T> pipeline(V, M, deepest);
    PipelineLives<T> lives(V, stop);
    stop.checkpoint_directions(Panel<T>(pipeline.p));
    while (!enter(V, A, M, b, x, stop, pipeline, lives) && run_pipeline(V, A, M, b, x, stop, pipeline, lives)) {
        if (lives.gives_up()) make_orthogonal(V, A, b, x, pipeline);
        if (lives.end(deepest, pipeline.p)) return;
    }
}

}  // namespace stretto
