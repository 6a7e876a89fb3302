// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How columns and solves end, and what is said of it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver.hpp"
#include "in_words.hpp"

namespace stretto {
namespace {

/// Which of the columns' statuses is that of all: the first of the worst.
int severity(Status status) {
    if (status == Status::converged) return 0;
    if (status == Status::passed_unverified) return 1;
    return status == Status::least_squares ? 2 : 3;
}

}  // namespace

template <class T>
PerIteration Driver<T>::per_iteration() const {
    const int steady = recorder_.steady_iterations();
    if (steady == 0)
        return PerIteration(V_.ledger().at(Phase::iteration), columns_.iteration() - result_.resumed_after);
    PerIteration result(recorder_.steady(), steady);
    result.wall = recorder_.steady_seconds() / steady;
    return result;
}

/// Says how a run ended that did not end in convergence.
template <class T>
void Driver<T>::explain(int j, const Columns::Column& run) {
    const std::string text = end_of_run(run, at(j).last / run.norm_b, method_options_);
    const int when = run.state == State::passed ? columns_.iteration() : run.ended_at;
    if (!text.empty()) recorder_.event(when, of_column(j, V_.width()) + text);
}

template <class T>
void Driver<T>::end(int j, Status status) {
    at(j).finished = true;
    const auto& run = columns_[j];
    result_of(j).status = status;
    result_of(j).iterations = (run.state == State::active ? columns_.iteration() : run.ended_at) - run.waited;
}

template <class T>
const Result& Driver<T>::finish() {
    for (int j = 0; j < V_.width(); ++j)
        if (!at(j).finished) end(j, interrupted() ? Status::interrupted : Status::max_iterations);
    result_.iterations = columns_.iteration();
    result_.status = Status::converged;
    for (int j = 0; j < V_.width(); ++j) {
        if (at(j).last > at(j).residual) restore_best(j);
        auto& column = result_of(j);
        const auto& run = columns_[j];
        const double residual = at(j).residual;
        column.relative_residual = std::isfinite(residual) ? std::hypot(residual, at(j).outside) / run.norm_b : NAN;
        column.projected_residual = residual / at(j).norm;
        column.recursive_residual = run.recursive / run.norm_b;
        if (severity(column.status) > severity(result_.status)) result_.status = column.status;
    }
    if (result_.status == Status::least_squares)
        recorder_.event(
            fmt::format("a least-squares solution: of the part of b in the range of A, {:.2e} is left",
                        std::ranges::max(result_.columns, {}, &ColumnResult::projected_residual).projected_residual));
    result_.parts = recorder_.parts();
    std::swap(result_.events, recorder_.events());
    std::swap(result_.history, recorder_.history());
    std::swap(result_.true_history, recorder_.true_history());
    result_.finished_by = method_->name;
    V_.ledger().trace_to(nullptr);
    result_.ledger = V_.ledger();
    result_.per_iteration = fell_back_ ? per_iteration_ : per_iteration();
    return result_;
}

}  // namespace stretto
