// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <type_traits>

#include "stretto/convergence/result.hpp"
#include "stretto/convergence/stop.hpp"
#include "stretto/operators/linear_map.hpp"

namespace stretto {

struct SolveOptions {
    std::string method = "cg";  ///< NAME[:key=value,…], see `stretto list`
    double rtol = 1e-8;         ///< a column has converged when ‖b − Ax‖ ≤ max(rtol ‖b‖, atol)
    double atol = 0;
    int max_iterations = 10000;  ///< over all attempts
    Formulation formulation = Formulation::merged;
    int threads = 1;
    bool history = false;                               ///< keep the recursive residuals of every iteration
    bool true_history = false;                          ///< and the true ones, for one more product an iteration
    const std::atomic<bool>* interrupt = nullptr;       ///< raise it on any rank to end all at the next iteration
    Trace* trace = nullptr;                             ///< filled with what runs when; see Trace
    std::function<void(const ProgressInfo&)> progress{};  ///< called on every rank after every iteration
};

/// Solves A X = B for the m columns of b, from the initial guess in x, right-preconditioned by M (which
/// applies M⁻¹; Identity{}: none). Collective; A, M, b and x are this rank's rows. b is not written.
///
/// Never says `converged` without having recomputed b − Ax: when the recursive residual of a column passes
/// and the true one does not, the method is restarted from the true residual; where that gains too little,
/// the family's classic method goes on; where that gains nothing, the column has stagnated. x returns, per
/// column, the iterate of the smallest true residual seen. Throws InputError (on every rank alike) for wrong
/// sizes or options.
template <class T>
Result solve(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M,
             MultiVector<T> b, MultiVector<T> x, const SolveOptions& options = {});

extern template Result solve(Comm&, AnyOperator<double>, AnyOperator<double>, MultiVector<double>, MultiVector<double>,
                             const SolveOptions&);

}  // namespace stretto
