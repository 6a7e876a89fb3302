// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace stretto {

/// How a column ended. `converged` is said only of a recomputed ‖b − Ax‖ within the tolerance.
enum class Status {
    converged,
    passed_unverified,          ///< the recurrence passed, and nobody recomputed (SolveOptions::verify)
    least_squares,              ///< b is outside of the range of A; of its part there, ‖b̂ − Ax‖ is within the tolerance
    max_iterations,             ///< the iteration limit came first
    stagnated,                  ///< the true residual goes down no more: double precision ends here
    gave_up,                    ///< no progress in as many iterations as the options allow; more may make some
    breakdown,                  ///< a denominator of the recurrence vanished, again after restarts
    indefinite_matrix,          ///< pᵀAp ≤ 0: not positive definite, which the method needs
    indefinite_preconditioner,  ///< rᵀM⁻¹r ≤ 0
    not_finite,                 ///< NaN or Inf came up in flight
    interrupted,                ///< asked to stop, by a signal or by the monitor
};

/// Stable names, as in the JSON output.
std::string_view name(Status status);

/// The KSPConvergedReason of PETSc that says the same.
int petsc_reason(Status status);

/// The `info` of SciPy's solvers: 0 converged, > 0 iterations done without converging, < 0 breakdown.
int scipy_info(Status status, int iterations);

}  // namespace stretto
