// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "diagonal_blocks.hpp"
#include "operator.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

/// Methods on vectors of the device D with a hierarchical matrix there: distributed, or whole on every rank. b and x
/// come from the host, and x goes back to it.
template <class D>
class HMatrixSolverOn final : public HostedSolver {
public:
    using T = OnDevice<double, D>;

    HMatrixSolverOn(const HMatrix& A, const Preconditioner* M, bool replicated, int columns,
                    const SolveOptions& options) {
        if (M) M_.emplace(dynamic_cast<const DiagonalBlocks&>(*M));
        const AnyOperator<T> precond = M_ ? AnyOperator<T>(*M_) : AnyOperator<T>();
        const Index rows = replicated ? static_cast<Index>(A.rows()) : A.local_rows();
        b_ = DeviceArray<double, D>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
        x_ = DeviceArray<double, D>(b_.size());
        SolveOptions own = options;
        if (replicated) {
            whole_.emplace(A, options.interrupt);
            own.interrupt = &whole_->interrupted();
            solver_.emplace(alone_, *whole_, precond, rows, columns, own);
        } else {
            distributed_.emplace(A);
            solver_.emplace(A.comm(), *distributed_, precond, rows, columns, own);
        }
    }

    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) override {
        const MultiVector<T> of(b_.data(), b.rows(), b.columns()), to(x_.data(), x.rows(), x.columns());
        D::upload(of.data(), b.data(), b.size() * sizeof(double));
        D::upload(to.data(), x.data(), x.size() * sizeof(double));
        const Result& result = transposed ? solver_->solve_transposed(of, to) : solver_->solve(of, to);
        D::download(to.data(), x.data(), x.size() * sizeof(double));
        return result;
    }
    void set_tolerances(double rtol, double atol, int max_iterations) override {
        solver_->set_tolerances(rtol, atol, max_iterations);
    }
    void forget() override { solver_->forget(); }

private:
    MpiComm alone_{MPI_COMM_SELF};
    std::optional<DeviceHMatrix<D>> distributed_;
    std::optional<DeviceReplicated<D>> whole_;
    std::optional<DeviceDiagonalBlocks<D>> M_;
    DeviceArray<double, D> b_, x_;
    std::optional<Solver<T>> solver_;
};

}  // namespace stretto
