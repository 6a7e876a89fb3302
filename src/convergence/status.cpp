// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/convergence/status.hpp"

#include <algorithm>

namespace stretto {

std::string_view name(Status status) {
    switch (status) {
        case Status::converged: return "converged";
        case Status::passed_unverified: return "passed_unverified";
        case Status::least_squares: return "least_squares";
        case Status::max_iterations: return "max_iterations";
        case Status::stagnated: return "stagnated";
        case Status::gave_up: return "gave_up";
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
        case Status::converged:
        case Status::passed_unverified: return 2;
        case Status::least_squares: return 1;
        case Status::max_iterations:
        case Status::gave_up: return -3;
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
        case Status::converged:
        case Status::passed_unverified: return 0;
        case Status::breakdown:
        case Status::indefinite_matrix:
        case Status::indefinite_preconditioner:
        case Status::not_finite: return -10;
        default: return std::max(iterations, 1);
    }
}

}  // namespace stretto
