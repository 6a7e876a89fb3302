// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "stretto/methods/parts/pipeline_lives.hpp"
#include "stretto/methods/parts/pipeline_scalars.hpp"
#include "stretto/methods/parts/shifts.hpp"

namespace stretto {

/// What goes from one iteration to the next: v is z⁽⁰⁾, z is z⁽ˡ⁾, u is M z. A new vector of z⁽ᵏ⁾, k < l, takes the
/// place of the last but one, so that two each are enough.
template <class T>
struct Pipeline {
    struct Pair {
        MultiVector<T> now, last;
        void advance() { std::swap(now, last); }
    };
    Pipeline(Space<T>& V, const LinearMap<T>& M, int deepest)
        : scalars(V, deepest),
          basis(
              deepest, [&](int) { return Pair{V.vector(), V.vector()}; }, &V.memory()),
          z(
              std::max(3, deepest + 1), [&](int) { return V.vector(); }, &V.memory()),
          u(M ? Recent(
                    3, [&](int) { return V.vector(); }, &V.memory())
              : z),
          u_last(M ? V.vector() : basis[0].last),
          p(V.vector()),
          eta(V.scalars()),
          rho(V.scalars()),
          rr(V.scalars()) {}

    PipelineScalars<T> scalars;
    Recent<Pair> basis;  // z⁽ᵏ⁾, k < l
    Recent<MultiVector<T>> z, u;
    MultiVector<T> u_last;  // M v₋₁
    MultiVector<T> p;
    Scalars<T> eta;      // the last pivot of T = L U
    Scalars<T> rho, rr;  // (r, M⁻¹r) and ‖r‖² where it begins
};

/// Shifts for depth l: zeros of the Chebyshev polynomial on [lowest, f · highest], f ≤ 1 where errors that no dot
/// product sees have grown least in the last n iterations. Isolated eigenvalues at the upper end put shifts between
/// them, into gaps, if f = 1. If f is small the polynomial is large at those eigenvalues, and errors grow that products
/// do see.
template <class T>
void choose_shifts(Space<T>& V, const Verdict<T>& stop, PipelineScalars<T>& scalars, int l, int n, double lowest,
                   double highest) {
    constexpr double step = 0.025;
    constexpr Number<T> steep =
        2;  // the most that the polynomial may be at the upper end, over its largest value on the interval
    constexpr Number<T> harmless = 10;  // growth
    Number<T> least = std::numeric_limits<Number<T>>::infinity();
    double best = 1;
    for (double f = 1; std::cosh(l * std::acosh(2 / f - 1)) <= steep && least > harmless; f -= step) {
        Number<T> most = 1;
        for (const double shift : chebyshev_shifts(l, lowest, f * highest, &V.memory()))
            for (int j = 0; j < V.width(); ++j)
                if (stop.active(j)) most = std::max(most, scalars.past_growth(n, static_cast<Number<T>>(shift), j));
        if (most < least) {
            least = most;
            best = f;
        }
    }
    const auto shifts = chebyshev_shifts(l, lowest, best * highest, &V.memory());
    for (int k = 0; k < l; ++k)
        scalars.sigma[k] = V.scalars(static_cast<Number<T>>(shifts[static_cast<std::size_t>(k)]));
}

/// The largest of all columns, from the last n iterations before the pipeline.
template <class T>
double largest_ritz_value(Space<T>& V, PipelineScalars<T>& scalars, int n) {
    double largest = 0;
    std::pmr::vector<double> diagonal(&V.memory()), beside(&V.memory());
    diagonal.reserve(static_cast<std::size_t>(n));
    beside.reserve(static_cast<std::size_t>(n));
    for (int j = 0; j < V.width(); ++j) {
        diagonal.clear();
        beside.clear();
        for (int k = -n; k < 0 && scalars.gamma[k][j] > 0; ++k) {
            diagonal.push_back(scalars.gamma[k][j]);
            beside.push_back(scalars.delta[k][j]);
        }
        if (!diagonal.empty()) largest = std::max(largest, largest_eigenvalue(diagonal, beside));
    }
    return largest;
}

/// The vectors of CG, r and M⁻¹r in v, A p in u_last and M⁻¹A p in v's last, become those of Lanczos: v₀, v₋₁, p₋₁ and
/// A v₀. Their signs alternate.
template <class T>
void to_lanczos(Space<T>& V, const LinearMap<T>& M, Pipeline<T>& pipeline, const Scalars<T>& alpha,
                const Scalars<T>& rho_last) {
    auto& [scalars, basis, z, u, u_last, p, eta, rho, rr] = pipeline;
    auto& [v, v_last] = basis[0];
    const auto one = V.scalars(1), scale = one / sqrt(rho), scale_last = -(one / sqrt(rho_last));
    V.run(v_last <<= scale_last * (v + alpha * v_last),
          when(M, u_last <<= scale_last * (u[0] + alpha * u_last)),
          p <<= (scale_last * alpha) * p,
          v <<= scale * v,
          z[0] <<= v,
          when(M, u[0] <<= scale * u[0]),
          u[1] <<= scale * u[1]);
}

/// Makes b − A x orthogonal to the last direction by a step along it, for who goes on from there.
template <class T>
void make_orthogonal(Space<T>& V, const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x, Pipeline<T>& pipeline) {
    const auto safeguard = V.ledger().enter(Phase::safeguard);
    const auto p = pipeline.p, r = pipeline.z[0], s = pipeline.z[1];
    residual(V, A, b, x, r);
    A.apply(p, s);
    auto [rp, ps] = V.start(dot(r, p), dot(p, s)).wait();
    const auto step = rp / ps;
    V.run(x <<= x + step * p);
}

/// The way into the pipeline: n iterations of CG in the form of Ghysels and Vanroose, each with its reduction behind a
/// product, from x and, where a pipeline was left or a checkpoint has it, the last direction p. T comes out of their
/// coefficients, and with it the largest Ritz value and the shifts. What they leave is v₀, v₋₁, p₋₁ and A v₀, so that
/// the pipeline goes on in the same Krylov space. True: nothing is left to do.
template <class T>
// Long: one loop, with what it begins with.
bool enter(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
           Verdict<T>& stop, Pipeline<T>& pipeline, PipelineLives<T>& lives) {
    auto& [scalars, basis, z, u, u_last, p, eta, rho, rr] = pipeline;
    auto& largest = stop.template kept<LargestRitzValue>();
    const int warmup = static_cast<int>(stop.option("warmup")), l = lives.depth();
    const bool known = std::max(stop.option("lmax"), largest.bound) > 0;
    const int done = stop.columns().iteration() - stop.columns().run_start();
    const bool again = lives.number() > 0 || stop.take_direction(p);
    const int n = !again ? (known ? 0 : warmup) : done < warmup ? std::max(warmup, l + 3) : l + 3;

    auto& v = basis[0];  // M⁻¹r until it is scaled
    if (!M) u_last = v.last;
    const auto r = M ? u[0] : v.now, s = u_last, q = v.last, w = u[1],
               y = M ? z[1] : z[2];  // s = A p, w = A v, y = A q
    const auto Mw = M ? z[2] : w, AMw = M ? u[2] : z[0];
    auto alpha = V.scalars(), beta = V.scalars(), rho_last = V.scalars();
    auto link = eta;  // the pivot of T before; alpha is for a p of any length, so its inverse is not that
    const auto one = V.scalars(1);
    if (!again) {
        stop.initial_residual(A, b, x, r);
        M.apply(r, v.now);
        if (n > 0) A.apply(v.now, w);
    } else {
        residual(V, A, b, x, r);
        M.apply(r, v.now);
        A.apply(p, s);
        M.apply(s, q);
        auto dots = V.start(dot(v.now, s), dot(p, s), dot(r, p), dot(r, v.now), dot(r, r), dot(s, q));
        A.apply(v.now, w);
        A.apply(q, y);
        auto [vs, ps, rp, rv, true_rr, sq] = dots.wait();
        lives.entered(true_rr);
        const auto step = rp / ps;  // makes r orthogonal to p, which keeps the Krylov space
        V.run(x <<= x + step * p, r <<= r - step * s, when(M, v.now <<= v.now - step * q), w <<= w - step * y);
        alpha = -((rv - Number<T>{2} * step * vs + step * step * sq) / (vs - step * sq));
        rho_last = alpha * ps;
        eta = one / alpha;
    }

    scalars.begin(l, done + n - lives.begun());
    auto dots = V.start(dot(r, v.now), dot(w, v.now), dot(r, r));
    for (int k = 0;; ++k) {
        if (k < n) {
            M.apply(w, Mw);
            A.apply(Mw, AMw);
        } else {
            A.apply(v.now, w);
        }
        auto [gamma, d, norm] = dots.wait();
        if ((k > 0 && stop(done + k, norm)) || stop.unless_positive(gamma, Status::indefinite_preconditioner))
            return true;
        rho = gamma;
        rr = norm;
        beta = rho / rho_last;
        scalars.delta[k - 1 - n] = k == 0 ? sqrt(beta * link * eta) : sqrt(beta) * eta;
        if (k == n) break;
        const auto pivot = d - beta * rho / alpha;  // (p, Ap)
        if (stop.hand_over_unless(pivot, p)) return true;
        alpha = rho / pivot;
        scalars.gamma[k - n] = one / alpha + beta * eta;
        eta = one / alpha;
        rho_last = rho;
        dots = V.start(y <<= AMw + beta * y,
                       when(M, q <<= Mw + beta * q),
                       s <<= w + beta * s,
                       p <<= v.now + beta * p,
                       x <<= x + alpha * p,
                       r <<= r - alpha * s,
                       when(M, v.now <<= v.now - alpha * q),
                       w <<= w - alpha * y,
                       dot(r, v.now),
                       dot(w, v.now),
                       dot(r, r));
    }
    to_lanczos(V, M, pipeline, alpha, rho_last);

    double highest = std::max(stop.option("lmax"), largest.bound);
    if (n > 0) largest.bound = highest = std::max(highest, 1.01 * largest_ritz_value(V, scalars, n));
    choose_shifts(V, stop, scalars, l, std::min(done + n, scalars.remembered), stop.option("lmin"), highest);
    lives.begin(done + n);
    return false;
}

}  // namespace stretto
