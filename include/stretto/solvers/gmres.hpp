// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/solvers/gram_schmidt.hpp"

namespace stretto {

/// A cycle of GMRES of at most `columns` columns.
template <class T>
void gmres_cycle(Arnoldi<T>& K, GramSchmidt<T>& orthonormalise, int columns) {
    const auto& q = K.Q;
    for (int j = 0; j < columns; ++j) {
        K.start_at(j);
        K.op(q[j], q[j + 1]);
        orthonormalise(K, j + 1);
        if (K.extend(j)) break;
    }
}

/// Restarted GMRES (Saad, Schultz 1986; Yamazaki, Hoemmen, Luszczek, Dongarra 2017, Fig. 1) for any square A, with
/// M on the right or on the left.
///
/// One reduction per iteration, waited for, with the default orthogonalisation; stores m + 2 vectors, m + 3 with a
/// preconditioner.
template <class T>
void gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
           Stop<T>& stop) {
    Arnoldi<T> K(V, A, M, b, x, static_cast<int>(stop.option("m")), stop);
    GramSchmidt<T> orthonormalise(V, K.m, static_cast<typename GramSchmidt<T>::Kind>(stop.option("orth")));
    restarted(
        V,
        K,
        stop,
        [&] {
            gmres_cycle(K, orthonormalise, K.m);
            return true;
        },
        [&] {
            orthonormalise.kind = GramSchmidt<T>::cgs2;
            return "orth=cgs2";
        });
}

}  // namespace stretto
