// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "systems.hpp"

using namespace stretto;

namespace {

/// Convection around the middle of the unit square, by central differences, scaled to a diagonal of one: the residual
/// of BiCGStab wanders for thousands of iterations.
CsrMatrix<double> vortex(Comm& comm, Global side, double peclet) {
    const double h = 1.0 / static_cast<double>(side + 1);
    return matrix(comm, side * side, [=](Global row, Global column) {
        const Global i = row % side, j = row / side, right = column % side - i, up = column / side - j;
        const double x = static_cast<double>(i + 1) * h, y = static_cast<double>(j + 1) * h;
        if (std::abs(right) + std::abs(up) > 1) return 0.0;
        if (row == column) return 1.0;
        const double wind = right != 0 ? 4 * (2 * y - 1) * x * (1 - x) : -4 * (2 * x - 1) * y * (1 - y);
        return -0.25 + static_cast<double>(right + up) * peclet * h * wind / 8;
    });
}

struct LongSolves : testing::Test {
    MpiComm comm;

    Result run(const CsrMatrix<double>& A, const std::string& method, double rtol, int columns = 3) {
        Values b(A, columns, [](Global row, int j) { return uniform(1, row, j); }), x(A, columns);
        SolveOptions o;
        o.method = method;
        o.rtol = rtol;
        const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
        const auto residuals = true_residuals(A, b, x);
        for (std::size_t j = 0; j < residuals.size(); ++j) {
            if (result.columns[j].status != Status::converged) continue;
            EXPECT_LE(residuals[j], rtol * (1 + 1e-6)) << method;
        }
        return result;
    }
};

struct BiCGStab : LongSolves, testing::WithParamInterface<const char*> {};

TEST_P(BiCGStab, ConvergesAfterLongWandering) {
    const auto result = run(vortex(comm, 40, 700), GetParam(), 1e-8);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_GT(result.iterations, 1000);
}

TEST_P(BiCGStab, SaysThatItGaveUpAndWhatWaitsLonger) {
    const auto result = run(vortex(comm, 40, 1000), std::string(GetParam()) + ":patience=100", 1e-8, 1);
    EXPECT_EQ(result.status, Status::gave_up);
    EXPECT_TRUE(std::ranges::any_of(result.events, [](const Event& event) {
        return event.text.find("(patience=100; a larger one waits longer)") != std::string::npos;
    }));
}

INSTANTIATE_TEST_SUITE_P(Methods, BiCGStab,
                         testing::Values("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab"));

TEST_F(LongSolves, MinresWaitsForAPlateau) {
    EXPECT_EQ(run(problem(comm, "jump2d:32,contrast=1e8"), "minres", 1e-8, 1).status, Status::converged);
}

// At the end of double precision nothing waits for its patience to run out.
TEST_F(LongSolves, TheEndOfDoublePrecisionIsNoticedSoon) {
    for (const auto* method : {"pipelined_cg", "pipelined_bicgstab"}) {
        const auto result = run(problem(comm, "poisson2d:60"), method, 1e-17, 1);
        EXPECT_EQ(result.status, Status::stagnated) << method;
        EXPECT_LT(result.iterations, 3000) << method;
    }
}

}  // namespace
