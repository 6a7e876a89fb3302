// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stretto/sparse/structure.hpp"
#include "stretto/system/choice.hpp"

namespace stretto {

/// Complete factors of a matrix: what a symbolic factorisation says.
struct FactorCounts {
    double entries = 0;  ///< of L
    double work = 0;     ///< additions, multiplications and divisions of L and U
};

/// How large the system is for a rank.
struct Sizes {
    double rows = 0, nonzeros = 0;  ///< of all ranks
    int ranks = 1;
    /// How hard the system is: iterations of CG, or what a method has for so many of them, with Jacobi's
    /// preconditioner. Nothing: assumed by the structure, until a trial or an attempt tells.
    std::optional<double> difficulty = {};
    bool constant_diagonal = false;  ///< for which Jacobi's preconditioner does nothing
    double profile = 1e300;          ///< entries of L at most: from the first of a row to its diagonal, of a rank
    double halo = 0;                 ///< rows of other ranks that a rank's rows couple with, at most
    std::optional<FactorCounts> factors = {};  ///< of one rank's rows and columns; nothing: assumed by the structure
};

/// What may solve a system of this structure, by what each is expected to take, the quickest first: families by their
/// classic methods, with preconditioners. Iterations are assumed by the kind of preconditioner and how hard the system
/// is.
std::vector<Expectation> candidates(const Structure& structure, const Sizes& sizes, const PartTimes& parts);

/// The same where CG found the matrix not to be definite.
std::vector<Expectation> indefinite_candidates(const Structure& structure, const Sizes& sizes, const PartTimes& parts);

/// Seconds of one use of a preconditioner on these sizes, without what it waits for; nothing: its bytes say more.
std::optional<double> assumed_use(const Sizes& sizes, const PartTimes& parts, std::string_view precond);

/// One block of complete factors for all: a direct solve.
bool is_direct(const NextStep& step);

/// Of these sizes, or what is assumed by the structure.
double assumed_difficulty(const Structure& structure, const Sizes& sizes);

/// How hard a system is of which this step would take so many iterations; nothing: such a step does not tell.
std::optional<double> difficulty(const Structure& structure, const Sizes& sizes, const NextStep& step,
                                 double iterations);

/// What a preconditioner is assumed to take, for a method of this family.
Expectation expectation(const Structure& structure, const Sizes& sizes, const PartTimes& parts, const NextStep& step);

}  // namespace stretto
