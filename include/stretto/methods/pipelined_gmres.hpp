// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/gmres.hpp"
#include "stretto/methods/parts/pipelined_basis.hpp"

namespace stretto {

/// Columns w, w + 1, … of a cycle of l-GMRES: v_{i+1} is made and its reduction started while q_c, c = i − l + 1, is
/// finished. Ends early where some v_c cannot be told from those before it.
template <class T>
void pipelined_columns(Space<T>& V, Arnoldi<T>& K, const Panel<T>& v, PipelinedGramSchmidt<T>& orthonormalise,
                       ChangeOfBasis<T>& change_of_basis,
                       Recent<std::optional<InFlight<T, counted_when_running>>>& sums, int l) {
    const auto& q = K.Q;
    auto& R = K.R;
    const int w = K.extended();
    change_of_basis.begin(v, w, l);
    for (int i = w; i < K.m + l; ++i) {
        const int c = i - l + 1, a = std::max(c, w);
        if (i < K.m) K.op(v[i], v[i + 1]);
        if (c > w) {
            sums[c]->wait(R, 0, c, 1);
            if (!orthonormalise(std::max(c - l, w) + 1, c, R.entry(c + 1, c)) || K.extend(c - 1)) break;
        }
        const auto finish = q.part(a, 1) <<= (v.part(a, 1) - q.part(0, a) * R.from(0, a)) / R.from(a, a);
        if (i >= K.m) {
            V.run(when(c > w, finish));
            continue;
        }
        const auto next = v.part(i + 1, 1);
        sums[i + 1].emplace(V.start(when(c > w, finish),
                                    change_of_basis(v, i, l),
                                    dots(q.part(0, a + 1), next),
                                    dots(v.part(a + 1, i + 1 - a), next),
                                    dots(q.part(a, 1), q.part(a, 1))));
    }
    for (int k = 0; k < l; ++k) sums[k].reset();
}

/// Pipelined GMRES of depth l, l-GMRES (Ghysels, Ashby, Meerbergen, Vanroose 2013; Yamazaki et al. 2017, Fig. 2).
///
/// One reduction per iteration, with l products between its start and the wait; stores 2 m + 3 vectors, 2 m + 4 with a
/// preconditioner. The first columns of the first cycle come as a block, whose Ritz values give the shifts. Corrected:
/// line 8 has V_{l+1:j}; lines 2 and 8 lack the shifts of the first l vectors; the last l passes start no product.
template <class T>
void pipelined_gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                     Verdict<T>& stop) {
    const int m = static_cast<int>(stop.option("m")), warmup = std::min(static_cast<int>(stop.option("warmup")), m);
    int l = static_cast<int>(stop.option("l"));
    Arnoldi<T> K(V, A, M, b, x, m, stop);
    GramSchmidt<T> one_by_one(V, m, GramSchmidt<T>::dcgs2);
    BlockGramSchmidt<T> block(V, m, warmup, BlockGramSchmidt<T>::pip2);
    auto& basis = stop.template kept<NewtonBasis>(
        static_cast<NewtonBasis::Kind>(stop.option("basis")), std::max(l, warmup), V.width(), m);
    PipelinedGramSchmidt<T> orthonormalise(K, &V.memory());
    ChangeOfBasis change_of_basis(V, K, basis, stop.option("tau"));
    const auto v = V.panel(m + 1);
    auto sums = in_flight<T>(V, l);

    restarted(
        V,
        K,
        stop,
        [&] {
            if (l == 0) {
                gmres_cycle(V, K, one_by_one, m);
                return false;
            }
            const bool own = basis.chosen();
            cycle_in_pipeline(V, K, basis, block, one_by_one, warmup, [&] {
                pipelined_columns(V, K, v, orthonormalise, change_of_basis, sums, l);
            });
            return own;
        },
        [&] {
            l /= 2;

            return l > 0 ? "l=" + std::to_string(l) : "gmres";
        });
}

}  // namespace stretto
