// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "stretto/core/recent.hpp"
#include "stretto/execute/space.hpp"

namespace stretto {

/// The scalars of p(l)-CG, A V = V T and Z = V G, as far back as they are needed. Indices below zero are those of the
/// iterations before the pipeline.
template <class T>
class PipelineScalars {
public:
    static constexpr int remembered = 64;  // of T, before the pipeline

    /// The entries of a diagonal of T, counted from where the pipeline begins.
    class Diagonal {
    public:
        Diagonal(Space<T>& V, int size) : values_(size, [&](int) { return V.scalars(); }, &V.memory()) {}
        Scalars<T>& operator[](int i) { return values_[origin_ + i]; }
        void go_on(int n) { origin_ += n; }

    private:
        Recent<Scalars<T>> values_;
        int origin_ = 0;
    };

    PipelineScalars(Space<T>& V, int deepest)
        : gamma(V, remembered + 3 * deepest + 3),
          delta(gamma),
          sigma(
              deepest, [&](int) { return V.scalars(); }, &V.memory()),
          deepest_(deepest),
          columns_(
              deepest + 1, [&](int) { return Recent(2 * deepest + 1, [&](int) { return V.scalars(); }, &V.memory()); },
              &V.memory()),
          polynomial_(
              2 * deepest + 3, [&](int) { return V.scalars(); }, &V.memory()),
          unseen_(deepest, [&](int) { return Unseen{V.scalars(1), V.scalars(), V.scalars(1)}; }, &V.memory()) {}

    /// A pipeline of depth l begins, n iterations after the place that index 0 stood for.
    void begin(int depth, int n) {
        l = depth;
        gamma.go_on(n);
        delta.go_on(n);
        const int width = gamma[0].columns();
        const Scalars<T> zero(width), one(width, Number<T>{1});
        for (int c = 0; c <= deepest_; ++c)
            for (int j = 0; j <= 2 * deepest_; ++j) columns_[c][j] = zero;
        g(0, 0) = one;
        for (int k = 0; k < l; ++k) unseen_[k] = {one, zero, one};
    }

    /// Entry of G; column c has the rows c − 2l … c.
    Scalars<T>& g(int j, int c) { return columns_[c][j]; }

    /// Lines 9 and 10: column c of G, from (u_c, v_{c−l}) = dots[0] and (u_c, z_j) = dots[2 + c − j]. Returns what is
    /// under the square root.
    template <class Dots>
    Scalars<T> orthogonalise(int c, const Dots& dots) {
        for (int j = c - 2 * l; j < c; ++j) {
            if (j < 0) {
                g(j, c) = before(j, c);
            } else if (j <= c - l) {
                g(j, c) = j < c - l ? g(c - l, j + l) : dots[0];  // symmetric around the l-th diagonal, (9)
            } else {
                g(j, c) = dots[static_cast<std::size_t>(2 + c - j)];
                for (int k = c - 2 * l; k < j; ++k) g(j, c) = g(j, c) - g(k, j) * g(k, c);
                g(j, c) = g(j, c) / g(j, j);
            }
        }
        auto square = dots[2];
        for (int k = c - 2 * l; k < c; ++k) square = square - g(k, c) * g(k, c);
        return square;
    }

    /// How much an error that no dot product sees has grown. All of them see V through P_l(A), so of VᵀV − I, which
    /// commutes with T, they miss what belongs to the shifts; that goes like the square of T's polynomials there, which
    /// grow where a shift lies in a gap of the spectrum.
    Scalars<T> growth(int a) {
        Scalars<T> most(gamma[a].columns(), Number<T>{1});
        for (int k = 0; k < l; ++k) {
            auto& [now, last, grown] = unseen_[k];
            const auto next = ((sigma[k] - gamma[a]) * now - delta[a - 1] * last) / delta[a];
            const auto square = next * next + now * now, size = sqrt(square);
            last = now / size;
            now = next / size;
            for (int j = 0; j < most.columns(); ++j) {
                grown[j] = std::max(Number<T>{1}, grown[j] * square[j]);
                most[j] = std::max(most[j], grown[j]);
            }
        }
        return most;
    }

    /// The same over the last n iterations before the pipeline, with one shift, in column j.
    Number<T> past_growth(int n, Number<T> shift, int j) {
        Number<T> most = 1, grown = 1, now = 1, last = 0;
        for (int a = -n; a < 0; ++a) {
            if (!(delta[a][j] > 0)) continue;
            const Number<T> next =
                ((shift - gamma[a][j]) * now - (a > -n ? delta[a - 1][j] : Number<T>{}) * last) / delta[a][j];
            const Number<T> square = next * next + now * now, size = std::sqrt(square);
            last = now / size;
            now = next / size;
            grown = std::max(Number<T>{1}, grown * square);
            most = std::max(most, grown);
        }
        return most;
    }

    Diagonal gamma, delta;  // T
    Recent<Scalars<T>> sigma;
    int l = 0;

private:
    /// What z_c has of v_j, j < 0, where no dot product was taken: z_c = P_k(A) v_q, so it is (P_k(T) e_q)_j.
    Scalars<T> before(int j, int c) {
        const int q = std::max(0, c - l), k = std::min(c, l);
        auto& w = polynomial_;
        for (int i = q - l - 1; i <= q + l + 1; ++i)
            w[i] = Scalars<T>(w[i].columns(), i == q ? Number<T>{1} : Number<T>{});
        for (int s = 0; s < k; ++s) {
            auto above = w[q - l - 1];
            for (int i = q - l; i <= q + l; ++i)
                above = std::exchange(w[i], delta[i - 1] * above + (gamma[i] - sigma[s]) * w[i] + delta[i] * w[i + 1]);
        }
        return w[j];
    }

    struct Unseen {
        Scalars<T> now, last, grown;
    };

    int deepest_;
    Recent<Recent<Scalars<T>>> columns_;  // G
    Recent<Scalars<T>> polynomial_;
    Recent<Unseen> unseen_;
};

}  // namespace stretto
