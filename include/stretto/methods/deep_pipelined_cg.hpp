// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "stretto/core/recent.hpp"
#include "stretto/methods/parts/natural_norm.hpp"
#include "stretto/methods/parts/resume.hpp"
#include "stretto/methods/parts/shifts.hpp"

namespace stretto {

inline constexpr int deepest_pipeline = 10;

/// The scalars of p(l)-CG, A V = V T and Z = V G, as far back as they are needed. Indices below zero are those of the
/// iterations before the pipeline.
template <class T>
class PipelineScalars {
public:
    PipelineScalars(Space<T>& V, int depth, int before)
        : gamma(
              before + 3 * depth + 3, [&](int) { return V.scalars(); }, &V.memory()),
          delta(gamma),
          sigma(
              depth, [&](int) { return V.scalars(); }, &V.memory()),
          l(depth),
          columns_(
              l + 1, [&](int) { return Recent(2 * l + 1, [&](int) { return V.scalars(); }, &V.memory()); },
              &V.memory()),
          polynomial_(
              2 * l + 3, [&](int) { return V.scalars(); }, &V.memory()),
          unseen_(l, [&](int) { return Unseen{V.scalars(1), V.scalars(), V.scalars(1)}; }, &V.memory()) {
        g(0, 0) = V.scalars(1);
    }

    /// Entry of G; column c has the rows c − 2l … c.
    Scalars<T>& g(int j, int c) { return columns_[c][j]; }

    /// Lines 9 and 10: column c of G, from (u_c, v_{c−l}) = dots[0] and (u_c, z_j) = dots[2 + c − j]. Returns what is
    /// under the square root.
    template <class Dots>
    Scalars<T> orthogonalise(int c, const Dots& dots) {
        for (int j = c - 2 * l; j < c; ++j) {
            if (j < 0) {
                g(j, c) = before(j, c);
            } else if (j <= c - l) {
                g(j, c) = j < c - l ? g(c - l, j + l) : dots[0];  // symmetric around the l-th diagonal, (9)
            } else {
                g(j, c) = dots[static_cast<std::size_t>(2 + c - j)];
                for (int k = c - 2 * l; k < j; ++k) g(j, c) = g(j, c) - g(k, j) * g(k, c);
                g(j, c) = g(j, c) / g(j, j);
            }
        }
        auto square = dots[2];
        for (int k = c - 2 * l; k < c; ++k) square = square - g(k, c) * g(k, c);
        return square;
    }

    /// How much an error that no dot product sees has grown. All of them see V through P_l(A), so of VᵀV − I, which
    /// commutes with T, they miss what belongs to the shifts; that goes like the square of T's polynomials there, which
    /// grow where a shift lies in a gap of the spectrum.
    Scalars<T> growth(int a) {
        Scalars<T> most(gamma[a].columns(), T{1});
        for (int k = 0; k < l; ++k) {
            auto& [now, last, grown] = unseen_[k];
            const auto next = ((sigma[k] - gamma[a]) * now - delta[a - 1] * last) / delta[a];
            const auto square = next * next + now * now, size = sqrt(square);
            last = now / size;
            now = next / size;
            for (int j = 0; j < most.columns(); ++j) {
                grown[j] = std::max(T{1}, grown[j] * square[j]);
                most[j] = std::max(most[j], grown[j]);
            }
        }
        return most;
    }

    Recent<Scalars<T>> gamma, delta;  // T
    Recent<Scalars<T>> sigma;

private:
    /// What z_c has of v_j, j < 0, where no dot product was taken: z_c = P_k(A) v_q, so it is (P_k(T) e_q)_j.
    Scalars<T> before(int j, int c) {
        const int q = std::max(0, c - l), k = std::min(c, l);
        auto& w = polynomial_;
        for (int i = q - l - 1; i <= q + l + 1; ++i) w[i] = Scalars<T>(w[i].columns(), i == q ? T{1} : T{});
        for (int s = 0; s < k; ++s) {
            auto above = w[q - l - 1];
            for (int i = q - l; i <= q + l; ++i)
                above = std::exchange(w[i], delta[i - 1] * above + (gamma[i] - sigma[s]) * w[i] + delta[i] * w[i + 1]);
        }
        return w[j];
    }

    struct Unseen {
        Scalars<T> now, last, grown;
    };

    int l;
    Recent<Recent<Scalars<T>>> columns_;  // G
    Recent<Scalars<T>> polynomial_;
    Recent<Unseen> unseen_;
};

/// What goes from one iteration to the next: v is z⁽⁰⁾, z is z⁽ˡ⁾, u is M z. A new vector of z⁽ᵏ⁾, k < l, takes the
/// place of the last but one, so that two each are enough.
template <class T>
struct Pipeline {
    struct Pair {
        MultiVector<T> now, last;
        void advance() { std::swap(now, last); }
    };
    Pipeline(Space<T>& V, const LinearMap<T>& M, int l, int before)
        : n(before),
          scalars(V, l, before),
          basis(
              l, [&](int) { return Pair{V.vector(), V.vector()}; }, &V.memory()),
          z(
              std::max(3, l + 1), [&](int) { return V.vector(); }, &V.memory()),
          u(M ? Recent(
                    3, [&](int) { return V.vector(); }, &V.memory())
              : z),
          u_last(M ? V.vector() : basis[0].last),
          p(V.vector()),
          eta(V.scalars()),
          rho(V.scalars()),
          rr(V.scalars()) {}

    int n;  // iterations before it
    PipelineScalars<T> scalars;
    Recent<Pair> basis;  // z⁽ᵏ⁾, k < l
    Recent<MultiVector<T>> z, u;
    MultiVector<T> u_last;  // M v₋₁
    MultiVector<T> p;
    Scalars<T> eta;      // the last pivot of T = L U
    Scalars<T> rho, rr;  // (r, M⁻¹r) and ‖r‖² where it begins
};

/// The largest Ritz value that a warm-up has found, with its margin: the next solve needs none.
struct LargestRitzValue {
    double bound = 0;
};

/// n iterations of CG. T comes out of their coefficients, and with it the largest Ritz value and the shifts. What they
/// leave is v₀, v₋₁ and p₋₁, so that the pipeline goes on in the same Krylov space. True: nothing is left to do.
template <class T>
bool warm_up(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
             Verdict<T>& stop, Pipeline<T>& pipeline) {
    auto& [n, scalars, basis, z, u, r_last, p, eta, rho, rr] = pipeline;
    auto& v = basis[0];  // M⁻¹r until it is scaled
    auto r = M ? u[0] : v.now, s = z[1];
    auto alpha = V.scalars(), beta = V.scalars(), rho_last = V.scalars();
    const auto one = V.scalars(1);

    stop.initial_residual(A, b, x, r);
    M.apply(r, v.now);
    auto [rho_start, rr_start] = V.start(dot(r, v.now), dot(r, r)).wait();
    rho = rho_start, rr = rr_start;
    for (int k = 1; k <= n; ++k) {
        if (stop.unless_positive(rho, Status::indefinite_preconditioner)) return true;
        V.run(p <<= v.now + beta * p);
        A.apply(p, s);
        auto [ps] = V.start(dot(p, s)).wait();
        if (stop.unless_positive(ps, Status::indefinite_matrix)) return true;
        alpha = rho / ps;
        V.run(x <<= x + alpha * p, (M ? r_last : v.last) <<= r - alpha * s);
        v.advance();
        r = M ? std::exchange(r_last, r) : v.now;
        M.apply(r, v.now);
        auto [rho_new, rr_new] = V.start(dot(r, v.now), dot(r, r)).wait();
        scalars.gamma[k - 1 - n] = one / alpha + beta * eta;
        eta = one / alpha;
        beta = rho_new / rho;
        scalars.delta[k - 1 - n] = sqrt(beta) * eta;
        rho_last = std::exchange(rho, rho_new);
        rr = rr_new;
        if (stop(k, rr)) return true;
    }
    if (stop.unless_positive(rho, Status::indefinite_preconditioner)) return true;

    const auto scale = one / sqrt(rho), scale_last = -(one / sqrt(rho_last));  // the signs of Lanczos alternate
    V.run(v.now <<= scale * v.now, v.last <<= scale_last * v.last, p <<= (scale_last * alpha) * p, z[0] <<= v.now);
    V.run(when(M, r <<= scale * r), when(M, r_last <<= scale_last * r_last));
    if (M) u[0] = r;

    auto& largest = stop.template kept<LargestRitzValue>();
    double highest = std::max(stop.option("lmax"), largest.bound);
    for (int j = 0; j < V.width() && n > 0; ++j) {
        std::pmr::vector<double> diagonal(&V.memory()), beside(&V.memory());
        for (int k = -n; k < 0 && scalars.gamma[k][j] > 0; ++k) {
            diagonal.push_back(scalars.gamma[k][j]);
            beside.push_back(scalars.delta[k][j]);
        }
        if (!diagonal.empty()) highest = std::max(highest, 1.01 * largest_eigenvalue(diagonal, beside));
    }
    if (n > 0) largest.bound = highest;
    const auto shifts = chebyshev_shifts(static_cast<int>(stop.option("l")), stop.option("lmin"), highest, &V.memory());
    for (std::size_t k = 0; k < shifts.size(); ++k) scalars.sigma[static_cast<int>(k)] = V.scalars(shifts[k]);
    return false;
}

/// Deep pipelined conjugate gradients, p(l)-CG (Cools, Cornelis, Ghysels and Vanroose 2019, Algorithm 1), for A and M
/// symmetric positive definite.
///
/// One reduction per iteration, hidden behind the products and preconditioners of l iterations; stores 2l + max(3, l +
/// 1) + 1 vectors, 4 more with a preconditioner. Corrected: u₀ is divided by its norm like z₀, indices below zero are
/// left out, (9) reads g_{j,i+1} = g_{i−l+1,j+l}, and x does not lag behind. Its columns go over to CG when the basis
/// drifts.
// Long: one loop, as its paper has it.
template <class T>
void deep_pipelined_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                       Verdict<T>& stop) {
    const int l = static_cast<int>(stop.option("l"));
    const T drift = stop.option("drift"), most_gap = stop.option("gap");
    const auto one = V.scalars(1), most_growth = V.scalars(stop.option("growth"));
    const bool known = std::max(stop.option("lmax"), stop.template kept<LargestRitzValue>().bound) > 0;
    Pipeline<T> pipeline(V, M, l, known ? 0 : static_cast<int>(stop.option("warmup")));
    if (warm_up(V, A, M, b, x, stop, pipeline)) return;
    auto& [n, scalars, basis, z, u, u_last, p, eta, rho, rr] = pipeline;
    auto &gamma = scalars.gamma, &delta = scalars.delta, &sigma = scalars.sigma;
    auto& v = basis[0];
    auto zeta = V.scalars();
    NaturalNorm<T> norm(rho, rr, stop);

    // Column c of G: (u_c, v_{c−l}) and (u_c, z_j), j = c … c − l + 1; the second product is known by symmetry too.
    const auto products = [&](int c) {
        return group(dot(u[c], v.now),
                     guard(dot(u[c], v.last)),
                     each<deepest_pipeline>(std::min(l, c + 1), [&u, &z, c](int k) { return dot(u[c], z[c - k]); }));
    };
    // Lines 3 and 4 while i < l: from z and u = M z the next ones.
    const auto multiply =
        [&](int i, MultiVector<T> zi, MultiVector<T> ui, MultiVector<T> z_next, MultiVector<T> u_next) {
            A.apply(zi, u_next);
            V.run(u_next <<= u_next - sigma[i] * ui);
            M.apply(u_next, z_next);
        };
    Recent in_flight(
        l,
        [&](int i) {
            const auto phase = V.ledger().enter(Phase::iteration);
            multiply(i, z[i], u[i], z[i + 1], u[i + 1]);
            return V.start(when(i + 1 < l, basis[i + 1].now <<= z[i + 1]), products(i + 1));
        },
        &V.memory());
    auto z_last = v.last, spare = u[l - 1];  // P_k(A) v₋₁, which the recurrences need once
    for (int k = 0; k < l && n > 0; ++k) {
        const auto next = k + 1 < l ? basis[k + 1].last : z[std::min(1, l - 1)];
        multiply(k, z_last, M ? u_last : z_last, next, M ? spare : next);
        z_last = next;
        std::swap(u_last, spare);
    }
    if (!M) u_last = z_last;

    for (int i = l;; ++i) {
        const auto phase = V.ledger().enter(Phase::iteration);
        A.apply(z[i], u[i + 1]);
        M.apply(u[i + 1], z[i + 1]);
        const auto dots = in_flight[i].wait();

        const int a = i - l, c = a + 1;
        const auto g = [&](int j, int k) -> Scalars<T>& { return scalars.g(j, k); };
        const auto square = scalars.orthogonalise(c, dots);
        const auto gap = c < l ? V.scalars() : dots[1] - g(c - l - 1, c);
        if (stop.hand_over_unless(drift * drift * dots[2] - gap * gap, p) || stop.hand_over_unless(square, p)) break;
        g(c, c) = sqrt(square);
        const auto &shift = a < l ? sigma[a] : gamma[a - l], &step = a < l ? one : delta[a - l];
        gamma[a] = shift + (step * g(a, c) - delta[a - 1] * g(a - 1, a)) / g(a, a);
        delta[a] = step * g(c, c) / g(a, a);
        const auto lambda = delta[a - 1] / eta;
        zeta = a == 0 ? sqrt(rho) : -(lambda * zeta);
        eta = gamma[a] - lambda * delta[a - 1];
        if (stop.unless_positive(eta, Status::indefinite_matrix) ||
            stop.hand_over_unless(most_growth - scalars.growth(a), p))
            break;

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

        const auto next = -(zeta * delta[a] / eta), natural = next * next;  // M⁻¹r is next · v
        if (stop.due("check") || (M && norm.due(natural))) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            const auto r = u[i + 2], true_z = z[i + 2];  // one vector where there is no M
            residual(V, A, b, x, r);
            M.apply(r, true_z);
            auto [true_natural, true_rr, gap_square, vv] = V.start(dot(r, true_z),
                                                                   dot(r, r),
                                                                   true_z <<= true_z - next * v.now,
                                                                   dot(true_z, true_z),
                                                                   dot(v.now, v.now))
                                                               .wait();
            const auto tolerable = most_gap * stop.target();
            if (stop.hand_over_unless(T{4} * natural - true_natural, p) ||
                stop.hand_over_unless(tolerable * tolerable - gap_square / (natural * vv) * true_rr, p))
                break;
            norm.measured(natural, true_rr);
        }
        if (stop(n + c, M ? norm(natural) : natural)) break;
    }
}

}  // namespace stretto
