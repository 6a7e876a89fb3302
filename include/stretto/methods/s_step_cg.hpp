// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "stretto/methods/parts/conjugate_block.hpp"
#include "stretto/methods/parts/resume.hpp"
#include "stretto/methods/parts/shifts.hpp"

namespace stretto {

/// A block of s-step CG: S_j = q_j(M⁻¹A) z, q_j the Chebyshev polynomials on [0, bound], from S_0 = z on, and A S.
/// `multiplied`: A z, and M⁻¹A z in w, are there.
template <class T>
void chebyshev_block(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, const Panel<T>& S, const Panel<T>& AS,
                     MultiVector<T> w, double bound, bool multiplied) {
    for (int j = 0; j + 1 < S.count(); ++j) {
        const auto by = V.scalars((j == 0 ? 2 : 4) / bound), now = V.scalars(j == 0 ? 1 : 2), last = V.scalars(j > 0);
        const auto next = S[j + 1] <<= by * (M ? w : AS[j]) - now * S[j] - last * S[std::max(0, j - 1)];
        if (multiplied && j == 0) {
            V.run(next);
            continue;
        }
        V.run(AS[j] <<= A * S[j], when(!M, next));
        if (M) V.run(w <<= M * AS[j], next);
    }
    if (!multiplied || S.count() > 1) A.apply(S[S.count() - 1], AS[S.count() - 1]);
}

/// An upper end for the Chebyshev polynomials of the first block, from z = M⁻¹r, with A z and M⁻¹A z.
template <class T>
double first_bound(Space<T>& V, MultiVector<T> z, MultiVector<T> Az, MultiVector<T> w) {
    constexpr double margin = 1.5;  // of a Rayleigh quotient
    auto [energy, square] = V.start(dot(z, Az), dot(Az, w)).wait();
    const auto quotient = square / energy;
    double bound = 0;
    for (int q = 0; q < V.width(); ++q) bound = std::max(bound, margin * quotient[q]);
    return bound > 0 && std::isfinite(bound) ? bound : 1;
}

/// s-step conjugate gradients (Chronopoulos and Gear 1989) with a Chebyshev basis, for A and M symmetric positive
/// definite.
///
/// One reduction for s iterations, none hidden; stores 4s + 1 vectors, 4s + 2 with a preconditioner. x is that of CG
/// after each iteration at which a block may end. Where orthogonality is lost block by block, or a block is dependent,
/// s is lowered; every `check` iterations the residual gap is measured and, where it exceeds `gap`·‖r‖, r is replaced.
/// Time and again, s is lowered as well, and at s = 1 the refuge goes on.
template <class T>
void s_step_cg(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
               Verdict<T>& stop) {
    // Long: one block from its basis to its end, with what may happen to it.
    constexpr double margin = 1.1;  // of the largest Ritz value
    constexpr int in_a_row = 3;     // blocks that lose orthogonality
    constexpr int too_many = 6;     // replacements while the residual does not halve
    const int most = static_cast<int>(stop.option("s")), check = static_cast<int>(stop.option("check"));
    const auto r = V.vector(), w = M ? V.vector() : r;
    auto S = V.panel(most), AS = V.panel(most), P = V.panel(most), AP = V.panel(most);
    ConjugateBlock<T> block(V, most);
    auto& largest = stop.template kept<LargestRitzValue>();
    largest.bound = std::max(largest.bound, stop.option("lmax"));
    const auto first_vector = [&] { return M ? M.apply(r, S[0]) : V.run(S[0] <<= r); };
    stop.initial_residual(A, b, x, r);
    first_vector();
    int last = resume(V, A, r, S[0], P[0], AP[0], stop).resumed;  // directions in P
    const bool multiplied = largest.bound == 0;
    if (multiplied) {
        A.apply(S[0], AS[0]);
        M.apply(AS[0], w);
        largest.bound = first_bound(V, S[0], AS[0], M ? w : AS[0]);
    }
    int s = most, highest = most, losses = 0, checked = 0, drifts = 0, since = 0;
    int good = 0, enough = 32;  // blocks since s was lowered, and how many of them raise it again
    for (int k = 0, n = 0;; k += n) {
        const Counts before = V.ledger().at(Phase::iteration);
        const auto began = Clock::now();
        // As many as there are directions to be conjugate to: the space grows until there are s.
        const int size = std::min(last == 0 || last >= s ? s : std::min(last, s - last), stop.columns().remaining());
        {
            const auto phase = V.ledger().enter(Phase::iteration);
            if (k > 0) first_vector();
            const auto Sn = S.part(0, size), ASn = AS.part(0, size), Pn = P.part(0, last), APn = AP.part(0, last);
            chebyshev_block(V, A, M, Sn, ASn, w, largest.bound, multiplied && k == 0);
            V.start(block.products(Sn, ASn, Pn, APn, r)).wait(block.sums, 0, 0, 1);
            block.conjugate(size, last);
            if (stop.unless_positive(block.natural(), Status::indefinite_preconditioner) ||
                stop.unless_positive(block.energy(), Status::indefinite_matrix))
                break;
            if (stop.hand_over_unless(block.pivot(), P[std::max(0, last - 1)])) break;
            n = block.step(stop);
            const bool grows = last + n <= s;
            const auto next = grows ? P.part(last, n) : S.part(0, n), Anext = grows ? AP.part(last, n) : AS.part(0, n);
            const Panel<T> X(x), R(r);
            const auto B = block.B.from(0, 0), R_ = block.R.from(0, 0);
            V.run(next <<= (S.part(0, n) + Pn * B) / R_,
                  Anext <<= (AS.part(0, n) + APn * B) / R_,
                  X <<= X + next * block.a.from(0, 0),
                  R <<= R - Anext * block.a.from(0, 0));
            if (!grows) {
                std::swap(S, P);
                std::swap(AS, AP);
            }
            last = grows ? last + n : n;
        }
        if (k > 0 && n == most) stop.count(before, n, began);
        losses = block.loses(stop.option("loss"), stop) ? losses + 1 : 0;
        // The first block does not lower s: b may be as good as an eigenvector.
        if ((block.cut && k > 0) || (losses == in_a_row && s > 1)) {
            s = block.cut ? n : s / 2;
            if (!block.cut) {
                last = 0;  // beginning anew takes less than going on without orthogonality
                highest = s;
            }
            losses = good = 0;
            enough *= 2;
            const std::string why = block.cut ? "a block was dependent" : "blocks lost orthogonality";
            stop.event(why + ": going on with s=" + std::to_string(s));
        } else if (s < highest && ++good == enough) {
            s = std::min(2 * s, highest);
            good = 0;
        }
        largest.bound = margin * block.largest_ritz_value(largest.bound, largest.bound / margin, stop);
        if (block.hides_norms(stop)) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            auto [rr] = V.start(dot(r, r)).wait();
            block.measured(n, rr);
        }
        bool leave = false;
        stop.checkpoint_directions(P.part(std::max(0, last - 1), 1));
        for (int j = 1; j <= n && !leave; ++j) leave = stop(k + j, block.norms(j));
        if (leave) break;
        if (check > 0 && k + n - checked >= check) {
            const auto safeguard = V.ledger().enter(Phase::safeguard);
            checked = k + n;
            if (stop.residual_gap(A, b, x, r, S[0])) {
                V.run(r <<= r + S[0]);
                stop.event("residual replaced");
                const auto halved = [&](int q) { return !stop.active(q) || stop.columns()[q].marked_at > since; };
                bool gains = true;
                for (int q = 0; q < V.width(); ++q) gains = gains && halved(q);
                drifts = gains ? 1 : drifts + 1;
                if (gains) since = stop.columns().iteration();
                if (drifts >= (s == 1 ? 2 : too_many)) {
                    if (s == 1 && stop.hand_over_unless(V.scalars(), P[std::max(0, last - 1)])) break;
                    s = highest = std::max(1, s / 2);
                    last = drifts = 0;
                    stop.event("the residual drifts: going on with s=" + std::to_string(s));
                }
            }
        }
    }
}

}  // namespace stretto
