// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "matrix.hpp"
#include "precond.hpp"
#include "stretto/core/error.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

/// Methods on vectors of the device D, for b and x on the host.
template <class D>
class SolverOn final : public HostedSolver {
public:
    using T = OnDevice<double, D>;

    SolverOn(const CsrMatrix<double>& A, const Preconditioner* M, int columns, const SolveOptions& options)
        : trace_(options.trace),
          A_(A, columns),
          b_(static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns)),
          x_(b_.size()) {
        if (M) M_.emplace(*M, A_);
        solver_.emplace(A.comm(), A_, M_ ? AnyOperator<T>(*M_) : AnyOperator<T>(), A.local_rows(), columns, options);
    }

    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) override {
        if (trace_) D::record(true);
        const MultiVector<T> of(b_.data(), b.rows(), b.columns()), to(x_.data(), x.rows(), x.columns());
        D::upload(of.data(), b.data(), b.size() * sizeof(double));
        D::upload(to.data(), x.data(), x.size() * sizeof(double));
        const Result& result = transposed ? solver_->solve_transposed(of, to) : solver_->solve(of, to);
        D::download(to.data(), x.data(), x.size() * sizeof(double));
        if (trace_) {
            for (const auto& [name, copy, begin, end] : D::recorded()) trace_->add_on_device(name, copy, begin, end);
            D::record(false);
        }
        return result;
    }
    void set_tolerances(double rtol, double atol, int max_iterations) override {
        solver_->set_tolerances(rtol, atol, max_iterations);
    }
    void forget() override { solver_->forget(); }

private:
    Trace* trace_;
    DeviceMatrix<double, D> A_;
    std::optional<DevicePreconditioner<double, D>> M_;
    DeviceArray<double, D> b_, x_;
    std::optional<Solver<T>> solver_;
};

}  // namespace stretto
