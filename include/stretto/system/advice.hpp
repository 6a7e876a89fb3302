// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stretto/driver/result.hpp"
#include "stretto/sparse/structure.hpp"

namespace stretto {

/// How a system was solved, or was not.
struct Tried {
    std::string method = {}, precond = "none", prepare = {};  ///< as given to SolveOptions and SystemOptions
    int ranks = 1;
    bool repaired = false;              ///< the preconditioner's set-up met pivots it could not divide by
    std::string null_space = "auto";    ///< as given to SystemOptions
    bool not_definite = false;          ///< an attempt before found A not to be definite
    std::vector<NextStep> before = {};  ///< what auto had tried before this
};

/// What to solve with, for this structure and so many ranks: the first is what to begin with, each of the others what
/// to go on with where the one before fails. A direct solve is among them.
std::vector<NextStep> choices(const Structure& structure, int ranks);

/// The first of them, in words.
std::string hint(const Structure& structure, int ranks);

/// What to do after `tried` ended in `result`: up to three steps, the likeliest first; none after convergence and where
/// nothing would help.
std::vector<NextStep> next_steps(const Structure& structure, const Tried& tried, double rtol, int max_iterations,
                                 const Result& result);

/// The same of dense matrices, as hierarchical ones: what suits them, and what to do after `tried` ended in `result`.
/// `epsilon`: what the blocks' accuracy is to be, where it was the matrix that was not good enough; 0: it was.
NextStep dense_choice(bool symmetric, bool positive_definite);
std::vector<NextStep> dense_next_steps(const NextStep& choice, const Tried& tried, double epsilon, int max_iterations,
                                       const Result& result);

}  // namespace stretto
