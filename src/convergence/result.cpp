// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/convergence/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stretto {

std::string_view name(Status status) {
    switch (status) {
        case Status::converged: return "converged";
        case Status::max_iterations: return "max_iterations";
        case Status::stagnated: return "stagnated";
        case Status::breakdown: return "breakdown";
        case Status::indefinite_matrix: return "indefinite_matrix";
        case Status::indefinite_preconditioner: return "indefinite_preconditioner";
        case Status::not_finite: return "not_finite";
        case Status::interrupted: return "interrupted";
    }
    return "unknown";
}

int petsc_reason(Status status) {
    switch (status) {
        case Status::converged: return 2;
        case Status::max_iterations: return -3;
        case Status::stagnated: return -5;
        case Status::breakdown: return -5;
        case Status::indefinite_matrix: return -10;
        case Status::indefinite_preconditioner: return -8;
        case Status::not_finite: return -9;
        case Status::interrupted: return -3;
    }
    return 0;
}

int scipy_info(Status status, int iterations) {
    switch (status) {
        case Status::converged: return 0;
        case Status::breakdown:
        case Status::indefinite_matrix:
        case Status::indefinite_preconditioner:
        case Status::not_finite: return -10;
        default: return std::max(iterations, 1);
    }
}

PerIteration::PerIteration(const Counts& counts, int iterations) {
    if (iterations == 0) return;
    const auto mean = [&](auto total) { return static_cast<double>(total) / iterations; };
    applies = mean(counts.applies);
    preconditionings = mean(counts.preconditionings);
    reductions = mean(counts.reductions);
    hidden_reductions = mean(counts.hidden_reductions);
    vector_reads = mean(counts.vectors.reads);
    vector_writes = mean(counts.vectors.writes);
    bytes = mean(counts.bytes);
    if (counts.reductions > 0) hidden_fraction = counts.hidden / static_cast<double>(counts.reductions);
    lost = mean(counts.lost);
    std::ranges::transform(counts.seconds, seconds.begin(), mean);
}

std::string to_string(const Event& event) {
    const std::string when = event.last > event.iteration
                                 ? fmt::format("iterations {} to {}", event.iteration, event.last)
                                 : fmt::format("iteration {}", event.iteration);
    return fmt::format("{}: {}{}", when, event.text, event.times > 1 ? fmt::format(", {} times", event.times) : "");
}

double Result::relative_residual() const {
    double largest = 0;
    for (const auto& column : columns) {
        if (std::isnan(column.relative_residual)) return column.relative_residual;
        largest = std::max(largest, column.relative_residual);
    }
    return largest;
}

}  // namespace stretto
