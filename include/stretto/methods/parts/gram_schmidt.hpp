// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "stretto/methods/parts/arnoldi.hpp"

namespace stretto {

/// Orthonormalises one vector against those before it:
///
///   dcgs2  twice with one reduction: for the second time together with the next vector for the first (gmres_cycle)
///   cgs2   twice, 2 reductions
///   cgs    classical Gram–Schmidt, 2 reductions (Yamazaki et al. 2017, Fig. 1)
///   mgs    modified Gram–Schmidt, c + 1 reductions for the c-th vector
template <class T>
class GramSchmidt {
public:
    enum Kind { dcgs2, cgs2, cgs, mgs };
    static constexpr std::string_view names[] = {"dcgs2", "cgs2", "cgs", "mgs"};

    GramSchmidt(Space<T>& space, int m, Kind orth)
        : kind(orth),
          products(m + 2, 2, space.width(), &space.memory()),
          V_(space),
          again_(m + 1, 1, space.width(), &space.memory()) {
        space.reserve_products(m + 2, 2);
    }

    /// q_c := (q_c − Q r) / r_cc, orthonormal to Q = q_0 … q_{c−1}; column c of R says how. A vector that depends on
    /// them gets r_cc = 0. For dcgs2, which comes to that later, as cgs2.
    void operator()(Arnoldi<T>& K, int c) {
        const auto Q = K.Q.part(0, c);
        const Panel<T> q(K.Q[c]);
        auto& R = K.R;
        if (kind == mgs) return modified(K, c);
        if (kind == cgs) {
            V_.start(dots(Q, q)).wait(R, 0, c, 1);
            V_.start(q <<= q - Q * R.from(0, c), dots(q, q)).wait(R, c, c, 1);
            each(K, c, [&](int j) { R(c, c, j) = std::sqrt(real_part(R(c, c, j))); });
            V_.run(q <<= q / R.from(c, c));
            return;
        }
        V_.start(dots(Q, q)).wait(R, 0, c, 1);
        V_.start(q <<= q - Q * R.from(0, c), dots(K.Q.part(0, c + 1), q)).wait(again_, 0, 0, 1);
        each(K, c, [&](int j) {
            const Real<T> square = real_part(again_(c, 0, j)), left = square - projected(again_, c, 0, j);
            // Twice is enough: what is lost again was never there.
            R(c, c, j) = left > Real<T>{0.01} * square ? std::sqrt(left) : Real<T>{};
            for (int i = 0; i < c; ++i) R(i, c, j) += again_(i, 0, j);
        });
        V_.run(q <<= (q - Q * again_.from(0, 0)) / R.from(c, c));
    }

    Kind kind;
    SmallMatrix<T> products;  ///< for dcgs2

private:
    /// f(j) for the right-hand sides that go on; the others get r_cc = 0.
    template <class F>
    static void each(Arnoldi<T>& K, int c, F&& f) {
        for (int j = 0; j < K.R.columns(); ++j) {
            if (K.active_in_cycle(j))
                f(j);
            else
                K.R(c, c, j) = 0;
        }
    }
    static Real<T> projected(const SmallMatrix<T>& R, int rows, int c, int j) {
        Real<T> sum{};
        for (int i = 0; i < rows; ++i) sum += abs_squared(R(i, c, j));
        return sum;
    }

    void modified(Arnoldi<T>& K, int c) {
        const Panel<T> q(K.Q[c]);
        auto& R = K.R;
        V_.start(dots(K.Q.part(0, 1), q)).wait(R, 0, c, 1);
        for (int i = 0; i < c; ++i)
            V_.start(q <<= q - K.Q.part(i, 1) * R.from(i, c), dots(K.Q.part(i + 1, 1), q)).wait(R, i + 1, c, 1);
        each(K, c, [&](int j) { R(c, c, j) = std::sqrt(real_part(R(c, c, j))); });
        V_.run(q <<= q / R.from(c, c));
    }

    Space<T>& V_;
    SmallMatrix<T> again_;
};

}  // namespace stretto
