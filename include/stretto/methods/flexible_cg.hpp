// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "stretto/convergence/verdict.hpp"
#include "stretto/core/recent.hpp"

namespace stretto {

inline constexpr int most_directions = 16;

/// Flexible conjugate gradients, FCG(m) (Notay 2000, Algorithm 2.1, truncated), for A symmetric positive definite and
/// an M that may be another one in each use.
///
/// Each direction is made conjugate to the last m by products, not by a recurrence that needs M to stay the same. Two
/// reductions per iteration, none hidden; stores 2 m + 3 vectors, 2 m + 4 with a preconditioner. With m = 1 and a fixed
/// M it is cg.
template <class T>
void flexible_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                 Verdict<T>& stop) {
    const int m = static_cast<int>(stop.option("m"));
    auto r = V.vector();
    auto u = M ? V.vector() : r;
    Recent d(m + 1, [&](int) { return V.vector(); }, &V.memory());
    Recent s(m + 1, [&](int) { return V.vector(); }, &V.memory());
    Recent ds(m + 1, [&](int) { return V.scalars(); }, &V.memory());  // (d, A d)
    Recent beta(m + 1, [&](int) { return V.scalars(); }, &V.memory());

    stop.initial_residual(A, b, x, r);
    auto [ur] = V.start(u <<= M * r, dot(u, r)).wait();
    const int earlier = stop.take_direction(d[0]) ? 1 : 0;
    if (earlier > 0) {
        auto [dAd, us] = V.start(s[0] <<= A * d[0], dot(d[0], s[0]), dot(u, s[0])).wait();
        ds[0] = dAd;
        beta[0] = us / dAd;
    }
    for (int k = 1; !stop.unless_positive(ur, Status::indefinite_preconditioner); ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        const int before = std::min(k - 1 + earlier, m), last = std::min(k + earlier, m);
        V.run(d[k] <<= u,
              each<most_directions>(before, [&](int j) { return d[k] <<= d[k] - beta[k - 1 - j] * d[k - 1 - j]; }));
        auto [dAd, dr] = V.start(s[k] <<= A * d[k], dot(d[k], s[k]), dot(d[k], r)).wait();
        ds[k] = dAd;
        if (stop.unless_positive(dAd, Status::indefinite_matrix)) break;
        const auto alpha = dr / dAd;
        V.run(x <<= x + alpha * d[k], r <<= r - alpha * s[k]);
        M.apply(r, u);
        const auto dots =
            V.start(dot(u, r), dot(r, r), each<most_directions>(last, [&](int j) { return dot(u, s[k - j]); })).wait();
        ur = dots[0];
        for (int j = 0; j < last; ++j) beta[k - j] = dots[static_cast<std::size_t>(j) + 2] / ds[k - j];
        stop.checkpoint_directions(Panel<T>(d[k]));
        if (stop(k, dots[1])) break;
    }
}

}  // namespace stretto
