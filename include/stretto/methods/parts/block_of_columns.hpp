// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/block_gram_schmidt.hpp"
#include "stretto/methods/parts/gram_schmidt.hpp"
#include "stretto/methods/parts/newton_basis.hpp"

namespace stretto {

/// The Ritz values of this cycle so far, for each right-hand side.
template <class T>
void learn(NewtonBasis& basis, const Arnoldi<T>& K) {
    for (int j = 0; j < K.H.columns(); ++j) basis.choose(K.H, K.used(j), j);
}

/// The next n columns of a cycle, as s-step GMRES makes them (Yamazaki et al. 2017, Fig. 3): n products from the last
/// vector on, orthonormalised as a block; up to h of them take one exchange (line 2). Returns how many vectors of the
/// block were good; where none was, one column is made alone.
template <class T>
int block_of_columns(Space<T>& V, Arnoldi<T>& K, const NewtonBasis& basis, BlockGramSchmidt<T>& block,
                     GramSchmidt<T>& one_by_one, int n, int h = 1) {
    const auto& q = K.Q;
    const int j = K.extended();
    K.start_at(j);
    for (int i = j, count = 1; i < j + n; i += count) {
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
    const int good = n > 1 ? block(K, j, n) : 0;
    if (good == 0) one_by_one(K, j + 1);
    for (int c = j; c < j + std::max(good, 1); ++c)
        if (K.extend(c)) break;
    return good;
}

}  // namespace stretto
