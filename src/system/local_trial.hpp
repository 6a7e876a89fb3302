// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "candidates.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Trials on the rows and columns of each rank alone, before anything is chosen: ranks do not wait for each other, so
/// that a trial takes no reduction but the one that tells its outcome.

/// Complete factors of the rank's block, by a symbolic factorisation with the approximate minimum degree ordering
/// (Amestoy, Davis and Duff 1996).
FactorCounts count_factors(const CsrMatrix<double>& A);
/// Collective. What a look at the rows tells besides: whether the diagonal is constant, and how far rows reach to the
/// left.
void look_at_rows(const CsrMatrix<double>& A, Sizes& sizes);
/// About what counting takes, in seconds.
double seconds_to_count(const Structure& structure, const Sizes& sizes);

/// Collective. Of a matrix whose diagonal outweighs the rest by far, how hard a system with it is, by three steps of
/// Jacobi's iteration; nothing: it is not one.
std::optional<double> difficulty_by_dominance(const CsrMatrix<double>& A, double rtol);

/// What some iterations of CG, or of BiCGStab where A is not symmetric, come to with Jacobi's preconditioner.
struct LocalTrial {
    int iterations = 0;
    double residual = 1;      ///< relative
    bool indefinite = false;  ///< CG found A not to be definite
};

/// b is random.
LocalTrial try_jacobi(const CsrMatrix<double>& A, bool symmetric, bool singular, int iterations, double rtol);

struct LocalFindings {
    FactorCounts factors;
    LocalTrial trial;
};
/// Collective. The most work of factors, and the trial that has come least far.
LocalFindings of_all_ranks(const Comm& comm, const LocalFindings& mine);

/// Iterations to the target where so many came to this relative residual and so many were assumed.
double iterations_at_rate(double done, double residual, double target, double assumed, double least_trust);

/// Iterations of CG to the tolerance that a trial lets expect, where so many were assumed; of the whole system, of
/// which a rank has a part.
double difficulty_after(const LocalTrial& trial, const Structure& structure, const Sizes& sizes, double rtol);

}  // namespace stretto
