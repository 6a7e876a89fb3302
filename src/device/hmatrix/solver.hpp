// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "diagonal_blocks.hpp"
#include "operator.hpp"
#include "replicated.hpp"
#include "stretto/core/error.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

/// Methods on vectors of the device D with a hierarchical matrix there, distributed. b and x come from the host, and x
/// goes back to it.
template <class D>
class HMatrixSolverOn final : public HostedSolver {
public:
    using T = OnDevice<double, D>;

    HMatrixSolverOn(const HMatrix& A, const Preconditioner* M, int columns, const SolveOptions& options) : A_(A) {
        if (M) M_.emplace(dynamic_cast<const DiagonalBlocks&>(*M));
        b_ = DeviceArray<double, D>(static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns));
        x_ = DeviceArray<double, D>(b_.size());
        solver_.emplace(A.comm(), A_, M_ ? AnyOperator<T>(*M_) : AnyOperator<T>(), A.local_rows(), columns, options);
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
    DeviceHMatrix<D> A_;
    std::optional<DeviceDiagonalBlocks<D>> M_;
    DeviceArray<double, D> b_, x_;
    std::optional<Solver<T>> solver_;
};

/// The same with vectors whole on every rank, on all of its devices: each is spoken to by a thread of its own, which
/// runs the method's text as the others do.
template <class D>
class ReplicatedSolverOn final : public HostedSolver {
public:
    using T = OnDevice<double, D>;

    ReplicatedSolverOn(const HMatrix& A, const Preconditioner* M, const DenseLayout& layout, int columns,
                       const SolveOptions& options)
        : whole_(A, layout, options.interrupt) {
        if (layout.devices > 1 && (options.checkpoint || options.trace))
            throw InputError("several devices of a rank keep no checkpoints and no traces: ask for one of each rank");
        for (int k = 0; k < layout.devices; ++k) {
            const OnDeviceOf<D> at({k, layout.devices});
            threads_.push_back(std::make_unique<Thread>(whole_.part(k), columns));
            Thread& own = *threads_.back();
            if (M)
                own.M.emplace(dynamic_cast<const DiagonalBlocks&>(*M), whole_.first(k),
                              whole_.first(k) + own.A.local_rows());
        }
        whole_.company().run([&](int k) {
            const OnDeviceOf<D> at({k, layout.devices});
            Thread& own = *threads_[static_cast<std::size_t>(k)];
            SolveOptions mine = options;
            mine.interrupt = &own.A.interrupted();
            // One tells how far it is; where that ends the solve, it ends for all in the next product.
            if (k > 0)
                mine.monitor = {};
            else if (options.monitor && layout.devices > 1)
                mine.monitor = [this, monitor = options.monitor](const IterationInfo& info) {
                    if (!whole_.stopping() && !monitor(info)) whole_.stop();
                    return true;
                };
            own.solver.emplace(own.A.comm(), own.A, own.M ? AnyOperator<T>(*own.M) : AnyOperator<T>(),
                               own.A.local_rows(), columns, mine);
        });
    }

    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) override {
        const Result* result = nullptr;
        whole_.restart();
        whole_.company().run([&](int k) {
            const OnDeviceOf<D> at({k, static_cast<int>(threads_.size())});
            Thread& own = *threads_[static_cast<std::size_t>(k)];
            const MultiVector<T> of(own.b.data(), own.A.local_rows(), b.columns()),
                to(own.x.data(), of.rows(), of.columns());
            const auto before = static_cast<std::size_t>(whole_.first(k)) * static_cast<std::size_t>(b.columns());
            D::upload(of.data(), b.data() + before, of.size() * sizeof(double));
            D::upload(to.data(), x.data() + before, to.size() * sizeof(double));
            const Result& mine = transposed ? own.solver->solve_transposed(of, to) : own.solver->solve(of, to);
            if (k == 0) result = &mine;
            // Where every device has all of x, it is the first one's.
            if (k == 0 || whole_.shared()) D::download(to.data(), x.data() + before, to.size() * sizeof(double));
        });
        return *result;
    }
    void set_tolerances(double rtol, double atol, int max_iterations) override {
        for (auto& own : threads_) own->solver->set_tolerances(rtol, atol, max_iterations);
    }
    void forget() override {
        for (auto& own : threads_) own->solver->forget();
    }

private:
    /// What the thread of a device has.
    struct Thread {
        Thread(typename DeviceReplicated<D>::Part& part, int columns)
            : A(part),
              b(static_cast<std::size_t>(part.local_rows()) * static_cast<std::size_t>(columns)),
              x(b.size()) {}
        typename DeviceReplicated<D>::Part& A;
        std::optional<DeviceDiagonalBlocks<D>> M;
        DeviceArray<double, D> b, x;
        std::optional<Solver<T>> solver;
    };

    DeviceReplicated<D> whole_;
    std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace stretto
