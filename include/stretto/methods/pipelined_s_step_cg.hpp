// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "stretto/methods/parts/shifts.hpp"
#include "stretto/methods/s_step_cg.hpp"

namespace stretto {

constexpr int most_products_ahead = 10;

/// The vectors of pipelined s-step CG. q_j are the Chebyshev polynomials on [0, bound].
///
/// S_j = q_j(M⁻¹A) z, A S_j and W_j = M⁻¹A S_j for j < s + l; U_j = M S_j for j ≤ l, U_0 = r. The directions P, and of
/// them G_j = q_j(A M⁻¹) A P and H_j = M⁻¹ G_j for j ≤ l. Without M, U is S, W is A S and H is G.
template <class T>
class BlocksAhead {
public:
    BlocksAhead(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, int s, int l)
        : S(V.panel(s + l)),
          AS(V.panel(s + l)),
          W(M ? V.panel(s + l) : AS),
          U(M ? V.panel(l + 1) : S.part(0, l + 1)),
          V_(V),
          A_(A),
          M_(M),
          l_(l),
          products_(l * (s + l), s, V.width(), &V.memory()) {
        for (int i = 0; i < panels(); ++i) home_[static_cast<std::size_t>(i)] = V.panel(s);
        // q_j q_i = (q_{i+j} + q_{|i−j|})/2, so q_j(A M⁻¹) A S is A S times this.
        for (int j = 1; j <= l; ++j)
            for (int i = 0; i < s; ++i)
                for (int q = 0; q < V.width(); ++q) {
                    products_((j - 1) * (s + l) + i + j, i, q) += Number<T>{0.5};
                    products_((j - 1) * (s + l) + std::abs(i - j), i, q) += Number<T>{0.5};
                }
    }

    Panel<T> S, AS, W, U;
    double bound = 0;  // above zero before anything else is called

    MultiVector<T> r() const { return U[0]; }
    Panel<T> P() const { return home(1); }
    Panel<T> G(int j) const { return home(2 + j); }
    Panel<T> H(int j) const { return M_ ? home(3 + l_ + j) : G(j); }

    /// A S_j, W_j and, where there is one, S_{j+1}.
    void multiply(int j) {
        const auto next = recurrence(S, W[j], j, std::min(j + 1, S.count() - 1));
        const bool another = j + 1 < S.count();
        V_.run(AS[j] <<= A_ * S[j], when(another && !M_, next));
        if (M_) V_.run(W[j] <<= M_ * AS[j], when(another, next));
    }
    /// S_j, U_j for j ≤ l, A S_j and W_j for j < l from z = S_0 and r = U_0.
    void begin() {
        for (int j = 0; j < l_; ++j) {
            multiply(j);
            if (M_) V_.run(recurrence(U, AS[j], j, j + 1));
        }
    }
    /// All else from r and n directions.
    void recompute(int n) {
        M_.apply(r(), S[0]);
        begin();
        for (int i = 0; i < n; ++i) {
            A_.apply(P()[i], G(0)[i]);
            for (int j = 0; j <= l_; ++j) {
                if (j > 0) {
                    A_.apply(H(j - 1)[i], G(j)[i]);
                    V_.run(G(j)[i] <<=
                           by(j - 1) * G(j)[i] - now(j - 1) * G(j - 1)[i] - last(j - 1) * G(std::max(0, j - 2))[i]);
                }
                M_.apply(G(j)[i], H(j)[i]);
            }
        }
    }

    /// P := (S + P B) R⁻¹ with n vectors where there were `before`, and G and H with it; x := x + P a; U_j := U_j − G_j
    /// a, S_j := S_j − H_j a; A S_j and W_j for j < l from these.
    void advance(const ConjugateBlock<T>& block, int n, int before, MultiVector<T> x) {
        const auto B = block.B.from(0, 0), R = block.R.from(0, 0), a = block.a.from(0, 0);
        const Panel<T> X(x);
        // Each panel takes the place of the one before it, for none can take its own.
        const auto place = [&](int i) { return home(i).part(0, n); };
        const auto conjugated = [&](int i, const Panel<T>& start) {
            return place(i) <<= (start.part(0, n) + home(i + 1).part(0, before) * B) / R;
        };
        // Of q_j, j ≤ l, and their products, A or M⁻¹A times them.
        const auto side = [&](const Panel<T>& q, const Panel<T>& products, int first, bool with_x) {
            for (int j = 0; j <= l_; ++j) {
                const auto now = place(first + j), q_j = q.part(j, 1);
                const auto product = [&](int i) {
                    const auto above = V_.scalars((i == 0 ? 2 : 1) * bound / 4), same = V_.scalars(bound / 2),
                               below = V_.scalars(i == 0 ? 0 : bound / 4);
                    return products[i] <<= above * q[i + 1] + same * q[i] + below * q[std::max(0, i - 1)];
                };
                V_.run(when(with_x && j == 0, conjugated(0, S)),
                       when(with_x && j == 0, X <<= X + place(0) * a),
                       when(j > 0, now <<= products * products_.from(std::max(0, j - 1) * S.count(), 0)),
                       conjugated(first + j, j > 0 ? now : products),
                       q_j <<= q_j - now * a,
                       each<most_products_ahead>(j == l_ ? l_ : 0, product));
            }
        };
        side(U, AS, 1, true);
        if (M_) side(S, W, 2 + l_, false);
        std::rotate(home_.begin(), home_.begin() + panels() - 1, home_.begin() + panels());
    }

    /// Another bound. The q_j on the longer interval are combinations of the q_i, i ≤ j, so no product is needed.
    void stretch(double longer, int n) {
        // Row j: the coefficients of the new q_j. K q_0 = bound/2 (q_1 + q_0), K q_i = bound/4 (q_{i+1} + 2 q_i +
        // q_{i−1}).
        std::array<std::array<double, most_products_ahead + 2>, most_products_ahead + 1> row{};
        row[0][0] = 1;
        for (std::size_t j = 0; j < static_cast<std::size_t>(l_); ++j)
            for (std::size_t i = 0; i <= j + 1; ++i) {
                const double from_below = i == 0 ? 0 : (i == 1 ? 2 : 1) * row[j][i - 1];
                const double product = bound / 4 * (from_below + 2 * row[j][i] + row[j][i + 1]);
                row[j + 1][i] =
                    j == 0 ? 2 / longer * product - row[0][i] : 4 / longer * product - 2 * row[j][i] - row[j - 1][i];
            }
        const auto combine = [&](int count, const auto& vector) {
            for (int j = count - 1; j > 0; --j) {
                const auto& c = row[static_cast<std::size_t>(j)];
                V_.run(vector(j) <<= V_.scalars(c[static_cast<std::size_t>(j)]) * vector(j));
                for (int i = 0; i < j; ++i)
                    V_.run(vector(j) <<= vector(j) + V_.scalars(c[static_cast<std::size_t>(i)]) * vector(i));
            }
        };
        combine(l_ + 1, [&](int j) { return U[j]; });
        combine(l_, [&](int j) { return AS[j]; });
        for (int i = 0; i < n; ++i) combine(l_ + 1, [&](int j) { return G(j)[i]; });
        if (M_) {
            combine(l_ + 1, [&](int j) { return S[j]; });
            combine(l_, [&](int j) { return W[j]; });
            for (int i = 0; i < n; ++i) combine(l_ + 1, [&](int j) { return H(j)[i]; });
        }
        bound = longer;
    }

    int panels() const { return (M_ ? 2 : 1) * (l_ + 1) + 2; }

private:
    Panel<T> home(int i) const { return home_[static_cast<std::size_t>(i)]; }

    // q_{j+1}(K) = by K q_j(K) − now q_j(K) − last q_{j−1}(K)
    Scalars<T> by(int j) const { return V_.scalars((j == 0 ? 2 : 4) / bound); }
    Scalars<T> now(int j) const { return V_.scalars(j == 0 ? 1 : 2); }
    Scalars<T> last(int j) const { return V_.scalars(j > 0); }
    auto recurrence(const Panel<T>& q, MultiVector<T> product, int j, int next) const {
        return q[next] <<= by(j) * product - now(j) * q[j] - last(j) * q[std::max(0, j - 1)];
    }

    Space<T>& V_;
    const LinearMap<T>&A_, &M_;
    int l_;
    SmallMatrix<T> products_;
    std::array<Panel<T>, 2 * most_products_ahead + 4> home_;  // one that is free, P, G and H
};

/// Pipelined s-step conjugate gradients (Tiwari and Vadhiyar 2021, PIPE-PsCG) with a Chebyshev basis, for A and M
/// symmetric positive definite.
///
/// One reduction for s iterations, hidden behind l of their s products and preconditioners; stores (l + 3) s + 2 (s +
/// l) vectors, (2l + 4) s + 3 (s + l) + l + 1 with a preconditioner. What the last l products of a block need of its
/// end is known from panels that go with the directions. These drift from what they stand for, faster the larger l is:
/// where products that should be symmetric are not, or orthogonality is lost, all is recomputed, or, where that was
/// done a short while ago, the refuge goes on in the same Krylov space.
template <class T>
void pipelined_s_step_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                         Verdict<T>& stop) {
    // Long: one block from its basis to its end, with what may happen to it.
    constexpr double margin = 1.02;  // of the largest Ritz value
    constexpr int in_a_row = 3;      // blocks that lose orthogonality
    constexpr int worth = 20;        // iterations between recomputations, for each of their products
    const int s = static_cast<int>(stop.option("s")), l = std::min(s, static_cast<int>(stop.option("l")));
    const int check = static_cast<int>(stop.option("check"));
    BlocksAhead<T> ahead(V, A, M, s, l);
    ConjugateBlock<T> block(V, s);
    auto &S = ahead.S, &AS = ahead.AS;
    const auto r = ahead.r();
    stop.initial_residual(A, b, x, r);
    M.apply(r, S[0]);
    auto& largest = stop.template kept<LargestRitzValue>();
    ahead.bound = std::max(largest.bound, stop.option("lmax"));
    if (ahead.bound == 0) {
        A.apply(S[0], AS[0]);
        M.apply(AS[0], ahead.W[0]);
        largest.bound = ahead.bound = first_bound(V, S[0], AS[0], ahead.W[0]);
    }
    int last = stop.take_directions(ahead.P()), losses = 0, checked = 0, recomputed = 0;
    if (last > 0)
        ahead.recompute(last);
    else
        ahead.begin();
    for (int k = 0, n = 0;; k += n) {
        const Counts before = V.ledger().at(Phase::iteration);
        const auto began = Clock::now();
        const int size = std::min(s, stop.columns().remaining());
        // A first block may be cut, for b may be as good as an eigenvector: there is nothing older to be conjugate to.
        const bool follows = last > 0;
        {
            const auto phase = V.ledger().enter(Phase::iteration);
            for (int j = l; j < s; ++j) ahead.multiply(j);
            auto sums = V.start(block.products(
                S.part(0, size), AS.part(0, size), ahead.P().part(0, last), ahead.G(0).part(0, last), r));
            for (int j = s; j < s + l; ++j) ahead.multiply(j);
            sums.wait(block.sums, 0, 0, 1);
            block.conjugate(size, last);
            if (stop.unless_positive(block.natural(), Status::indefinite_preconditioner) ||
                stop.unless_positive(block.energy(), Status::indefinite_matrix))
                break;
            if (stop.hand_over_unless(block.pivot(), ahead.P()[std::max(0, last - 1)])) break;
            n = block.step(stop);
            ahead.advance(block, n, last, x);
            last = n;
        }
        if (k > 0 && n == s) stop.count(before, n, began);
        if (block.hides_norms(stop)) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            auto [rr] = V.start(dot(r, r)).wait();
            block.measured(n, rr);
        }
        bool leave = false;
        stop.checkpoint_directions(ahead.P().part(0, last));
        for (int j = 1; j <= n && !leave; ++j) leave = stop(k + j, block.norms(j));
        if (leave) break;

        const auto safeguard = V.ledger().enter(Phase::safeguard);
        losses = block.loses(stop.option("loss"), stop) ? losses + 1 : 0;
        const bool drifts = losses == in_a_row || block.asymmetry(stop) > stop.option("drift");
        const bool soon = k + n - recomputed < worth * (s + 1) * (l + 1);
        if ((block.cut && follows) || (drifts && soon)) {
            if (stop.hand_over_unless(V.scalars(), ahead.P()[std::max(0, last - 1)])) break;
        }
        const double ritz = block.largest_ritz_value(ahead.bound, ahead.bound, stop);
        if (ritz > ahead.bound) {
            largest.bound = margin * ritz;
            ahead.stretch(largest.bound, last);
        }
        if (drifts) {
            residual(V, A, b, x, r);
            ahead.recompute(last);
            recomputed = k + n;
            stop.event("all recomputed");
        } else if (check > 0 && k + n - checked >= check) {
            const auto gap = AS[s + l - 1];
            checked = k + n;
            if (!stop.residual_gap(A, b, x, r, gap)) continue;
            V.run(r <<= r + gap);
            M.apply(r, S[0]);
            ahead.begin();
            stop.event("residual replaced");
        }
    }
}

}  // namespace stretto
