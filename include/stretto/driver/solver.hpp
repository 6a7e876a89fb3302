// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>

#include "stretto/convergence/checkpoint.hpp"
#include "stretto/convergence/recorder.hpp"
#include "stretto/driver/null_space.hpp"
#include "stretto/driver/result.hpp"
#include "stretto/operators/linear_map.hpp"

namespace stretto {

/// What a solve believes of a residual that its recurrence says is small enough.
enum class Verify {
    true_residual,  ///< nothing: b − Ax is recomputed, and the solve goes on where it is not
    recurrence,     ///< that it is: for operators too noisy to recompute with; the status is `passed_unverified`
};
/// What a solve leaves in x, per column.
enum class Iterate {
    best,  ///< the iterate of the smallest true residual seen
    last,  ///< the last one
};

struct SolveOptions {
    std::string method = "cg";  ///< NAME[:key=value,…], see `stretto list`
    double rtol = 1e-8;         ///< a column has converged when ‖b − Ax‖ ≤ max(rtol ‖b‖, atol)
    double atol = 0;
    int max_iterations = 100000;  ///< over all attempts
    Formulation formulation = Formulation::merged;
    int threads = 1;
    Verify verify = Verify::true_residual;
    Iterate iterate = Iterate::best;
    bool zero_guess = false;                       ///< x is cleared first: what it holds is no guess
    bool history = false;                          ///< keep the recursive residuals of every iteration
    bool true_history = false;                     ///< and the true ones, for one more product an iteration
    const NullSpace* null_space = nullptr;         ///< of A: kept out of x, that of Aᵀ out of b; copied
    const std::atomic<bool>* interrupt = nullptr;  ///< raise it on any rank to end all at the next iteration
    Trace* trace = nullptr;                        ///< filled with what runs when; see Trace
    Monitor monitor{};                             ///< told of iteration 0 and of every later one; may end the solve
    Checkpoint* checkpoint = nullptr;              ///< kept while it solves, and what it goes on from; it must stay
};

template <class T>
class Driver;
template <class T>
struct InPairs;

/// Set up once, solves many times A X = B for m columns, right-preconditioned by M (which applies M⁻¹; Identity{}:
/// none). Owns the method's vectors: only its first solve allocates. What the method learns of A, shifts and Ritz
/// values, stays from solve to solve. A and M are held by reference.
///
/// Never says `converged` without having recomputed b − Ax: when the recursive residual of a column passes
/// and the true one does not, the method is restarted from the true residual; where that gains too little,
/// the family's classic method goes on; where that gains nothing, the column ends, and its status says why.
///
/// For complex T, methods for symmetric matrices take hermitian ones. All their scalars are real then, so they run as
/// they are compiled for real vectors, in which each complex number is a pair. A null space is not removed.
template <class T>
class Solver {
    static_assert(scalar_is_built<T>, "this scalar is not built in: double, float, std::complex of them");

public:
    /// Collective. `rows`: of this rank. Throws InputError, on every rank alike, for wrong sizes or options and for an
    /// operator without what the method needs.
    Solver(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M, Index rows,
           int columns, const SolveOptions& options = {});
    ~Solver();
    Solver(Solver&&) noexcept;
    Solver& operator=(Solver&&) noexcept;

    /// Collective. Solves from the guess in x; b and x are this rank's rows × columns and share no memory. What is
    /// returned is good until the next solve. Throws InputError, on every rank alike, for other shapes.
    const Result& solve(MultiVector<const T> b, MultiVector<T> x);
    /// The same with Aᵀ and M⁻ᵀ, of complex values Aᴴ and M⁻ᴴ; throws InputError where A or M has no apply_transpose.
    const Result& solve_transposed(MultiVector<const T> b, MultiVector<T> x);

    /// From the next solve on.
    void set_tolerances(double rtol, double atol, int max_iterations);
    /// Begins without shifts and Ritz values next time: when A has become quite another.
    void forget();

private:
    std::unique_ptr<Driver<T>> driver_;
    std::unique_ptr<InPairs<T>> pairs_;  // in the place of driver_: complex vectors whose scalars are real
};

/// The same where A, M, b and x are in single precision, real or complex: iterative refinement (`refine:inner=NAME`)
/// around the method, whose vectors are in single precision, too. ‖b − A x‖ is that of the x that is returned, from A's
/// products, whatever these are worth: about 1e-6 ‖A‖‖x‖ is what they can tell.
template <class T>
    requires is_single<T>
class Solver<T> {
    static_assert(scalar_is_built<T>, "this scalar is not built in: double, float, std::complex of them");

public:
    Solver(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M, Index rows,
           int columns, const SolveOptions& options = {});
    ~Solver();
    Solver(Solver&&) noexcept;
    Solver& operator=(Solver&&) noexcept;

    const Result& solve(MultiVector<const T> b, MultiVector<T> x);
    const Result& solve_transposed(MultiVector<const T> b, MultiVector<T> x);
    void set_tolerances(double rtol, double atol, int max_iterations);
    void forget();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// Collective. A single solve, as by a Solver.
template <class T>
Result solve(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M,
             std::type_identity_t<MultiVector<const T>> b, std::type_identity_t<MultiVector<T>> x,
             const SolveOptions& options = {}) {
    static_assert(scalar_is_built<T>, "this scalar is not built in: double, float, std::complex of them");
    return Solver<T>(comm, A, M, b.rows(), b.columns(), options).solve(b, x);
}

extern template class Solver<double>;
extern template class Solver<float>;
#if STRETTO_COMPLEX
extern template class Solver<std::complex<double>>;
extern template class Solver<std::complex<float>>;
#endif

}  // namespace stretto
