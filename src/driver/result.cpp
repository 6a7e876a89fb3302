// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/driver/result.hpp"

#include <algorithm>
#include <cmath>

namespace stretto {

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

std::string NextStep::options() const {
    std::string text = "--method " + method + " --precond " + precond;
    if (!prepare.empty()) text += " --prepare " + prepare;
    if (!more.empty()) text += " " + more;
    return text;
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
