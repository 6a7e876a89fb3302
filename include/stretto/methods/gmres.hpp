// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/methods/parts/gram_schmidt.hpp"

namespace stretto {

/// A cycle of GMRES with delayed reorthogonalisation (Bielich, Langou, Thomas, Świrydowicz, Yamazaki, Boman 2022): q_j,
/// so far projected once, and w = A M⁻¹ q_j are projected together, in one reduction and one pass over the basis. v_j
/// is the once projected vector, so that its products with A M⁻¹ follow from those of the basis before it. The last
/// vector of a cycle is projected once: no more than its length is asked for.
template <class T>
void delayed_gmres_cycle(Space<T>& V, Arnoldi<T>& K, SmallMatrix<T>& P, int steps) {
    const auto& q = K.Q;
    auto &R = K.R, &B = K.B;
    for (int j = 0;; ++j) {
        const bool last = j == steps;  // P has come with the last projection
        if (!last) {
            K.op(q[j], q[j + 1]);
            V.start(dots(q.part(0, j + 2), q.part(j, 2))).wait(P, 0, 0, 2);
        }
        for (int k = 0; k < V.width(); ++k) {
            if (!K.active_in_cycle(k)) continue;
            Real<T> left = real_part(P(j, 0, k));
            for (int i = 0; i < j; ++i) {
                R(i, j, k) = P(i, 0, k);
                left -= abs_squared(R(i, j, k));
            }
            // Twice is enough: what is lost again was never there.
            R(j, j, k) = left > Real<T>{0.01} * real_part(P(j, 0, k)) ? std::sqrt(left) : Real<T>{};
        }
        if ((j > 0 && K.extend(j - 1)) || last) return;
        for (int k = 0; k < V.width(); ++k) {
            // Column 1 of P: what w has of q; of q_j it is known by q_j as it was.
            Real<T> left = real_part(P(j + 1, 1, k));
            if (R(j, j, k) != Number<T>{}) {
                for (int i = 0; i < j; ++i) P(j, 1, k) -= conjugate(R(i, j, k)) * P(i, 1, k);
                P(j, 1, k) /= R(j, j, k);
            }
            for (int i = 0; i <= j; ++i) left -= abs_squared(P(i, 1, k));
            B(j + 1, j, k) =
                !K.active_in_cycle(k)
                    ? Real<T>{}
                    : std::sqrt(std::max(left, std::numeric_limits<Real<T>>::epsilon() * real_part(P(j + 1, 1, k))));
            for (int i = j; i >= 0; --i) {
                B(i, j, k) = P(i, 1, k);
                for (int c = i + 1; c <= j; ++c) B(i, j, k) -= R(i, c, k) * B(c, j, k);
                if (R(i, i, k) != Number<T>{}) B(i, j, k) /= R(i, i, k);
            }
        }
        // Of P there remains what is taken off, above the triangle that what is left is divided by.
        for (int k = 0; k < V.width(); ++k) {
            P(j, 0, k) = R(j, j, k);
            P(j + 1, 1, k) = B(j + 1, j, k);
        }
        const auto project = q.part(j, 2) <<= (q.part(j, 2) - q.part(0, j) * P.from(0, 0)) / P.from(j, 0);
        if (j + 1 < steps)
            V.run(project);
        else
            V.start(project, dots(q.part(0, j + 2), q.part(j + 1, 1))).wait(P, 0, 0, 1);
    }
}

/// A cycle of GMRES of at most so many steps of the Arnoldi process.
template <class T>
void gmres_cycle(Space<T>& V, Arnoldi<T>& K, GramSchmidt<T>& orthonormalise, int steps) {
    const auto& q = K.Q;
    if (orthonormalise.kind == GramSchmidt<T>::dcgs2) return delayed_gmres_cycle(V, K, orthonormalise.products, steps);
    for (int j = 0; j < steps; ++j) {
        K.start_at(j);
        K.op(q[j], q[j + 1], j);
        orthonormalise(K, j + 1);
        if (K.extend(j)) break;
    }
}

/// Restarted GMRES (Saad, Schultz 1986; Yamazaki, Hoemmen, Luszczek, Dongarra 2017, Fig. 1) for any square A, with
/// M on the right or on the left.
///
/// One reduction per iteration, and one per cycle, waited for, with the default orthogonalisation; stores m + 2
/// vectors, m + 3 with a preconditioner. With the option `flexible` (FGMRES: Saad 1993) M may be another one in each
/// use; 2 m + 3 vectors, and cgs2 in the place of dcgs2, which says of A M⁻¹ q_j what it knows of another vector.
template <class T>
void gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
           Verdict<T>& stop) {
    const bool flexible = stop.option("flexible") > 0;
    Arnoldi<T> K(V, A, M, b, x, static_cast<int>(stop.option("m")), stop, flexible);
    const auto orth = static_cast<typename GramSchmidt<T>::Kind>(stop.option("orth"));
    GramSchmidt<T> orthonormalise(V, K.m, flexible && orth == GramSchmidt<T>::dcgs2 ? GramSchmidt<T>::cgs2 : orth);
    restarted(
        V,
        K,
        stop,
        [&] {
            gmres_cycle(V, K, orthonormalise, K.m);
            return true;
        },
        [&] {
            orthonormalise.kind = GramSchmidt<T>::cgs2;
            return "orth=cgs2";
        });
}

}  // namespace stretto
