// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stretto/measure/ledger.hpp"

namespace stretto {

/// How a column ended. `converged` is said only of a recomputed ‖b − Ax‖ within the tolerance.
enum class Status {
    converged,
    max_iterations,             ///< the iteration limit came first
    stagnated,                  ///< the accuracy double precision attains here was reached, or no progress was made
    breakdown,                  ///< a denominator of the recurrence vanished, again after restarts
    indefinite_matrix,          ///< pᵀAp ≤ 0: not positive definite, which the method needs
    indefinite_preconditioner,  ///< rᵀM⁻¹r ≤ 0
    not_finite,                 ///< NaN or Inf came up in flight
    interrupted,                ///< asked to stop
};

/// Stable names, as in the JSON output.
std::string_view name(Status status);

/// The KSPConvergedReason of PETSc that says the same.
int petsc_reason(Status status);

/// The `info` of SciPy's solvers: 0 converged, > 0 iterations done without converging, < 0 breakdown.
int scipy_info(Status status, int iterations);

struct ColumnResult {
    Status status = Status::max_iterations;
    int iterations = 0;             ///< in which the column took part
    double norm_b = 0;              ///< ‖b‖
    double relative_residual = 0;   ///< ‖b − Ax‖/‖b‖, recomputed (‖b − Ax‖ where b = 0)
    double recursive_residual = 0;  ///< what the recurrence believed, relative alike
};

/// The cost of one iteration as its paper has it, without set-up and safeguards.
struct PerIteration {
    double applies = 0, preconditionings = 0, reductions = 0, hidden_reductions = 0;
    double vector_reads = 0, vector_writes = 0;  ///< of n × m values, by statements
    double bytes = 0;                            ///< on this rank: statements, products, preconditioners
    /// Of a reduction, the fraction of its time in flight that this rank did not lose (Flight); 0 without reductions.
    double hidden_fraction = 0;
    double wall = 0;                               ///< seconds, safeguards included
    double lost = 0;                               ///< seconds that reductions kept this rank from working
    std::array<double, kernels.size()> seconds{};  ///< on this rank

    PerIteration() = default;
    PerIteration(const Counts& counts, int iterations);
};

/// Something a user should know: a replacement, a restart, a fall-back, a breakdown.
struct Event {
    int iteration;  ///< of the first, where the same happened several times in a row
    std::string text;
    int times = 1;
    int last = 0;  ///< iteration of the last of them
};
std::string to_string(const Event& event);

/// What solve() returns. Counts and seconds are those of this rank unless said otherwise.
struct Result {
    Status status = Status::max_iterations;  ///< converged, or the status of the first column that is not
    int iterations = 0;                      ///< over all attempts
    std::vector<ColumnResult> columns;
    std::vector<Event> events;
    /// Recursive residual norms, one row per iteration, m values each; empty unless asked for.
    std::vector<double> history;
    std::vector<double> true_history;  ///< the same of ‖b − Ax‖
    std::string finished_by;           ///< the method that ran last: the one asked for, or the one it fell back to
    Ledger ledger;
    PerIteration per_iteration;  ///< of the method asked for, not of one it fell back to
    int vectors = 0;             ///< stored by the method (or the one it fell back to), beyond x and b
    double solve_seconds = 0;    ///< the longest of all ranks

    bool converged() const { return status == Status::converged; }
    double relative_residual() const;  ///< the largest of the columns; NaN if one of them is
};

}  // namespace stretto
