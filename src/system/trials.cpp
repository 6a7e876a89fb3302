// SPDX-License-Identifier: BSD-3-Clause
// Candidates tried for a few iterations each.
#include <algorithm>
#include <cmath>

#include "linear_system_parts.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {

/// Collective. A trial of what can be made: `options` are those of the solve that it is for. x goes on from what it is.
void LinearSystem::Parts::try_out(Expectation& candidate, MultiVector<const double> b, MultiVector<double> x,
                                  const SolveOptions& asked, int iterations) {
    const double before = precond_seconds;
    if (!make(candidate)) return;
    candidate.setup = all_max(comm, precond_seconds - before);
    SolveOptions trial;
    trial.method = candidate.step.method;
    trial.rtol = asked.rtol;
    trial.atol = asked.atol;
    trial.max_iterations = iterations;
    trial.threads = options.threads;
    trial.null_space = null_space.removed();
    const auto& A = prepared->matrix();
    double first = 0;
    trial.monitor = [&first](const IterationInfo& info) {
        if (info.iteration == 0) first = info.relative_residual;
        return true;
    };
    const auto result = stretto::solve<double>(
        comm, A, preconditioner.get() ? AnyOperator<double>(preconditioner) : AnyOperator<double>(), b, x, trial);
    const double residual = result.relative_residual();
    candidate.trial = result.iterations;
    candidate.residual = residual;
    candidate.from = Expectation::From::trial;
    if (choice.parts.of_machine)
        candidate.iteration = iteration_seconds(choice.parts, candidate.step.method, preconditioner_seconds());
    else if (result.iterations > 0)
        candidate.iteration = all_max(comm, result.solve_seconds) / result.iterations;
    const double rate = first > 0 && result.iterations > 0 ? std::log(first / residual) / result.iterations : 0;
    candidate.iterations = result.converged() ? result.iterations
                           : rate > 0         ? std::max(1.0, std::log(first / asked.rtol) / rate)
                                              : INFINITY;
    if (!result.converged() && result.status != Status::max_iterations) candidate.ended = name(result.status);
}

std::vector<Expectation> LinearSystem::trials(MultiVector<const double> b, int iterations, double rtol) {
    auto& parts = *parts_;
    const auto& prepared = *parts.prepared;
    const double precond_seconds = parts.precond_seconds;
    std::vector<Expectation> all{parts.choice.expected};
    all.insert(all.end(), parts.choice.runners_up.begin(), parts.choice.runners_up.end());
    RowMoves::Packed packed;
    std::vector<double> of(b.values().begin(), b.values().end());
    const Index rows = prepared.matrix().local_rows();
    of.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(b.columns()));
    prepared.forward(b.values(), b.columns(), of, packed);
    if (parts.negated)
        for (double& value : of) value = -value;
    SolveOptions options;
    options.rtol = rtol;
    for (auto& each : all) {
        std::vector<double> x(of.size(), 0.0);
        parts.try_out(each, {of.data(), rows, b.columns()}, {x.data(), rows, b.columns()}, options, iterations);
    }
    Expectation chosen = parts.choice.expected;
    parts.make(chosen);
    parts.precond_seconds = precond_seconds;
    std::ranges::stable_sort(all, [](const Expectation& a, const Expectation& other) {
        return std::pair(!a.ended.empty(), a.seconds()) < std::pair(!other.ended.empty(), other.seconds());
    });
    return all;
}

}  // namespace stretto
