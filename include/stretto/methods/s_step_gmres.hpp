// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/gmres.hpp"
#include "stretto/methods/parts/block_of_columns.hpp"

namespace stretto {

/// A cycle of s-step GMRES: blocks of s vectors. Until there are shifts, from `warmup` columns, a block is of powers.
/// Where a block has to be cut, those after it have what was left and grow again. Returns the vectors of the shortest
/// one that was cut, s where none was.
template <class T>
int s_step_gmres_cycle(Space<T>& V, Arnoldi<T>& K, BlockGramSchmidt<T>& block, GramSchmidt<T>& one_by_one,
                       NewtonBasis& basis, int s, int h, int warmup) {
    const bool shifts_known = basis.chosen();
    int shortest = s;
    for (int now = s; !K.enough() && K.extended() < K.m;) {
        const int j = K.extended();
        // Few Ritz values do not make a long block well conditioned.
        const int n = std::min({now, K.m - j, shifts_known ? s : j > 0 ? 2 * j : warmup});
        const int good = block_of_columns(V, K, basis, block, one_by_one, n, h);
        if (!shifts_known) learn(basis, K);
        const bool cut = good < n && n > 1;
        now = cut ? std::max(good, 1) : std::min(now + 1, s);
        if (cut) shortest = std::min(shortest, now);
    }
    return shortest;
}

/// s-step GMRES (Hoemmen 2010; Yamazaki et al. 2017, Fig. 3): s vectors at a time, orthonormalised as a block.
///
/// One or two reductions in s iterations with the default orthogonalisation; stores m + 2 vectors, m + 3 with a
/// preconditioner. The first block is of powers, whose Ritz values give the shifts. Corrected: the outer loop goes by
/// s; a block begins with v_j := q_j.
template <class T>
void s_step_gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                  Verdict<T>& stop) {
    using Block = BlockGramSchmidt<T>;
    const int m = static_cast<int>(stop.option("m")), warmup = static_cast<int>(stop.option("warmup"));
    int s = std::min(static_cast<int>(stop.option("s")), m);
    Arnoldi<T> K(V, A, M, b, x, m, stop);
    GramSchmidt<T> one_by_one(V, m, GramSchmidt<T>::cgs2);
    Block block(V, m, s, static_cast<typename Block::Kind>(stop.option("orth")));
    auto& basis =
        stop.template kept<NewtonBasis>(static_cast<NewtonBasis::Kind>(stop.option("basis")), s, V.width(), m);

    const int asked = static_cast<int>(stop.option("h")), h = std::min(K.prepare_powers(asked), s);
    if (h < std::min(asked, s))
        stop.event("h=" + std::to_string(asked) +
                   " would not pay, or there is a preconditioner: going on with h=" + std::to_string(h));

    restarted(
        V,
        K,
        stop,
        [&] {
            const bool own = basis.chosen();
            if (const int n = s_step_gmres_cycle(V, K, block, one_by_one, basis, s, h, warmup); n < s)
                stop.event("a block was dependent from some vector on: cut to " + std::to_string(n));
            return own;
        },
        [&] {
            if (block.kind == Block::pip) {
                block.kind = Block::pip2;
                return std::string("orth=pip2");
            }
            if (s > 1) {
                s /= 2;
                return "s=" + std::to_string(s);
            }
            return std::string("gmres");
        });
}

}  // namespace stretto
