// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stretto/convergence/recorder.hpp"
#include "stretto/convergence/status.hpp"
#include "stretto/measure/ledger.hpp"

namespace stretto {

struct ColumnResult {
    Status status = Status::max_iterations;
    int iterations = 0;             ///< in which the column took part
    double norm_b = 0;              ///< ‖b‖
    double relative_residual = 0;   ///< ‖b − Ax‖/‖b‖, recomputed if `verified` (‖b − Ax‖ where b = 0)
    double recursive_residual = 0;  ///< what the recurrence believed, relative alike
    /// Where a null space is removed, with b̂ the part of b in the range of A: ‖b − b̂‖/‖b‖, and ‖b̂ − Ax‖/‖b̂‖
    /// (‖b̂ − Ax‖ where b̂ = 0).
    double outside_range = 0, projected_residual = 0;
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

/// What may solve a system that was not solved: names and options as of `stretto solve`.
struct NextStep {
    std::string method = {}, precond = "none", prepare = {};
    std::string more = {};  ///< other options, as they are typed
    bool one_rank = false;  ///< of the run: it is not for the ranks there were
    std::string why = {};

    /// As they are typed.
    std::string options() const;
};

/// What a solve returns. Counts and seconds are those of this rank.
struct Result {
    Status status = Status::max_iterations;  ///< converged, or the status of the first column that is not
    int iterations = 0;                      ///< over all attempts
    int resumed_after = 0;                   ///< of them, those of the solve that this one went on from
    std::vector<ColumnResult> columns;
    std::vector<Event> events;
    std::vector<Part> parts;  ///< what its iterations were, in the order of the first of each
    /// Recursive residual norms, one row per iteration, m values each; empty unless asked for.
    std::vector<double> history;
    std::vector<double> true_history;  ///< the same of ‖b − Ax‖
    bool projected = false;            ///< b was: outside_range and projected_residual tell something
    bool verified = true;              ///< relative residuals are recomputed ones; false: what the recurrence believed
    std::string_view finished_by;      ///< the method that ran last: the one asked for, or the one it fell back to
    Ledger ledger;
    PerIteration per_iteration;  ///< of the method asked for, not of one it fell back to
    int vectors = 0;             ///< stored by the method (or the one it fell back to), beyond x and b
    double solve_seconds = 0;
    std::vector<NextStep> next;  ///< what to do where a LinearSystem was not solved, the likeliest first

    bool converged() const { return status == Status::converged; }
    /// Converged, or believed to be where nobody was asked to recompute.
    bool passed() const { return converged() || status == Status::passed_unverified; }
    double relative_residual() const;  ///< the largest of the columns; NaN if one of them is
};

}  // namespace stretto
