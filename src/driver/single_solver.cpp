// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <vector>

#include "stretto/driver/check.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/execute/workspace.hpp"

namespace stretto {
namespace {

/// An operator on vectors in single precision for those in double, rounded on the way in: b − A x is that of the x that
/// is returned.
template <class T>
class Rounded {
    using D = Number<T>;

public:
    Rounded(const AnyOperator<T>& op, Index rows, int columns, int threads)
        : op_(op), x_(rows, columns, 1, threads), y_(rows, columns, 1, threads) {}
    void apply(MultiVector<D> x, MultiVector<D> y) const { around(x, y, &AnyOperator<T>::apply); }
    void apply_transpose(MultiVector<D> x, MultiVector<D> y) const { around(x, y, &AnyOperator<T>::apply_transpose); }
    bool has_transpose() const { return op_.has_transpose(); }
    double bytes(int columns) const {
        return op_.bytes(columns) + 2.0 * x_[0].rows() * columns * (sizeof(T) + sizeof(D));
    }
    bool varies() const { return op_.varies(); }
    std::optional<Index> local_rows() const { return op_.local_rows(); }
    OwnedOperator<T> in_single() const { return {op_, nullptr}; }

private:
    using Product = void (AnyOperator<T>::*)(MultiVector<T>, MultiVector<T>) const;
    void around(MultiVector<D> x, MultiVector<D> y, Product product) const {
        std::ranges::transform(x.values(), x_[0].data(), [](const D& value) { return static_cast<T>(value); });
        (op_.*product)(x_[0], y_[0]);
        std::ranges::copy(y_[0].values(), y.data());
    }

    AnyOperator<T> op_;
    Workspace<T> x_, y_;
};

SolveOptions refined(SolveOptions options) {
    options.method = in_single(options.method);
    return options;
}

}  // namespace

std::string in_single(const std::string& method) {
    if (choose_method(method).in_single) return method;
    std::string inner = method;
    std::ranges::replace(inner, ':', ',');
    return "refine:inner=" + inner;
}

template <class T>
    requires is_single<T>
struct Solver<T>::Parts {
    using D = Number<T>;
    Parts(Comm& comm, const AnyOperator<T>& of_A, const AnyOperator<T>& of_M, Index rows, int columns,
          const SolveOptions& options)
        : A(of_A, rows, std::clamp(columns, 1, max_columns), std::max(options.threads, 1)) {
        if (of_M) M.emplace(of_M, rows, std::clamp(columns, 1, max_columns), std::max(options.threads, 1));
        solver.emplace(comm, A, M ? AnyOperator<D>(*M) : AnyOperator<D>(), rows, columns, refined(options));
    }

    template <class Solve>
    const Result& run(MultiVector<const T> of_b, MultiVector<T> of_x, Solve&& solve) {
        b.assign(of_b.data(), of_b.data() + of_b.size());
        x.assign(of_x.data(), of_x.data() + of_x.size());
        const Result& result = solve(MultiVector<const D>(b.data(), of_b.rows(), of_b.columns()),
                                     MultiVector<D>(x.data(), of_x.rows(), of_x.columns()));
        std::ranges::transform(x, of_x.data(), [](const D& value) { return static_cast<T>(value); });
        return result;
    }

    Rounded<T> A;
    std::optional<Rounded<T>> M;
    std::vector<D> b, x;
    std::optional<Solver<D>> solver;
};

template <class T>
    requires is_single<T>
Solver<T>::Solver(Comm& comm, std::type_identity_t<AnyOperator<T>> A, std::type_identity_t<AnyOperator<T>> M,
                  Index rows, int columns, const SolveOptions& options)
    : parts_(std::make_unique<Parts>(comm, A, M, rows, columns, options)) {}
template <class T>
    requires is_single<T>
Solver<T>::~Solver() = default;
template <class T>
    requires is_single<T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
    requires is_single<T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;

template <class T>
    requires is_single<T>
const Result& Solver<T>::solve(MultiVector<const T> b, MultiVector<T> x) {
    return parts_->run(b, x,
                       [this](auto of_b, auto of_x) -> const Result& { return parts_->solver->solve(of_b, of_x); });
}
template <class T>
    requires is_single<T>
const Result& Solver<T>::solve_transposed(MultiVector<const T> b, MultiVector<T> x) {
    return parts_->run(
        b, x, [this](auto of_b, auto of_x) -> const Result& { return parts_->solver->solve_transposed(of_b, of_x); });
}
template <class T>
    requires is_single<T>
void Solver<T>::set_tolerances(double rtol, double atol, int max_iterations) {
    parts_->solver->set_tolerances(rtol, atol, max_iterations);
}
template <class T>
    requires is_single<T>
void Solver<T>::forget() {
    parts_->solver->forget();
}

template class Solver<float>;
#if STRETTO_COMPLEX
template class Solver<std::complex<float>>;
#endif

}  // namespace stretto
