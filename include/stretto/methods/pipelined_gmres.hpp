// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "stretto/core/recent.hpp"
#include "stretto/methods/gmres.hpp"
#include "stretto/methods/parts/newton_basis.hpp"

namespace stretto {

/// Rows from `known` to c of column c of R, so far products with v, by those of q; the last from the square of the
/// length that is left. False where none is left: v_c cannot be told from those before it.
template <class T>
bool finish_column(SmallMatrix<T>& R, int known, int c, int j) {
    for (int i = known; i < c; ++i) {
        for (int k = 0; k < i; ++k) R(i, c, j) -= R(k, i, j) * R(k, c, j);
        R(i, c, j) /= R(i, i, j);
    }
    const T square = R(c, c, j);
    T left = square;
    for (int i = 0; i < c; ++i) left -= R(i, c, j) * R(i, c, j);
    R(c, c, j) = left > T{} ? std::sqrt(left) : T{};
    return left > std::numeric_limits<T>::epsilon() * square;
}

/// Column i of B, which makes v_{i+1} out of A M⁻¹ v_i: the shifts of the basis as long as no column of H is known,
/// then column c − 1 of H, that is v_{i+1} = P(A M⁻¹) q_c with the polynomial P of the first steps.
template <class T>
class ChangeOfBasis {
public:
    /// Entries of H below tau · ‖A M⁻¹‖ are left out, and make up for it in the length of v_{i+1}.
    ChangeOfBasis(Arnoldi<T>& K, const NewtonBasis& basis, double tau) : K_(K), basis_(basis), tau_(tau) {}

    /// v_{i+1} := (v_{i+1} − V B(:, i)) / B(i+1, i), where v_{i+1} is A M⁻¹ v_i.
    PanelAssign<T> operator()(const Panel<T>& v, int i, int lag) {
        const int c = i + 1 - lag;
        int first = std::max(i - 1, 0);
        if (c < 1) {
            basis_.step(i, K_.B, i);
        } else {
            first = i;
            for (int j = 0; j < K_.B.columns(); ++j) first = std::min(first, take(c, i, lag, j));
        }
        const auto next = v.part(i + 1, 1);
        return next <<= (next - v.part(first, i + 1 - first) * K_.B.from(first, i)) / K_.B.from(i + 1, i);
    }

private:
    /// Column c − 1 of H. Returns the first row that is not zero.
    int take(int c, int i, int lag, int j) {
        for (int k = 0; k < lag; ++k) K_.B(k, i, j) = T{};
        const T small = static_cast<T>(tau_ * basis_.norm(j));
        T length = K_.H(c, c - 1, j) * K_.H(c, c - 1, j);
        int first = i;
        for (int k = c - 1; k >= 0; --k) {
            const T h = K_.H(k, c - 1, j);
            const bool keep = std::abs(h) >= small;
            K_.B(k + lag, i, j) = keep ? h : T{};
            if (keep && h != T{}) first = k + lag;
            if (!keep && length > T{}) length += h * h;
        }
        K_.B(i + 1, i, j) = std::sqrt(length);
        return first;
    }

    Arnoldi<T>& K_;
    const NewtonBasis& basis_;
    double tau_;
};

/// The last l reductions, by the vectors they are for.
template <class T>
Recent<std::optional<InFlight<T, counted_when_running>>> in_flight(Space<T>& V, int l) {
    return {l, [](int) { return std::nullopt; }, &V.memory()};
}

/// A cycle of l-GMRES: v_{i+1} is made and its reduction started while q_c, c = i − l + 1, is finished.
template <class T>
void pipelined_gmres_cycle(Space<T>& V, Arnoldi<T>& K, const Panel<T>& v, ChangeOfBasis<T>& change_of_basis,
                           Recent<std::optional<InFlight<T, counted_when_running>>>& sums, int l) {
    const auto& q = K.Q;
    auto& R = K.R;
    for (int j = 0; j < V.width(); ++j) R(0, 0, j) = 1;
    V.run(v[0] <<= q[0]);
    for (int i = 0; i < K.m + l; ++i) {
        const int c = i - l + 1, a = std::max(c, 0);
        if (i < K.m) K.op(v[i], v[i + 1]);
        if (c >= 1) {
            sums[c]->wait(R, 0, c, 1);
            for (int j = 0; j < V.width(); ++j)
                if (K.active_in_cycle(j) && !finish_column(R, std::max(c - l, 0) + 1, c, j)) K.breaks(j);
            if (K.extend(c - 1)) break;
        }
        const auto finish = q.part(a, 1) <<= (v.part(a, 1) - q.part(0, a) * R.from(0, a)) / R.from(a, a);
        if (i >= K.m) {
            V.run(finish);
            continue;
        }
        const auto next = v.part(i + 1, 1);
        sums[i + 1].emplace(V.start(when(c >= 1, finish),
                                    change_of_basis(v, i, l),
                                    dots(q.part(0, a + 1), next),
                                    dots(v.part(a + 1, i + 1 - a), next)));
    }
    for (int k = 0; k < l; ++k) sums[k].reset();
}

/// Pipelined GMRES of depth l, l-GMRES (Ghysels, Ashby, Meerbergen, Vanroose 2013; Yamazaki et al. 2017, Fig. 2).
///
/// One reduction per iteration, with l products between its start and the wait; stores 2 m + 3 vectors, 2 m + 4 with a
/// preconditioner. The first cycle is one of GMRES, whose Ritz values give the shifts. Corrected: line 8 has V_{l+1:j};
/// lines 2 and 8 lack the shifts of the first l vectors; the last l passes start no product.
template <class T>
void pipelined_gmres(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                     Verdict<T>& stop) {
    const int m = static_cast<int>(stop.option("m")), warmup = static_cast<int>(stop.option("warmup"));
    int l = static_cast<int>(stop.option("l"));
    Arnoldi<T> K(V, A, M, b, x, m, stop);
    GramSchmidt<T> orthonormalise(V, m, GramSchmidt<T>::dcgs2);
    auto& basis = stop.template kept<NewtonBasis>(static_cast<NewtonBasis::Kind>(stop.option("basis")), l, V.width());
    ChangeOfBasis change_of_basis(K, basis, stop.option("tau"));
    const auto v = V.panel(m + 1);
    auto sums = in_flight<T>(V, l);

    restarted(
        V,
        K,
        stop,
        [&] {
            if (l > 0 && basis.chosen()) {
                pipelined_gmres_cycle(V, K, v, change_of_basis, sums, l);
                return true;
            }
            const auto phase = V.ledger().enter(Phase::setup);
            gmres_cycle(V, K, orthonormalise, std::min(warmup, m));
            for (int j = 0; j < V.width(); ++j) basis.choose(K.H, K.used(j), j);
            return false;
        },
        [&] {
            l /= 2;

            return l > 0 ? fmt::format("l={}", l) : "gmres";
        });
}

}  // namespace stretto
