// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include "driver.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/solver.hpp"

namespace stretto {
namespace {

void check_tolerances(double rtol, double atol, int max_iterations) {
    if (!(rtol >= 0) || !(atol >= 0))
        throw InputError(fmt::format("tolerances must not be negative: rtol = {}, atol = {}", rtol, atol));
    if (max_iterations < 0) throw InputError(fmt::format("the iteration limit is {}", max_iterations));
}

template <class T>
void check(const Comm& comm, const Method& method, const AnyOperator<T>& A, const AnyOperator<T>& M, Index rows,
           int columns, const SolveOptions& options) {
    if (method.transpose && !(A.has_transpose() && M.has_transpose()))
        throw InputError(fmt::format(
            "{} needs products with {}, which this {} does not have (apply_transpose; in Python rmatvec)", method.name,
            A.has_transpose() ? "M⁻ᵀ" : "Aᵀ", A.has_transpose() ? "preconditioner" : "operator"));
    if (method.transpose && comm.reproducible())
        throw InputError(fmt::format(
            "{} needs products with Aᵀ, which are added up rank by rank, and is not reproducible", method.name));
    if (is_complex<T>) check_reproducible_complex(comm, method);
    if (M.varies()) check_flexible(options.method, "");
    for (const auto& op : {A, M})
        if (op.local_rows() && *op.local_rows() != rows)
            throw InputError(
                fmt::format("an operator has {} rows on rank {}, b has {}", *op.local_rows(), comm.rank(), rows));
    if (is_complex<T> && options.null_space && !options.null_space->empty())
        throw InputError("a null space cannot be removed from a complex system");
    if (options.null_space)
        for (const auto* vectors : {&options.null_space->vectors(), &options.null_space->left()})
            for (const auto& vector : *vectors)
                if (std::ssize(vector) != rows)
                    throw InputError(fmt::format("a null vector has {} rows on rank {}, b has {}", vector.size(),
                                                 comm.rank(), rows));
    if (columns < 1 || columns > max_columns)
        throw InputError(fmt::format("{} right-hand sides: one solve takes 1 to {}", columns, max_columns));
    check_tolerances(options.rtol, options.atol, options.max_iterations);
    if (options.threads < 1) throw InputError(fmt::format("{} threads: at least one is needed", options.threads));
}

template <class T>
void check_single(const Method& method) {
    if (std::same_as<T, Number<T>>) return;
    throw InputError(
        fmt::format("{} in single precision is for vectors in the processor's memory, on its threads: leave {} out",
                    method.name, "refine, basis=single or --scalar single"));
}

}  // namespace

/// Complex vectors, as real ones in pairs: the driver for these, and the operators that it refers to.
template <class T>
struct InPairs {
    InPairs(Comm& comm, const MethodChoice& asked, AnyOperator<T> on, AnyOperator<T> by, Index rows, int columns,
            const SolveOptions& options)
        : A(on),
          M(by),
          driver(comm, asked, AnyOperator<Real<T>>::on_pairs(A), AnyOperator<Real<T>>::on_pairs(M), rows, columns,
                 options, 2) {}
    AnyOperator<T> A, M;
    Driver<Real<T>> driver;
};

template <class T>
Solver<T>::Solver(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M,
                  Index rows, int columns, const SolveOptions& options) {
    const auto asked = choose_method(options.method);
    agree(comm, [&] {
        check(comm, *asked.method, A, M, rows, columns, options);
        if (asked.in_single) check_single<T>(*asked.method);
    });
    if (all_max(comm, Global{columns}) != all_min(comm, Global{columns}))
        throw InputError("the ranks disagree on the number of right-hand sides");
    if constexpr (is_complex<T>)
        if (asked.method->needs != Needs::any) {
            pairs_ = std::make_unique<InPairs<T>>(comm, asked, A, M, rows, columns, options);
            return;
        }
    driver_ = std::make_unique<Driver<T>>(comm, asked, A, M, rows, columns, options);
}

template <class T>
Solver<T>::~Solver() = default;
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class T>
const Result& Solver<T>::solve(MultiVector<const T> b, MultiVector<T> x) {
    if constexpr (is_complex<T>)
        if (pairs_) return pairs_->driver.run(in_pairs(b), in_pairs(x), false);
    return driver_->run(b, x, false);
}
template <class T>
const Result& Solver<T>::solve_transposed(MultiVector<const T> b, MultiVector<T> x) {
    if constexpr (is_complex<T>)
        if (pairs_) return pairs_->driver.run(in_pairs(b), in_pairs(x), true);
    return driver_->run(b, x, true);
}
template <class T>
void Solver<T>::set_tolerances(double rtol, double atol, int max_iterations) {
    check_tolerances(rtol, atol, max_iterations);
    if constexpr (is_complex<T>)
        if (pairs_) return pairs_->driver.set_tolerances(rtol, atol, max_iterations);
    driver_->set_tolerances(rtol, atol, max_iterations);
}
template <class T>
void Solver<T>::forget() {
    if constexpr (is_complex<T>)
        if (pairs_) return pairs_->driver.forget();
    driver_->forget();
}

}  // namespace stretto
