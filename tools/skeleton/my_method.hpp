// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/convergence/verdict.hpp"

namespace stretto {

// Replace: what stands here is conjugate gradients in its plain form, a method that works. Say in the comment below the
// paper and its algorithm, what the method needs of A and M, the reductions of an iteration and how many of them are
// hidden, the vectors stored, and each correction to the paper.

/// Conjugate gradients (Hestenes and Stiefel 1952), for A and M symmetric positive definite.
///
/// Two reductions per iteration, none hidden; stores 3 vectors, 4 with a preconditioner.
template <class T>
void my_method(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
               Verdict<T>& stop) {
    // Replace: as many vectors as the row says, taken once, before the loop. Inside of it nothing is allocated.
    auto [r, p, s] = vectors<3>(V);
    auto u = M ? V.vector() : r;  // without a preconditioner M⁻¹ r is r, and `u <<= M * r` does nothing

    stop.initial_residual(A, b, x, r);  // r = b − A x
    auto [gamma] = V.start(u <<= M * r, dot(r, u)).wait();
    V.run(p <<= u);

    // A denominator is tested before or after it divides, by what it means for the user.
    for (int k = 1; !stop.unless_positive(gamma, Status::indefinite_preconditioner); ++k) {
        const auto phase = V.ledger().enter(Phase::iteration);
        // Said together, statements are one pass over memory. A sum is in flight from start() to wait(): what stands
        // between the two hides it.
        auto [delta] = V.start(s <<= A * p, dot(p, s)).wait();
        if (stop.unless_positive(delta, Status::indefinite_matrix)) break;
        const auto alpha = gamma / delta;  // one number for each right-hand side
        V.run(x <<= x + alpha * p, r <<= r - alpha * s);
        auto [gamma_new, rr] = V.start(u <<= M * r, dot(r, u), dot(r, r)).wait();
        const auto beta = gamma_new / gamma;
        gamma = gamma_new;
        V.run(p <<= u + beta * p);
        // Once an iteration, at the same place: k updates of x are done, and ‖r‖² is what the recurrence believes.
        if (stop(k, rr)) break;
    }
}

}  // namespace stretto
