// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <memory_resource>
#include <utility>
#include <vector>

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// The small matrices of s-step CG, for each right-hand side. From the products of a block S of n vectors with the last
/// block of directions P come B, which makes the next one conjugate to it, P := S + P B, and a, the step x += P a. The
/// first j vectors of P span the directions of the first j iterations of CG, so each iteration of the block has a step
/// and a residual of its own.
///
/// PᵀAP is predicted for the step and recomputed with the products of the next block: what is carried on from block to
/// block is vectors alone, so that rounding errors of small matrices do not add up. (P, r), which is zero but for
/// rounding, is put right by the next step, and says how much orthogonality the last one lost.
template <class T>
class ConjugateBlock {
public:
    ConjugateBlock(Space<T>& space, int s)
        : sums(6 * s * s + 4 * s + 1, 1, space.width(), &space.memory()),
          B(s, s, space.width(), &space.memory()),
          R(B),
          a(s, 1, space.width(), &space.memory()),
          V_(space),
          W_(B),
          F_(B),
          L_(B),
          g_(a),
          h_(a),
          norms_(a),
          WB_(s, s, 1, &space.memory()),
          FB_(WB_),
          hidden_(static_cast<std::size_t>(space.width()), 0, &space.memory()) {
        space.reserve_products(6 * s + 5, s);
    }

    /// All products that a block S asks for after the block P, in the order of `sums`.
    static auto products(const Panel<T>& S, const Panel<T>& AS, const Panel<T>& P, const Panel<T>& AP,
                         const Panel<T>& r) {
        return group(dots(S, AS),
                     dots(AS, AS),
                     dots(AP, S),
                     dots(AP, AS),
                     dots(AP, P),
                     dots(AP, AP),
                     dots(S, r),
                     dots(AS, r),
                     dots(AP, r),
                     dots(P, r),
                     dots(r, r));
    }

    /// The sums of a block of n after one of `before` are there: B, and what is predicted of the next P.
    void conjugate(int n, int before) {
        n_ = n;
        before_ = before;
        for (int q = 0; q < V_.width(); ++q) {
            for (int i = 0; i < before; ++i)
                for (int c = 0; c <= i; ++c) W_(i, c, q) = (AP_P(i, c, q) + AP_P(c, i, q)) / 2;
            factor(before, q, [](int) { return Number<T>{}; });
            for (int c = 0; c < n; ++c) {
                for (int i = 0; i < before; ++i) B(i, c, q) = -AP_S(i, c, q);
                solve(B, c, before, q);
            }
            for (int i = 0; i < before; ++i) a(i, 0, q) = P_r(i, q);
            solve_lower(a, 0, before, q);
            lost_[q] = 0;
            for (int i = 0; i < before; ++i) lost_[q] += a(i, 0, q) * a(i, 0, q);
            predict(q);
        }
    }

    /// (r, M⁻¹r) where the block begins, (z, A z) of its first vector z = M⁻¹r and (p, A p) of its first direction.
    Scalars<T> natural() const {
        return each([&](int q) { return S_r(0, q); });
    }
    Scalars<T> energy() const {
        return each([&](int q) { return S_AS(0, 0, q); });
    }
    Scalars<T> pivot() const {
        return each([&](int q) { return W_(0, 0, q); });
    }

    /// Makes a the step of as many iterations as are good in every column that needs as many, but for those that pass
    /// in fewer. Returns how many.
    int step(const Verdict<T>& stop) {
        int most = 0, kept = n_;
        bool all_pass = true;
        R.clear();
        a.clear();
        for (int q = 0; q < V_.width(); ++q) {
            lost_[q] = energy_[q] > 0 ? lost_[q] / energy_[q] : Number<T>{};
            energy_[q] = 0;
            hidden_[static_cast<std::size_t>(q)] = false;
            if (!stop.active(q)) continue;
            const Number<T> target = static_cast<Number<T>>(stop.columns()[q].target);
            const int independent =
                factor(n_, q, [&](int i) { return i == 0 ? Number<T>{} : dependent * S_AS(i, i, q); });
            orthonormalise(independent, q);
            int good = 0;
            bool passes = false;
            while (good < independent && !passes) {
                passes = advance(good, q) <= target * target;
                ++good;
            }
            most = std::max(most, good);
            if (!passes) kept = std::min(kept, good);
            all_pass = all_pass && passes;
            for (int i = good; i < n_; ++i) norms_(i, 0, q) = norms_(good - 1, 0, q);
        }
        const int n = all_pass ? most : kept;
        cut = !all_pass && n < n_;
        return n;
    }

    /// ‖r‖² after j iterations of the block.
    Scalars<T> norms(int j) const {
        return each([&](int q) { return norms_(j - 1, 0, q); });
    }
    /// Whether the step takes so much of ‖r‖² that rounding hides what is left, in some column.
    bool hides_norms(const Verdict<T>& stop) const {
        for (int q = 0; q < V_.width(); ++q)
            if (stop.active(q) && hidden_[static_cast<std::size_t>(q)]) return true;
        return false;
    }
    void measured(int j, const Scalars<T>& rr) {
        for (int q = 0; q < V_.width(); ++q) norms_(j - 1, 0, q) = rr[q];
    }

    /// Whether the step before this one has lost so much orthogonality, in some column.
    bool loses(Number<T> much, const Verdict<T>& stop) const {
        for (int q = 0; q < V_.width(); ++q)
            if (stop.active(q) && lost_[q] > much * much) return true;
        return false;
    }

    /// How far SᵀAS is from symmetric, for S of length one in the norm of A, in the column where it is farthest.
    Number<T> asymmetry(const Verdict<T>& stop) const {
        Number<T> most{};
        for (int q = 0; q < V_.width(); ++q)
            for (int i = 0; i < n_ && stop.active(q); ++i)
                for (int c = 0; c < i; ++c)
                    most = std::max(
                        most,
                        std::abs(sum(i * n_ + c, q) - sum(c * n_ + i, q)) / std::sqrt(S_AS(i, i, q) * S_AS(c, c, q)));
        return most;
    }

    /// The largest Ritz value of M⁻¹A on all but the last vector of S, Chebyshev polynomials up to `bound`, if it is
    /// above `least`; else that.
    double largest_ritz_value(double bound, double least, const Verdict<T>& stop) {
        const int m = n_ - 1;
        for (int q = 0; q < V_.width() && m > 0; ++q) {
            if (!stop.active(q)) continue;
            for (int j = 0; j < m; ++j)  // M⁻¹A S_j = (S_{j+1} + S_j) bound/2 or (S_{j+1} + 2 S_j + S_{j−1}) bound/4
                for (int i = 0; i < m; ++i)
                    WB_(i, j, 0) = j == 0 ? bound / 2 * (S_AS(i, 1, q) + S_AS(i, 0, q))
                                          : bound / 4 * (S_AS(i, j + 1, q) + 2 * S_AS(i, j, q) + S_AS(i, j - 1, q));
            const auto above = [&](double theta) {  // θ SᵀAS − SᵀAM⁻¹AS is positive definite
                for (int i = 0; i < m; ++i)
                    for (int c = 0; c <= i; ++c) {
                        Number<T> sum = theta * S_AS(i, c, q) - (WB_(i, c, 0) + WB_(c, i, 0)) / 2;
                        for (int k = 0; k < c; ++k) sum -= FB_(i, k, 0) * FB_(c, k, 0);
                        if (i == c && !(sum > 0)) return false;
                        FB_(i, c, 0) = i == c ? std::sqrt(sum) : sum / FB_(c, c, 0);
                    }
                return true;
            };
            double low = least, high = 2 * least;
            if (!(low > 0) || above(low)) continue;
            for (int doublings = 0; doublings < 10 && !above(high); ++doublings) low = std::exchange(high, 2 * high);
            for (int halvings = 0; halvings < 10; ++halvings) {
                const double middle = (low + high) / 2;
                (above(middle) ? high : low) = middle;
            }
            least = high;
        }
        return least;
    }

    SmallMatrix<T> sums, B, R, a;
    bool cut = false;  ///< whether the block was dependent

private:
    // A vector of S that loses more of its length, squared, tells no direction.
    static constexpr Number<T> dependent = 1e-5;
    // What is left of ‖r‖², of the terms that it is the difference of, is known no better.
    static constexpr Number<T> resolution = 1e-10;

    Number<T> S_AS(int i, int c, int q) const { return (sum(i * n_ + c, q) + sum(c * n_ + i, q)) / 2; }
    Number<T> AS_AS(int i, int c, int q) const { return sum((n_ + i) * n_ + c, q); }
    Number<T> AP_S(int i, int c, int q) const { return sum((2 * n_ + i) * n_ + c, q); }
    Number<T> AP_AS(int i, int c, int q) const { return AP_S(before_ + i, c, q); }
    Number<T> AP_P(int i, int c, int q) const { return sum(2 * (n_ + before_) * n_ + i * before_ + c, q); }
    Number<T> AP_AP(int i, int c, int q) const { return AP_P(before_ + i, c, q); }
    Number<T> S_r(int i, int q) const { return sum(2 * (n_ + before_) * n_ + 2 * before_ * before_ + i, q); }
    Number<T> AS_r(int i, int q) const { return S_r(n_ + i, q); }
    Number<T> AP_r(int i, int q) const { return S_r(2 * n_ + i, q); }
    Number<T> P_r(int i, int q) const { return AP_r(before_ + i, q); }
    Number<T> sum(int k, int q) const { return sums(k, 0, q); }

    template <class Value>
    Scalars<T> each(Value value) const {
        auto values = V_.scalars();
        for (int q = 0; q < V_.width(); ++q) values[q] = value(q);
        return values;
    }

    /// W = PᵀAP, F = (AP)ᵀAP, g = (P, r) and h = (AP, r) of the next P = S + P B.
    void predict(int q) {
        for (int c = 0; c < n_; ++c)
            for (int i = 0; i < before_; ++i) {
                Number<T> w = AP_S(i, c, q), f = AP_AS(i, c, q);
                for (int k = 0; k < before_; ++k) {
                    w += AP_P(i, k, q) * B(k, c, q);
                    f += AP_AP(i, k, q) * B(k, c, q);
                }
                WB_(i, c, 0) = w;
                FB_(i, c, 0) = f;
            }
        for (int i = 0; i < n_; ++i) {
            Number<T> g = S_r(i, q), h = AS_r(i, q);
            for (int k = 0; k < before_; ++k) {
                g += B(k, i, q) * P_r(k, q);
                h += B(k, i, q) * AP_r(k, q);
            }
            g_(i, 0, q) = g;
            h_(i, 0, q) = h;
            for (int c = 0; c <= i; ++c) {
                Number<T> w = S_AS(i, c, q), f = AS_AS(i, c, q);
                for (int k = 0; k < before_; ++k) {
                    w += AP_S(k, i, q) * B(k, c, q) + B(k, i, q) * WB_(k, c, 0);
                    f += AP_AS(k, i, q) * B(k, c, q) + B(k, i, q) * FB_(k, c, 0);
                }
                W_(i, c, q) = w;
                F_(i, c, q) = F_(c, i, q) = f;
            }
        }
    }

    /// W = L Lᵀ, up to the first pivot that is not above the least; those from there on are zero. Returns how many are
    /// not.
    template <class Least>
    int factor(int n, int q, Least least) {
        for (int i = 0; i < n; ++i) {
            Number<T> pivot = W_(i, i, q);
            for (int c = 0; c < i; ++c) {
                Number<T> entry = W_(i, c, q);
                for (int k = 0; k < c; ++k) entry -= L_(i, k, q) * L_(c, k, q);
                L_(i, c, q) = entry / L_(c, c, q);
                pivot -= L_(i, c, q) * L_(i, c, q);
            }
            if (!(pivot > least(i))) {
                for (int k = i; k < n; ++k) L_(k, k, q) = 0;
                return i;
            }
            L_(i, i, q) = std::sqrt(pivot);
        }
        return n;
    }

    /// X(:, c) := L⁻¹ X(:, c), zero where pivots are.
    void solve_lower(SmallMatrix<T>& X, int c, int n, int q) const {
        for (int i = 0; i < n; ++i) {
            for (int k = 0; k < i; ++k) X(i, c, q) -= L_(i, k, q) * X(k, c, q);
            X(i, c, q) = L_(i, i, q) == 0 ? Number<T>{} : X(i, c, q) / L_(i, i, q);
        }
    }
    /// X(:, c) := W⁻¹ X(:, c).
    void solve(SmallMatrix<T>& X, int c, int n, int q) const {
        solve_lower(X, c, n, q);
        for (int i = n - 1; i >= 0; --i) {
            for (int k = i + 1; k < n; ++k) X(i, c, q) -= L_(k, i, q) * X(k, c, q);
            X(i, c, q) = L_(i, i, q) == 0 ? Number<T>{} : X(i, c, q) / L_(i, i, q);
        }
    }

    /// R = Lᵀ; g, h and F of P R⁻¹, of which PᵀAP is the identity.
    void orthonormalise(int n, int q) {
        for (int i = 0; i < n; ++i)
            for (int k = 0; k <= i; ++k) R(k, i, q) = L_(i, k, q);
        solve_lower(g_, 0, n, q);
        solve_lower(h_, 0, n, q);
        for (int pass = 0; pass < 2; ++pass) {
            for (int c = 0; c < n; ++c) solve_lower(F_, c, n, q);
            for (int i = 0; i < n; ++i)
                for (int c = 0; c < i; ++c) std::swap(F_(i, c, q), F_(c, i, q));
        }
    }

    /// Iteration j of the block, from 0. Returns what it leaves of ‖r‖², or what rounding may.
    Number<T> advance(int j, int q) {
        const Number<T> step = a(j, 0, q) = g_(j, 0, q);
        Number<T> square = j == 0 ? S_r(2 * n_ + 2 * before_, q) : exact_, by_F = F_(j, j, q) * step;
        for (int i = 0; i < j; ++i) by_F += 2 * F_(i, j, q) * a(i, 0, q);
        exact_ = square + step * (by_F - 2 * h_(j, 0, q));
        const Number<T> size = square + std::abs(step) * (std::abs(by_F) + 2 * std::abs(h_(j, 0, q)));
        least_ = std::max(j == 0 ? Number<T>{} : least_, resolution * size);
        hidden_[static_cast<std::size_t>(q)] = exact_ < least_;
        energy_[q] += step * step;
        return norms_(j, 0, q) = std::max(exact_, least_);
    }

    Space<T>& V_;
    SmallMatrix<T> W_, F_, L_, g_, h_, norms_, WB_, FB_;
    Scalars<T> lost_{V_.width()}, energy_{V_.width()};
    std::pmr::vector<int> hidden_;
    Number<T> exact_{}, least_{};  // of ‖r‖², in the block and column at hand
    int n_ = 0, before_ = 0;
};

}  // namespace stretto
