// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linear_system_parts.hpp"

namespace stretto {

/// Solves with what is chosen, and with something else where that does not come to its end in time: each attempt goes
/// on from the best x of those before.
class AutomaticSolver {
public:
    /// `options.method`: auto, or one method, for which the preconditioner alone is chosen.
    AutomaticSolver(LinearSystem::Parts& parts, SolveOptions options, int columns);
    ~AutomaticSolver();

    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed);
    void set_tolerances(double rtol, double atol, int max_iterations);
    /// The matrix has other values.
    void forget();

private:
    class Watch;

    void make(int iterations_left, bool zero_guess);
    void add(Result now);

    LinearSystem::Parts* parts_;
    SolveOptions options_;
    int columns_;
    std::optional<Solver<double>> solver_;
    std::unique_ptr<Watch> watch_;
    Result total_;
    int ran_ = 0;  // iterations of the last attempt with what is chosen; 0: none yet
};

}  // namespace stretto
