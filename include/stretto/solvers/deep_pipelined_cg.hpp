// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "stretto/core/recent.hpp"
#include "stretto/solvers/natural_norm.hpp"
#include "stretto/solvers/shifts.hpp"
#include "stretto/solvers/stop.hpp"

namespace stretto {

inline constexpr int deepest_pipeline = 10;

/// The scalars of p(l)-CG: A V = V T and Z = V G, as far back as they are needed. Indices below zero are those of the
/// Lanczos process before the pipeline.
template <class T>
class PipelineScalars {
public:
    PipelineScalars(const Space<T>& V, int depth, int before)
        : gamma(before + 3 * depth + 3, [&](int) { return V.scalars(); }),
          delta(gamma),
          sigma(depth, [&](int) { return V.scalars(); }),
          l(depth),
          columns_(l + 1, [&](int) { return Recent(2 * l + 1, [&](int) { return V.scalars(); }); }),
          polynomial_(2 * l + 3, [&](int) { return V.scalars(); }) {
        g(0, 0) = V.scalars(1);
    }

    /// Entry of G; column c has the rows c − 2l … c.
    Scalars<T>& g(int j, int c) { return columns_[c][j]; }

    /// Lines 9 and 10: column c of G, from (u_c, v_{c−l}) = dots[0] and (u_c, z_{c−j}) = dots[2 + j]. Returns what is
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

    Recent<Scalars<T>> gamma, delta;  // T
    Recent<Scalars<T>> sigma;

private:
    /// What z_c has of v_j, j < 0, where no dot product was taken: z_c = P_k(A) v_q, so it is (P_k(T) e_q)_j.
    Scalars<T> before(int j, int c) {
        const int q = std::max(0, c - l), k = std::min(c, l);
        auto& w = polynomial_;
        for (int i = q - l - 1; i <= q + l + 1; ++i) w[i] = Scalars<T>(w[i].columns(), i == q ? T{1} : T{});
        for (int s = 0; s < k; ++s) {
            Scalars<T> above = w[q - l - 1];
            for (int i = q - l; i <= q + l; ++i)
                above = std::exchange(w[i], delta[i - 1] * above + (gamma[i] - sigma[s]) * w[i] + delta[i] * w[i + 1]);
        }
        return w[j];
    }

    int l;
    Recent<Recent<Scalars<T>>> columns_;  // G
    Recent<Scalars<T>> polynomial_;
};

/// What goes from one iteration to the next: v is z⁽⁰⁾, z is z⁽ˡ⁾, u is M z.
template <class T>
struct Pipeline {
    struct Pair {
        MultiVector<T> now, before;
        void advance() { std::swap(now, before); }
    };
    Pipeline(Space<T>& V, const LinearMap<T>& M, int l, int warmup)
        : n(warmup),
          scalars(V, l, warmup),
          basis(l, [&](int) { return Pair{V.vector(), V.vector()}; }),
          z(std::max(3, l + 1), [&](int) { return V.vector(); }),
          u(M ? Recent(3, [&](int) { return V.vector(); }) : z),
          u_before(M ? V.vector() : basis[0].before),
          p(V.vector()),
          eta(V.scalars()),
          rho(V.scalars()),
          rr(V.scalars()) {}

    int n;  // iterations of CG before it
    PipelineScalars<T> scalars;
    Recent<Pair> basis;  // z⁽ᵏ⁾, k < l
    Recent<MultiVector<T>> z, u;
    MultiVector<T> u_before;  // M v₋₁
    MultiVector<T> p;
    Scalars<T> eta;      // the last pivot of T = L U
    Scalars<T> rho, rr;  // (r, M⁻¹r) and ‖r‖² where it begins
};

/// n iterations of CG. T comes out of their coefficients, with it the largest Ritz value and the shifts; what they leave
/// behind is v₀, v₋₁ and p, so that the pipeline goes on in the same Krylov space. True: nothing is left to do.
template <class T>
bool warm_up(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
             Stop<T>& stop, Pipeline<T>& P) {
    auto& [n, scalars, basis, z, u, r_before, p, eta, rho, rr] = P;
    auto& v = basis[0];  // M⁻¹ r until the end
    auto r = M ? u[0] : v.now;
    auto s = z[1];
    auto alpha = V.scalars(), beta = V.scalars(), rho_before = V.scalars();
    const auto one = V.scalars(1);

    residual(V, A, b, x, r);
    M.apply(r, v.now);
    auto [rho0, rr0] = V.start(dot(r, v.now), dot(r, r)).wait();
    rho = rho0, rr = rr0;
    for (int k = 1; k <= n; ++k) {
        if (stop.unless_positive(rho, Status::indefinite_preconditioner)) return true;
        V.run(p <<= v.now + beta * p);
        A.apply(p, s);
        auto [ps] = V.start(dot(p, s)).wait();
        if (stop.unless_positive(ps, Status::indefinite_matrix)) return true;
        alpha = rho / ps;
        V.run(x <<= x + alpha * p, (M ? r_before : v.before) <<= r - alpha * s);
        v.advance();
        r = std::exchange(r_before, r);
        if (!M) r = v.now;
        M.apply(r, v.now);
        auto [rho_new, rr_new] = V.start(dot(r, v.now), dot(r, r)).wait();
        scalars.gamma[k - 1 - n] = one / alpha + beta * eta;
        eta = one / alpha;
        beta = rho_new / rho;
        scalars.delta[k - 1 - n] = sqrt(beta) * eta;
        rho_before = std::exchange(rho, rho_new);
        rr = rr_new;
        if (stop(k, rr)) return true;
    }
    if (stop.unless_positive(rho, Status::indefinite_preconditioner)) return true;

    const auto scale = one / sqrt(rho), scale_before = -(one / sqrt(rho_before));  // from CG's signs to Lanczos's
    V.run(v.now <<= scale * v.now, v.before <<= scale_before * v.before, p <<= (scale_before * alpha) * p, z[0] <<= v.now);
    if (M) {
        V.run(r <<= scale * r, r_before <<= scale_before * r_before);
        u[0] = r;
    } else {
        r_before = v.before;
    }

    double highest = stop.option("lmax");
    for (int j = 0; j < V.columns() && n > 0; ++j) {
        std::vector<double> diagonal, beside;
        for (int k = -n; k < 0 && scalars.gamma[k][j] > 0; ++k) {
            diagonal.push_back(scalars.gamma[k][j]);
            beside.push_back(scalars.delta[k][j]);
        }
        if (!diagonal.empty()) highest = std::max(highest, 1.01 * largest_eigenvalue(diagonal, beside));
    }
    const auto shifts = chebyshev_shifts(static_cast<int>(stop.option("l")), stop.option("lmin"), highest);
    for (std::size_t k = 0; k < shifts.size(); ++k) scalars.sigma[static_cast<int>(k)] = V.scalars(shifts[k]);
    return false;
}

/// Deep pipelined conjugate gradients, p(l)-CG (Cools, Cornelis, Ghysels and Vanroose 2019, Algorithm 1), for A and M
/// symmetric positive definite.
template <class T>
void deep_pipelined_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                       Stop<T>& stop) {
    const int l = static_cast<int>(stop.option("l"));
    const T drift = stop.option("drift");
    const auto one = V.scalars(1);
    Pipeline<T> P(V, M, l, stop.option("lmax") > 0 ? 0 : static_cast<int>(stop.option("warmup")));
    if (warm_up(V, A, M, b, x, stop, P)) return;
    auto& [n, scalars, basis, z, u, u_before, p, eta, rho, rr] = P;
    auto &gamma = scalars.gamma, &delta = scalars.delta, &sigma = scalars.sigma;
    auto& v = basis[0];
    auto zeta = V.scalars();
    NaturalNorm<T> norm(rho, rr, stop);

    // The next P_k(A) v and M P_k(A) v.
    const auto multiply = [&](const Scalars<T>& shift, MultiVector<T> zk, MultiVector<T> uk, MultiVector<T> z_next,
                              MultiVector<T> u_next) {
        A.apply(zk, u_next);
        V.run(u_next <<= u_next - shift * uk);
        M.apply(u_next, z_next);
    };
    // (u_c, v_{c−l}) and (u_c, z_j), j = c … c − l + 1; the check is a product that symmetry gave before.
    const auto products = [&](int c) {
        return group(dot(u[c], v.now), guard(dot(u[c], v.before)),
                     each<deepest_pipeline>(std::min(l, c + 1), [&, c](int k) { return dot(u[c], z[c - k]); }));
    };

    Recent in_flight(l, [&](int i) {
        const auto book = V.ledger().book(Phase::iteration);
        multiply(sigma[i], z[i], u[i], z[i + 1], u[i + 1]);
        return V.start(when(i + 1 < l, basis[i + 1].now <<= z[i + 1]), products(i + 1));
    });
    auto z_before = v.before, spare = u[l - 1];  // P_k(A) v₋₁
    for (int k = 0; n > 0 && k < l; ++k) {
        auto next = k + 1 < l ? basis[k + 1].before : z[std::min(1, l - 1)];
        multiply(sigma[k], z_before, u_before, next, M ? spare : next);
        z_before = next;
        if (M) std::swap(u_before, spare);
        else u_before = next;
    }

    for (int i = l;; ++i) {
        const auto book = V.ledger().book(Phase::iteration);
        A.apply(z[i], u[i + 1]);
        M.apply(u[i + 1], z[i + 1]);
        const auto dots = in_flight[i].wait();

        const int a = i - l, c = a + 1;
        const auto g = [&](int j, int k) -> Scalars<T>& { return scalars.g(j, k); };
        const auto square = scalars.orthogonalise(c, dots);
        const auto gap = c < l ? V.scalars() : dots[1] - g(c - l - 1, c);
        if (stop.hand_over_unless((drift * drift) * dots[2] - gap * gap) || stop.hand_over_unless(square)) break;
        g(c, c) = sqrt(square);
        const auto& shift = a < l ? sigma[a] : gamma[a - l];
        const auto& step = a < l ? one : delta[a - l];
        gamma[a] = shift + (step * g(a, c) - g(a - 1, a) * delta[a - 1]) / g(a, a);
        delta[a] = step * g(c, c) / g(a, a);
        const auto lambda = delta[a - 1] / eta;
        zeta = a == 0 ? sqrt(rho) : -(lambda * zeta);
        eta = gamma[a] - lambda * delta[a - 1];
        if (stop.unless_positive(eta, Status::indefinite_matrix)) break;

        for (int k = 0; k < l; ++k) basis[k].advance();
        const auto by_eta = one / eta, by_delta = one / delta[a];
        const auto z_old = a == 0 ? z_before : z[i - 1], u_old = a == 0 ? u_before : u[i - 1];
        in_flight[i] = V.start(
            p <<= by_eta * (v.before - delta[a - 1] * p),
            x <<= x + zeta * p,
            each<deepest_pipeline>(l, [&](int k) {
                const auto& [now, before] = basis[k];
                return now <<= by_delta * ((k + 1 < l ? basis[k + 1].before : z[i]) + (sigma[k] - gamma[a]) * before -
                                           delta[a - 1] * now);
            }),
            z[i + 1] <<= by_delta * (z[i + 1] - gamma[a] * z[i] - delta[a - 1] * z_old),
            when(M, u[i + 1] <<= by_delta * (u[i + 1] - gamma[a] * u[i] - delta[a - 1] * u_old)),
            products(i + 1));

        const auto natural = (zeta * delta[a] / eta) * (zeta * delta[a] / eta);
        if (M && norm.due(natural)) {
            const auto safeguard = V.ledger().book(Phase::safeguard);
            residual(V, A, b, x, u[i + 2]);
            M.apply(u[i + 2], z[i + 2]);
            auto [true_natural, true_rr] = V.start(dot(u[i + 2], z[i + 2]), dot(u[i + 2], u[i + 2])).wait();
            if (stop.hand_over_unless(4.0 * natural - true_natural)) break;
            norm.measured(natural, true_rr);
        }
        if (stop(n + c, M ? norm(natural) : natural)) break;
    }
}

}  // namespace stretto
