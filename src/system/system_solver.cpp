// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "automatic_solver.hpp"
#include "linear_system_parts.hpp"
#include "moved_checkpoint.hpp"
#include "stretto/core/error.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/checkpoint_identity.hpp"

namespace stretto {
namespace {

/// On this process's threads.
class SolverHere final : public HostedSolver {
public:
    template <class... Arguments>
    explicit SolverHere(Arguments&&... arguments) : solver_(std::forward<Arguments>(arguments)...) {}
    const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) override {
        return transposed ? solver_.solve_transposed(b, x) : solver_.solve(b, x);
    }
    void set_tolerances(double rtol, double atol, int max_iterations) override {
        solver_.set_tolerances(rtol, atol, max_iterations);
    }
    void forget() override { solver_.forget(); }

private:
    Solver<double> solver_;
};

}  // namespace

SystemSolver::SystemSolver(LinearSystem::Parts& parts, SolveOptions options, int columns)
    : parts_(&parts),
      options_(std::move(options)),
      updates_(parts.updates),
      columns_(columns),
      tried_{.method = options_.method,
             .precond = parts.options.precond,
             .prepare = parts.options.prepare,
             .ranks = parts.comm.size(),
             .null_space = parts.options.null_space} {
    if (options_.checkpoint && parts.prepared->moved()) {
        checkpoint_ = std::make_shared<MovedCheckpoint>(*options_.checkpoint, parts.prepared,
                                                        parts.partition.rows(parts.comm.rank()));
        options_.checkpoint = checkpoint_.get();
    }
    const bool open = options_.method == automatic || parts.chosen_precond;
    parts.check_open(open);
    if (open)
        automatic_ = std::make_shared<AutomaticSolver>(parts, options_, columns_);
    else
        solver_ = made();
}

std::unique_ptr<HostedSolver> SystemSolver::made() {
    const auto& asked = parts_->options;
    options_.threads = asked.threads;
    options_.null_space = parts_->null_space.removed();
    const auto& A = parts_->prepared->matrix();
    if (asked.device) return asked.device->solver(A, parts_->preconditioner.get(), columns_, options_);
    const auto& M = parts_->preconditioner;
    return std::make_unique<SolverHere>(parts_->comm, A, M.get() ? AnyOperator<double>(M) : AnyOperator<double>(),
                                        A.local_rows(), columns_, options_);
}

/// Takes up new values of the matrix.
void SystemSolver::follow_values() {
    if (std::exchange(updates_, parts_->updates) == parts_->updates) return;
    if (automatic_)
        automatic_->forget();
    else if (options_.null_space || parts_->null_space.removed() || parts_->options.device)
        solver_ = made();
    else
        solver_->forget();
}

std::vector<NextStep> SystemSolver::next() const {
    Tried tried = tried_;
    if (automatic_) {
        tried.method = parts_->choice.method;
        tried.precond = parts_->choice.precond;
        tried.not_definite = parts_->not_definite;
        for (const auto& way : parts_->choice.runners_up)
            if (!way.ended.empty()) tried.before.push_back(way.step);
    }
    tried.repaired = parts_->preconditioner.get() && parts_->preconditioner.repaired();
    return last_ ? next_steps(parts_->structure, tried, options_.rtol, options_.max_iterations, *last_)
                 : std::vector<NextStep>{};
}

void SystemSolver::set_tolerances(double rtol, double atol, int max_iterations) {
    options_.rtol = rtol;
    options_.atol = atol;
    options_.max_iterations = max_iterations;
    if (automatic_)
        automatic_->set_tolerances(rtol, atol, max_iterations);
    else
        solver_->set_tolerances(rtol, atol, max_iterations);
}

const Result& SystemSolver::run(MultiVector<const double> b, MultiVector<double> x, bool transposed) {
    parts_->check_vectors(b, x, columns_);
    follow_values();
    if (checkpoint_) checkpoint_->begin(columns_);
    if (options_.checkpoint)
        options_.checkpoint->precond =
            identity_of(parts_->options.precond, parts_->options.prepare, parts_->comm.size());
    const auto& prepared = *parts_->prepared;
    ++parts_->solves;
    last_ = nullptr;
    const auto solve = [&](MultiVector<const double> of, MultiVector<double> to) -> const Result& {
        if (automatic_) return *(last_ = &automatic_->solve(of, to, transposed));
        return *(last_ = &solver_->solve(of, to, transposed));
    };
    if (!prepared.moved() && !parts_->negated) return solve(b, x);
    const Index rows = prepared.matrix().local_rows();
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns_);
    b_.resize(size);
    prepared.forward(b.values(), columns_, b_, packed_);
    if (parts_->negated)
        for (double& value : b_) value = -value;
    if (!prepared.moved()) return solve({b_.data(), rows, columns_}, x);
    x_.resize(size);
    prepared.forward(x.values(), columns_, x_, packed_);
    solve({b_.data(), rows, columns_}, {x_.data(), rows, columns_});
    prepared.back(x_, columns_, x.values(), packed_);
    return *last_;
}

const Result& SystemSolver::run(const VectorsThere& b, const VectorsThere& x, bool transposed) {
    // Views for their sizes and addresses alone.
    parts_->check_vectors({reinterpret_cast<const double*>(b.address), b.rows, b.columns},
                          {reinterpret_cast<double*>(x.address), x.rows, x.columns}, columns_);
    if (!parts_->options.device) throw InputError("b and x lie on a device, and this system is solved on the host");
    if (parts_->prepared->moved())
        throw InputError(fmt::format("--prepare {} moves rows, and those of b and x on a device stay: leave it out",
                                     parts_->options.prepare));
    follow_values();
    ++parts_->solves;
    last_ = nullptr;
    return *(last_ = &solver_->solve_there(b, x, parts_->negated, transposed));
}

}  // namespace stretto
