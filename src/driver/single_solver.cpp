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
class Rounded {
public:
    Rounded(const AnyOperator<float>& op, Index rows, int columns, int threads)
        : op_(op), x_(rows, columns, 1, threads), y_(rows, columns, 1, threads) {}
    void apply(MultiVector<double> x, MultiVector<double> y) const { around(x, y, &AnyOperator<float>::apply); }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
        around(x, y, &AnyOperator<float>::apply_transpose);
    }
    bool has_transpose() const { return op_.has_transpose(); }
    double bytes(int columns) const {
        return op_.bytes(columns) + 2.0 * x_[0].rows() * columns * (sizeof(float) + sizeof(double));
    }
    bool varies() const { return op_.varies(); }
    std::optional<Index> local_rows() const { return op_.local_rows(); }
    OwnedOperator<float> in_single() const { return {op_, nullptr}; }

private:
    using Product = void (AnyOperator<float>::*)(MultiVector<float>, MultiVector<float>) const;
    void around(MultiVector<double> x, MultiVector<double> y, Product product) const {
        std::ranges::copy(x.values(), x_[0].data());
        (op_.*product)(x_[0], y_[0]);
        std::ranges::copy(y_[0].values(), y.data());
    }

    AnyOperator<float> op_;
    Workspace<float> x_, y_;
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

struct Solver<float>::Parts {
    Parts(Comm& comm, const AnyOperator<float>& of_A, const AnyOperator<float>& of_M, Index rows, int columns,
          const SolveOptions& options)
        : A(of_A, rows, std::clamp(columns, 1, max_columns), std::max(options.threads, 1)) {
        if (of_M) M.emplace(of_M, rows, std::clamp(columns, 1, max_columns), std::max(options.threads, 1));
        solver.emplace(comm, A, M ? AnyOperator<double>(*M) : AnyOperator<double>(), rows, columns, refined(options));
    }

    template <class Solve>
    const Result& run(MultiVector<const float> of_b, MultiVector<float> of_x, Solve&& solve) {
        b.assign(of_b.data(), of_b.data() + of_b.size());
        x.assign(of_x.data(), of_x.data() + of_x.size());
        const Result& result = solve({b.data(), of_b.rows(), of_b.columns()}, {x.data(), of_x.rows(), of_x.columns()});
        std::ranges::transform(x, of_x.data(), [](double value) { return static_cast<float>(value); });
        return result;
    }

    Rounded A;
    std::optional<Rounded> M;
    std::vector<double> b, x;
    std::optional<Solver<double>> solver;
};

Solver<float>::Solver(Comm& comm, AnyOperator<float> A, AnyOperator<float> M, Index rows, int columns,
                      const SolveOptions& options)
    : parts_(std::make_unique<Parts>(comm, A, M, rows, columns, options)) {}
Solver<float>::~Solver() = default;
Solver<float>::Solver(Solver&&) noexcept = default;
Solver<float>& Solver<float>::operator=(Solver&&) noexcept = default;

const Result& Solver<float>::solve(MultiVector<const float> b, MultiVector<float> x) {
    return parts_->run(b, x, [this](MultiVector<const double> of_b, MultiVector<double> of_x) -> const Result& {
        return parts_->solver->solve(of_b, of_x);
    });
}
const Result& Solver<float>::solve_transposed(MultiVector<const float> b, MultiVector<float> x) {
    return parts_->run(b, x, [this](MultiVector<const double> of_b, MultiVector<double> of_x) -> const Result& {
        return parts_->solver->solve_transposed(of_b, of_x);
    });
}
void Solver<float>::set_tolerances(double rtol, double atol, int max_iterations) {
    parts_->solver->set_tolerances(rtol, atol, max_iterations);
}
void Solver<float>::forget() { parts_->solver->forget(); }

}  // namespace stretto
