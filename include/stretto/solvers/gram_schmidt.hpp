// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "stretto/solvers/arnoldi.hpp"

namespace stretto {

/// Orthonormalises one vector against those before it:
///
///   cgs   classical Gram–Schmidt, 2 reductions (Yamazaki et al. 2017, Fig. 1)
///   pip   its norm by Pythagoras from the products of one reduction; where the vector loses nine tenths of its length,
///   once
///         more
///   cgs2  always twice, 2 reductions
///   mgs   modified Gram–Schmidt, c + 1 reductions for the c-th vector
template <class T>
class GramSchmidt {
public:
    enum Kind { pip, cgs, cgs2, mgs };
    static constexpr std::string_view names[] = {"pip", "cgs", "cgs2", "mgs"};

    GramSchmidt(Space<T>& space, int m, Kind orth) : kind(orth), V_(space), again_(m + 1, 1, space.columns()) {
        space.reserve_products(m + 1, 1);
    }

    /// q_c := (q_c − Q r) / r_cc, orthonormal to Q = q_0 … q_{c−1}; column c of R says how. A vector that depends on
    /// them gets r_cc = 0.
    void operator()(Arnoldi<T>& K, int c) {
        const auto Q = K.Q.part(0, c);
        const Panel<T> q(K.Q[c]);
        auto& R = K.R;
        if (kind == mgs) return modified(K, c);
        if (kind == cgs) {
            V_.start(dots(Q, q)).wait(R, 0, c, 1);
            V_.start(q <<= q - Q * R.from(0, c), dots(q, q)).wait(R, c, c, 1);
            each(K, c, [&](int j) { R(c, c, j) = std::sqrt(R(c, c, j)); });
            V_.run(q <<= q / R.from(c, c));
            return;
        }
        V_.start(dots(K.Q.part(0, c + 1), q)).wait(R, 0, c, 1);
        bool again = kind == cgs2;
        each(K, c, [&](int j) {
            const T square = R(c, c, j), left = square - projected(R, c, c, j);
            again = again || left < T{0.01} * square;
            R(c, c, j) = left > T{} ? std::sqrt(left) : T{};
        });
        if (!again) return V_.run(q <<= (q - Q * R.from(0, c)) / R.from(c, c));

        V_.start(q <<= q - Q * R.from(0, c), dots(K.Q.part(0, c + 1), q)).wait(again_, 0, 0, 1);
        each(K, c, [&](int j) {
            const T square = again_(c, 0, j), left = square - projected(again_, c, 0, j);
            // Twice is enough: what is lost again was never there.
            R(c, c, j) = left > T{0.01} * square ? std::sqrt(left) : T{};
            for (int i = 0; i < c; ++i) R(i, c, j) += again_(i, 0, j);
        });
        V_.run(q <<= (q - Q * again_.from(0, 0)) / R.from(c, c));
    }

    Kind kind;

private:
    /// f(j) for the right-hand sides that go on; the others get r_cc = 0.
    template <class F>
    static void each(Arnoldi<T>& K, int c, F&& f) {
        for (int j = 0; j < K.R.columns(); ++j) {
            if (K.wanted(j))
                f(j);
            else
                K.R(c, c, j) = T{};
        }
    }
    static T projected(const SmallMatrix<T>& R, int rows, int c, int j) {
        T sum{};
        for (int i = 0; i < rows; ++i) sum += R(i, c, j) * R(i, c, j);
        return sum;
    }

    void modified(Arnoldi<T>& K, int c) {
        const Panel<T> q(K.Q[c]);
        auto& R = K.R;
        V_.start(dots(K.Q.part(0, 1), q)).wait(R, 0, c, 1);
        for (int i = 0; i < c; ++i)
            V_.start(q <<= q - K.Q.part(i, 1) * R.from(i, c), dots(K.Q.part(i + 1, 1), q)).wait(R, i + 1, c, 1);
        each(K, c, [&](int j) { R(c, c, j) = std::sqrt(R(c, c, j)); });
        V_.run(q <<= q / R.from(c, c));
    }

    Space<T>& V_;
    SmallMatrix<T> again_;
};

}  // namespace stretto
