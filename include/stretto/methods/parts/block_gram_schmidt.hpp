// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "stretto/methods/parts/arnoldi.hpp"
#include "stretto/methods/parts/orthogonality.hpp"

namespace stretto {

/// Orthonormalises a block W of n vectors against those before it, Q, and among themselves:
///
///   pip    products with Q and Gram matrix in one reduction, Cholesky of WᴴW − SᴴS
///   pip2   the same, and once more where that would lose too much orthogonality: 1 or 2 reductions
///   bcgs2  classical block Gram–Schmidt with CholQR, twice, 4 reductions
///
/// A block that is no good from some vector on is cut there: where nothing is known any more of the length that is left
/// of it, or rounding cannot tell that from zero.
template <class T>
class BlockGramSchmidt {
public:
    enum Kind { pip, pip2, bcgs2 };
    static constexpr std::string_view names[] = {"pip", "pip2", "bcgs2"};

    BlockGramSchmidt(Space<T>& space, int m, int n, Kind orth)
        : kind(orth),
          V_(space),
          first_(m + 2, n, space.width(), &space.memory()),
          second_(first_),
          T1_(n, n, space.width(), &space.memory()),
          T2_(T1_),
          lengths_(n, 1, space.width(), &space.memory()),
          loss_(n, &space.memory()) {
        space.reserve_products(m + 2, n);
    }

    /// (W − Q S) T⁻¹ =: W for W = q_{j+1} … q_{j+n} and Q = q_0 … q_j; R gets S and T in its columns j + 1 … j + n.
    /// Returns how many of W are good; where none is, W is as it was.
    int operator()(Arnoldi<T>& K, int j, int n) {
        const int rows = j + 1;
        const auto Q = K.Q.part(0, rows), all = K.Q.part(0, rows + n);
        const auto W = [&](int count) { return K.Q.part(rows, count); };
        const auto S1 = first_.from(0, 0), S2 = second_.from(0, 0), T1 = T1_.from(0, 0), T2 = T2_.from(0, 0);
        if (kind == bcgs2) {
            V_.start(dots(Q, W(n))).wait(first_, 0, 0, n);
            V_.start(W(n) <<= W(n) - Q * S1, dots(W(n), W(n))).wait(T1_, 0, 0, n);
            n = factor(K, T1_, n);
            if (n == 0) return 0;
            V_.start(W(n) <<= W(n) / T1, dots(Q, W(n))).wait(second_, 0, 0, n);
            V_.start(W(n) <<= W(n) - Q * S2, dots(W(n), W(n))).wait(T2_, 0, 0, n);
            n = factor(K, T2_, n);
            V_.run(W(n) <<= W(n) / T2);
            compose_coefficients(K, rows, n, true);
            return n;
        }
        const auto last = K.Q.part(j, 1);
        V_.start(dots(all, W(n)), dots(last, last)).wait(first_, 0, 0, n);
        n = project(K, first_, T1_, rows, n, first_.entry(rows + n, 0));
        if (n == 0) return 0;
        if (kind == pip || most_lost_ <= OrthogonalityLoss<Number<T>>::tolerable) {
            V_.run(W(n) <<= (W(n) - Q * S1) / T1);
            compose_coefficients(K, rows, n, false);
            return n;
        }
        V_.start(W(n) <<= (W(n) - Q * S1) / T1, dots(K.Q.part(0, rows + n), W(n)), dots(last, last))
            .wait(second_, 0, 0, n);
        n = project(K, second_, T2_, rows, n, second_.entry(rows + n, 0));
        V_.run(W(n) <<= (W(n) - Q * S2) / T2);
        compose_coefficients(K, rows, n, true);
        return n;
    }

    Kind kind;

private:
    /// T := Cholesky factor of WᴴW − SᴴS, products being S on top of WᴴW.
    int project(const Arnoldi<T>& K, const SmallMatrix<T>& products, SmallMatrix<T>& triangle, int rows, int n,
                const Number<T>* square_of_last) {
        for (int column = 0; column < V_.width(); ++column)
            for (int c = 0; c < n; ++c) {
                lengths_(c, 0, column) = products(rows + c, c, column);
                for (int i = 0; i <= c; ++i) {
                    Number<T> sum = products(rows + i, c, column);
                    for (int k = 0; k < rows; ++k) sum -= conjugate(products(k, i, column)) * products(k, c, column);
                    triangle(i, c, column) = sum;
                }
            }
        return factor(K, triangle, n, square_of_last);
    }

    /// Cholesky in place, upper triangle; as many columns as are good for all that go on. A right-hand side that does
    /// not go on gets zeros.
    int factor(const Arnoldi<T>& K, SmallMatrix<T>& triangle, int n, const Number<T>* square_of_last = nullptr) {
        constexpr Real<T> vanishing = 1e-14;
        most_lost_ = 0;
        for (int column = 0; column < V_.width(); ++column) {
            if (!K.active_in_cycle(column)) {
                for (int c = 0; c < n; ++c) triangle(c, c, column) = 0;
                continue;
            }
            Real<T> lost{};
            loss_.begin(square_of_last ? real_part(square_of_last[column]) : Real<T>{1});
            const auto entry = [&](int i, int k) { return triangle(i, k, column); };
            const auto length = [&](int i) { return real_part(lengths_(i, 0, column)); };
            for (int c = 0; c < n; ++c) {
                if (!square_of_last) lengths_(c, 0, column) = triangle(c, c, column);
                for (int i = 0; i < c; ++i) {
                    for (int k = 0; k < i; ++k)
                        triangle(i, c, column) -= conjugate(triangle(k, i, column)) * triangle(k, c, column);
                    triangle(i, c, column) /= triangle(i, i, column);
                }
                for (int k = 0; k < c; ++k) triangle(c, c, column) -= abs_squared(triangle(k, c, column));
                if (!(real_part(triangle(c, c, column)) > vanishing * length(c))) {
                    n = c;
                    break;
                }
                triangle(c, c, column) = std::sqrt(real_part(triangle(c, c, column)));
                const Real<T> so_far = loss_.extend(0, c, entry, length);
                if (!(so_far <= OrthogonalityLoss<Number<T>>::meaningless)) {
                    n = c;
                    break;
                }
                lost = so_far;
            }
            most_lost_ = std::max(most_lost_, lost);
        }
        return n;
    }

    /// S = S₁ + S₂ T₁ and T = T₂ T₁, where there is a second pass, into R.
    void compose_coefficients(Arnoldi<T>& K, int rows, int n, bool twice) {
        for (int column = 0; column < V_.width(); ++column)
            for (int c = 0; c < n; ++c) {
                for (int i = 0; i < rows; ++i) {
                    Number<T> sum = first_(i, c, column);
                    for (int k = 0; k <= c && twice; ++k) sum += second_(i, k, column) * T1_(k, c, column);
                    K.R(i, rows + c, column) = sum;
                }
                for (int i = 0; i <= c; ++i) {
                    Number<T> sum = twice ? Number<T>{} : T1_(i, c, column);
                    for (int k = i; k <= c && twice; ++k) sum += T2_(i, k, column) * T1_(k, c, column);
                    K.R(rows + i, rows + c, column) = sum;
                }
            }
    }

    Space<T>& V_;
    SmallMatrix<T> first_, second_, T1_, T2_;
    SmallMatrix<T> lengths_;  // squared, of the vectors whose factor is computed
    OrthogonalityLoss<Number<T>> loss_;
    Real<T> most_lost_{};
};

}  // namespace stretto
