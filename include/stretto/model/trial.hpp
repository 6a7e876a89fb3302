// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/driver/result.hpp"
#include "stretto/model/benchmarks.hpp"
#include "stretto/model/iteration.hpp"
#include "stretto/operators/any_operator.hpp"

namespace stretto {

// What the parts of an iteration, and iterations, take on this machine, measured.

/// Seconds, the least of some repetitions, which a busy machine disturbs least.
struct TrialTimes {
    double product = 0;         ///< y = A x, with its exchange, of the slowest rank
    double preconditioner = 0;  ///< y = M⁻¹ x, of the slowest rank; 0 without
    double reduction = 0;       ///< a blocking sum of a few values after work, of the rank that comes last to it
};

/// Collective, the same on every rank. Times a product with A and an application of M (Identity{}: none) to m columns,
/// as they come in a method: before each of them all ranks meet in a sum, and `vectors` others of as many values, up to
/// what no cache holds, have been gone through. `rows`: of this rank. Ends after `effort.repetitions`, or after
/// `effort.seconds` once there were ten: some milliseconds for small systems, three repetitions of large ones.
TrialTimes time_parts(Comm& comm, AnyOperator<double> A, AnyOperator<double> M, Index rows, int columns, int vectors,
                      int threads = 1, const Effort& effort = {200, 0.05});

/// An iteration as it ran: seconds, and what this rank's account has of it in the last solve.
struct TimedIteration {
    double seconds = 0;
    PerIteration account{};
};

/// Collective, the same seconds on every rank. An iteration of a method, NAME[:key=value,…], without its safeguards:
/// the least of some solves, iteration by iteration, over whole periods after those in which its pipeline fills. Solves
/// with random right-hand sides so often, and so long, as the effort says. `norm`: of A, or of A M⁻¹, as
/// without_safeguards takes it. Empty where the method does not last that long.
std::optional<TimedIteration> time_iteration(Comm& comm, AnyOperator<double> A, AnyOperator<double> M, Index rows,
                                             int columns, const std::string& method, double norm, int threads,
                                             const Effort& effort);

/// The text of a method on this processor, for m columns: its iteration is timed on diagonal matrices, one of few rows
/// and one of `rows`, or of as many as leave the vectors in a last-level cache that so many ranks share; what products,
/// preconditioners and sums take there is subtracted.
TextTime time_text(const MethodIteration& iteration, Index rows, int columns, int ranks, bool rows_on = true);

}  // namespace stretto
