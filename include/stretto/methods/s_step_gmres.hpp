// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/gmres.hpp"
#include "stretto/methods/parts/block_gram_schmidt.hpp"
#include "stretto/methods/parts/newton_basis.hpp"

namespace stretto {

/// A cycle of s-step GMRES: a block of s vectors from q_j on, orthonormalised together. Until there are shifts, after
/// `warmup` columns, blocks are of one vector. Up to h products take one exchange (line 2). Returns how many blocks had
/// to be cut; s is then what was left.
template <class T>
int s_step_gmres_cycle(Space<T>& V, Arnoldi<T>& K, BlockGramSchmidt<T>& block, GramSchmidt<T>& one_by_one,
                       NewtonBasis& basis, int& s, int h, int warmup) {
    const auto& q = K.Q;
    int cut = 0;
    for (int j = 0, kept = 0; j < K.m; j += kept) {
        if (!basis.chosen() && j >= warmup)
            for (int k = 0; k < V.width(); ++k) basis.choose(K.H, K.used(k), k);
        const int n = basis.chosen() ? std::min(s, K.m - j) : 1;
        K.start_at(j);
        for (int i = j, count = 1; i < j + n; i += count) {
            if (!basis.chosen()) {
                K.op(q[i], q[i + 1]);
                continue;
            }
            // One exchange brings one vector, so no powers begin with a step that needs two.
            count = basis.second_of_pair(i - j) ? 1 : std::min(h, j + n - i);
            while (count > 1 && i + count < j + n && basis.second_of_pair(i + count - j)) --count;
            for (int k = i; k < i + count; ++k) basis.step(k - j, K.B, k);
            if (count > 1) {
                K.powers(i, count);
                continue;
            }
            K.op(q[i], q[i + 1]);
            const int first = std::max(i - 1, j);
            const auto next = q.part(i + 1, 1);
            V.run(next <<= (next - q.part(first, i + 1 - first) * K.B.from(first, i)) / K.B.from(i + 1, i));
        }
        kept = n > 1 ? block(K, j, n) : 0;
        if (kept < n && n > 1) {
            s = std::max(kept, 1);
            ++cut;
        }
        if (kept == 0) {
            one_by_one(K, j + 1);
            kept = 1;
        }
        for (int c = j; c < j + kept; ++c)
            if (K.extend(c)) return cut;
    }
    return cut;
}

/// s-step GMRES (Hoemmen 2010; Yamazaki et al. 2017, Fig. 3): s vectors at a time, orthonormalised as a block.
///
/// One or two reductions in s iterations with the default orthogonalisation; stores m + 2 vectors, m + 3 with a
/// preconditioner. The first columns of the first cycle come one by one, as in gmres, and give the shifts. Corrected:
/// the outer loop goes by s; a block begins with v_j := q_j.
template <class T>
void s_step_gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                  Verdict<T>& stop) {
    using Block = BlockGramSchmidt<T>;
    const int m = static_cast<int>(stop.option("m")), warmup = static_cast<int>(stop.option("warmup"));
    int s = std::min(static_cast<int>(stop.option("s")), m);
    Arnoldi<T> K(V, A, M, b, x, m, stop);
    GramSchmidt<T> one_by_one(V, m, GramSchmidt<T>::cgs2);
    Block block(V, m, s, static_cast<typename Block::Kind>(stop.option("orth")));
    auto& basis = stop.template kept<NewtonBasis>(static_cast<NewtonBasis::Kind>(stop.option("basis")), s, V.width());

    const int asked = static_cast<int>(stop.option("h")), h = std::min(K.prepare_powers(asked), s);
    if (h < std::min(asked, s))
        stop.event(fmt::format("h={} would not pay, or there is a preconditioner: going on with h={}", asked, h));

    restarted(
        V,
        K,
        stop,
        [&] {
            const bool own = basis.chosen();
            if (s_step_gmres_cycle(V, K, block, one_by_one, basis, s, h, std::min(warmup, m - 1)) > 0)
                stop.event(fmt::format("a block was dependent: going on with s={}", s));
            return own;
        },
        [&] {
            if (block.kind == Block::pip) {
                block.kind = Block::pip2;
                return std::string("orth=pip2");
            }
            if (s > 1) {
                s /= 2;
                return fmt::format("s={}", s);
            }
            return std::string("gmres");
        });
}

}  // namespace stretto
