// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/pipelined_gmres.hpp"

namespace stretto {

/// Columns w, w + 1, … of a cycle of (l,t)-GMRES: a block of t vectors is made and its reduction started while the
/// block l − 1 before it is finished. Ends early where some v_c cannot be told from those before it.
template <class T>
void pipelined_s_step_columns(Space<T>& V, Arnoldi<T>& K, const Panel<T>& v, PipelinedGramSchmidt<T>& orthonormalise,
                              ChangeOfBasis<T>& change_of_basis,
                              Recent<std::optional<InFlight<T, counted_when_running>>>& sums, int l, int t) {
    const auto& q = K.Q;
    auto& R = K.R;
    const int w = K.extended(), m = K.m, lag = l * t - 1, blocks = (m - w + t - 1) / t;
    const auto begin = [&](int block) { return std::clamp(w + block * t + 1, w + 1, m + 1); };  // its first vector
    change_of_basis.begin(v, w, lag);
    for (int block = 0; block < blocks + l - 1; ++block) {
        const int first = begin(block), end = begin(block + 1);
        for (int i = first - 1; i + 1 < end; ++i) {
            K.op(v[i], v[i + 1]);
            if (i + 2 < end || i + 1 < lag + 1) V.run(change_of_basis(v, i, lag));
        }
        const int finished = block - (l - 1), a = begin(finished), known = begin(finished - l + 2);
        int e = begin(finished + 1);
        bool leave = false;
        if (finished >= 0) {
            sums[finished]->wait(R, 0, a, e - a);
            const Number<T>* const square = R.entry(e, a);
            for (int c = a; c < e; ++c) {
                const bool good = orthonormalise(known, c, square);
                leave = !good || K.extend(c - 1);
                if (leave) e = good ? c + 1 : c;
            }
        }
        const auto finish = q.part(a, e - a) <<= (v.part(a, e - a) - q.part(0, a) * R.from(0, a)) / R.from(a, a);
        if (leave || block >= blocks) {
            V.run(finish);
            if (leave) break;
            continue;
        }
        // The last vector of a block has waited for the column of H that it is made with.
        const auto next = v.part(first, end - first);
        const bool lagging = end - 1 > lag;
        sums[block].emplace(V.start(when(finished >= 0, finish),
                                    when(lagging, lagging ? change_of_basis(v, end - 2, lag) : PanelAssign<T>{}),
                                    dots(q.part(0, e), next),
                                    dots(v.part(e, end - e), next),
                                    dots(q.part(e - 1, 1), q.part(e - 1, 1))));
    }
    for (int k = 0; k < l; ++k) sums[k].reset();
}

/// Pipelined s-step GMRES, (l,t)-GMRES (Yamazaki et al. 2017, Fig. 4): t vectors at a time, whose reduction is waited
/// for l − 1 blocks later.
///
/// One reduction in t iterations, with (l − 1) t products between its start and the wait; stores 2 m + 3 vectors, 2 m +
/// 4 with a preconditioner. The first columns of the first cycle come as a block, whose Ritz values give the shifts.
/// Corrected: the change of basis lags by l t − 1, so lines 5 and 17 have V_{lt:…}, and line 5 is for k < t alone; line
/// 19 has k := 1; with l = 1 a reduction would be waited for before it is started. t need not divide m.
template <class T>
void pipelined_s_step_gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b,
                            MultiVector<T> x, Verdict<T>& stop) {
    const int m = static_cast<int>(stop.option("m")), warmup = std::min(static_cast<int>(stop.option("warmup")), m);
    const int l = static_cast<int>(stop.option("l"));
    int t = std::min(static_cast<int>(stop.option("t")), m);
    Arnoldi<T> K(V, A, M, b, x, m, stop);
    GramSchmidt<T> one_by_one(V, m, GramSchmidt<T>::dcgs2);
    BlockGramSchmidt<T> block(V, m, warmup, BlockGramSchmidt<T>::pip2);
    auto& basis = stop.template kept<NewtonBasis>(
        static_cast<NewtonBasis::Kind>(stop.option("basis")), std::max(l * t - 1, warmup), V.width(), m);
    PipelinedGramSchmidt<T> orthonormalise(K, &V.memory());
    ChangeOfBasis change_of_basis(V, K, basis, stop.option("tau"));
    V.reserve_products(m + 1 + t, t);
    const auto v = V.panel(m + 1);
    auto sums = in_flight<T>(V, l);

    restarted(
        V,
        K,
        stop,
        [&] {
            if (t == 0) {
                gmres_cycle(V, K, one_by_one, m);
                return false;
            }
            const bool own = basis.chosen();
            cycle_in_pipeline(V, K, basis, block, one_by_one, warmup, [&] {
                pipelined_s_step_columns(V, K, v, orthonormalise, change_of_basis, sums, l, t);
            });
            return own;
        },
        [&] {
            t /= 2;

            return t > 0 ? "t=" + std::to_string(t) : "gmres";
        });
}

}  // namespace stretto
