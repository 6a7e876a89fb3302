// SPDX-License-Identifier: BSD-3-Clause
#include "in_words.hpp"

#include <cmath>
#include <string_view>

namespace stretto {
namespace {

std::string_view reason(Status status) {
    switch (status) {
        case Status::indefinite_matrix: return "pᵀAp ≤ 0";
        case Status::indefinite_preconditioner: return "rᵀM⁻¹r ≤ 0";
        case Status::not_finite: return "NaN or Inf";
        default: return "a denominator vanished or nearly so";
    }
}

}  // namespace

std::string end_of_run(const Columns::Column& run, double residual, const Options& options) {
    const std::string true_one =
        std::isfinite(residual) ? fmt::format("the true residual is {:.2e}", residual) : "x is not finite";
    switch (run.state) {
        case Columns::State::passed:
            return fmt::format("the recursive residual passed at {:.2e}, {}", run.recursive / run.norm_b, true_one);
        case Columns::State::attained: return fmt::format("recomputing the residual gains nothing, {}", true_one);
        case Columns::State::broken: return fmt::format("{}, {}", reason(run.reason), true_one);
        case Columns::State::handed_over: return fmt::format("the basis has drifted, {}", true_one);
        case Columns::State::stalled:
            if (run.idle == 2)
                return fmt::format(
                    "gave up: two restarts gained nothing (m={}: a larger m or a better preconditioner may gain), {}",
                    options.number("m"), true_one);
            return fmt::format(
                "gave up: the residual has not halved since iteration {} (patience={}; a larger one waits longer), {}",
                run.marked_at, options.number("patience"), true_one);
        default: return {};
    }
}

std::string of_column(int j, int columns) { return columns > 1 ? fmt::format("column {}: ", j + 1) : ""; }

}  // namespace stretto
