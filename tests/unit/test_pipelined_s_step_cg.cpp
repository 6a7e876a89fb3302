// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

struct PipelinedSStepCg : Solves {};

TEST_F(PipelinedSStepCg, TakesTheIterationsOfCgAndHidesAReductionForSOfThem) {
    for (const auto* spec : {"poisson2d:40", "poisson3d:12", "jump2d:31x17,contrast=100", "aniso2d:37,epsilon=0.01"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values);
        for (const bool jacobi : {false, true}) {
            if (!jacobi && !std::string(spec).starts_with("poisson")) continue;  // needs its safeguards
            Values z(A, 1);
            const auto cg = run(A, b, z, "cg", 1e-8, jacobi);
            for (const auto& [s, l] : {std::pair{1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}, {4, 2}, {6, 1}}) {
                Values y(A, 1);
                const auto spec_sl =
                    fmt::format("pipelined_s_step_cg:s={},l={},lmax={},check=0,loss=1,drift=1", s, l, jacobi ? 2 : 0);
                const auto text = fmt::format("{}, s={}, l={}, jacobi {}", spec, s, l, jacobi);
                const auto result = run(A, b, y, spec_sl, 1e-8, jacobi);
                EXPECT_EQ(result.status, Status::converged) << text;
                EXPECT_NEAR(result.iterations, cg.iterations, 1 + 0.03 * cg.iterations) << text;
                const auto& counts = result.ledger.at(Phase::iteration);
                const int blocks = (result.iterations + s - 1) / s;
                EXPECT_EQ(counts.reductions, blocks) << text;
                EXPECT_EQ(counts.hidden_reductions, blocks) << text;
                EXPECT_EQ(counts.applies, blocks * s) << text;
                EXPECT_LE(distance(comm, y, z), 1e-6 * 40) << text;
            }
        }
    }
}

TEST_F(PipelinedSStepCg, SolvesAsADenseSolveDoes) {
    const auto A = matrix(comm, 37, [](Global i, Global j) {
        return (i == j ? 3.0 : 0.0) + 1.0 / static_cast<double>(1 + (i - j) * (i - j));
    });
    Values solution(A, 3, random_values), b(A, 3);
    A.apply(solution.view(), b.view());
    for (const int s : {1, 2, 4, 6}) {
        Values x(A, 3);
        EXPECT_EQ(run(A, b, x, fmt::format("pipelined_s_step_cg:s={}", s), 1e-12).status, Status::converged);
        EXPECT_LE(distance(comm, x, solution), 1e-10);
    }
}

// The bound is far too low, or too high: the interval is stretched, in which no product is lost.
TEST_F(PipelinedSStepCg, ToleratesAWrongLargestEigenvalue) {
    const auto A = problem(comm, "aniso2d:40,epsilon=0.01");
    Values b(A, 1, random_values), x(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-10, true);
    for (const auto& [s, l] : {std::pair{2, 1}, {4, 1}, {4, 2}})
        for (const double lmax : {0.5, 1.0, 1.6, 3.0}) {
            Values y(A, 1);
            const auto method = fmt::format("pipelined_s_step_cg:s={},l={},lmax={},check=0", s, l, lmax);
            const auto result = run(A, b, y, method, 1e-10, true);
            EXPECT_EQ(result.status, Status::converged);
            EXPECT_NEAR(result.iterations, cg.iterations, 1 + 0.05 * cg.iterations) << s << ' ' << l << ' ' << lmax;
            EXPECT_LE(result.ledger.at(Phase::safeguard).applies, 2) << s << ' ' << l << ' ' << lmax;
        }
}

TEST_F(PipelinedSStepCg, HardSystems) {
    for (const auto* spec : {"jump2d:24,contrast=100", "jump2d:24,contrast=1e4", "aniso2d:30,epsilon=1e-3",
                             "poisson3d27:10", "diagonal:poisson2d,20"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values);
        for (const bool jacobi : {false, true})
            for (const double rtol : {1e-6, 1e-12}) {
                Values x(A, 1);
                const auto cg = run(A, b, x, "cg", rtol, jacobi);
                if (!cg.converged() || cg.iterations > 20 * A.rows()) continue;
                for (const auto& [s, l] : {std::pair{2, 1}, {3, 3}, {4, 1}, {6, 2}}) {
                    Values y(A, 1);
                    const auto result = run(A, b, y, fmt::format("pipelined_s_step_cg:s={},l={}", s, l), rtol, jacobi);
                    const auto text = fmt::format("{}, s={}, l={}, {}, jacobi {}", spec, s, l, rtol, jacobi);
                    EXPECT_EQ(result.status, Status::converged) << text;
                    // Six directions of a hard system are dependent in double precision here, on one processor or
                    // another.
                    EXPECT_LE(result.iterations, (jacobi ? 1.3 : 2) * cg.iterations + s) << text;
                }
            }
    }
}

TEST_F(PipelinedSStepCg, RealMatrices) {
    const auto compare = [&](const CsrMatrix<double>& A, Values& b, const std::string& name) {
        for (const bool jacobi : {false, true})
            for (const double rtol : {1e-6, 1e-8, 1e-10, 1e-12}) {
                Values x(A, 1), y(A, 1);
                const auto cg = run(A, b, x, "cg", rtol, jacobi);
                const auto result = run(A, b, y, "pipelined_s_step_cg", rtol, jacobi);
                EXPECT_EQ(result.status, cg.status) << name << ' ' << rtol;
                if (jacobi && rtol > 1e-12) {  // the nearer to rounding, the more its last bits decide
                    EXPECT_LE(result.iterations, (rtol > 1e-9 ? 1.3 : 1.8) * cg.iterations + 2) << name << ' ' << rtol;
                }
            }
    };
    if (!each_real_spd_matrix(comm, compare)) GTEST_SKIP() << no_matrices;
}

TEST_F(PipelinedSStepCg, ColumnsEndInBlocksOfTheirOwn) {
    const auto A = problem(comm, "poisson2d:33x29");
    // The jth has as many eigenvectors as leave it with about j + 1 iterations; the last has them all.
    for (const int columns : {3, 4, 7}) {
        const auto values = [columns](Global row, int j) {
            if (j == columns - 1) return uniform(5, row, 0);
            double sum = 0;
            for (int k = 1; k <= j + 1; ++k)
                sum += std::sin(k * (row % 29 + 1) * M_PI / 30) * std::sin(2 * k * (row / 29 + 1) * M_PI / 34);
            return sum;
        };
        Values b(A, columns, values);
        for (const int s : {2, 4}) {
            Values x(A, columns);
            const auto together = run(A, b, x, fmt::format("pipelined_s_step_cg:s={}", s), 1e-9);
            for (int j = 0; j < columns; ++j) {
                Values bj(A, 1, [&](Global row, int) { return values(row, j); }), xj(A, 1);
                const auto alone = run(A, bj, xj, "cg", 1e-9);
                const auto& column = together.columns[static_cast<std::size_t>(j)];
                EXPECT_EQ(column.status, Status::converged) << "column " << j;
                EXPECT_NEAR(column.iterations, alone.iterations, 1 + 0.05 * alone.iterations) << "column " << j;
            }
        }
    }
}

// b has three eigenvectors, so that a block of four is dependent; and there are ranks without rows.
TEST_F(PipelinedSStepCg, GoesOnWhereABlockIsDependent) {
    for (const Global n : {3, 50}) {
        const auto A =
            matrix(comm, n, [](Global i, Global j) { return i == j ? 1.0 + static_cast<double>(i % 3) * 2 : 0.0; });
        for (const int columns : {1, 3}) {
            Values b(A, columns, random_values), x(A, columns);
            const auto result = run(A, b, x, "pipelined_s_step_cg", 1e-10);
            EXPECT_EQ(result.status, Status::converged);
            EXPECT_LE(result.iterations, 6);
        }
    }
}

TEST_F(PipelinedSStepCg, RecomputesOrHandsOverWhereTheBasisDrifts) {
    const auto A = problem(comm, "aniso2d:60,epsilon=1e-3");
    Values b(A, 2, random_values), x(A, 2), y(A, 2), z(A, 2);
    const auto cg = run(A, b, x, "cg", 1e-8, true);
    const auto once = run(A, b, y, "pipelined_s_step_cg:s=2,drift=1e-12", 1e-8, true);
    EXPECT_EQ(once.status, Status::converged);
    EXPECT_TRUE(tells(once, "all recomputed"));
    EXPECT_LE(once.iterations, 1.05 * cg.iterations);
    const auto at_once = run(A, b, z, "pipelined_s_step_cg:drift=0", 1e-8, true);
    EXPECT_EQ(at_once.status, Status::converged);
    EXPECT_TRUE(tells(at_once, "going on with s_step_cg"));
    EXPECT_LE(at_once.iterations, 1.1 * cg.iterations + 4);
}

TEST_F(PipelinedSStepCg, RefusesWhatIsNotDefinite) {
    const auto A = matrix(comm, 20, [](Global i, Global j) { return i == j ? (i == 7 ? -1.0 : 1.0 + 0.1 * i) : 0.0; });
    Values b(A, 1, random_values), x(A, 1);
    EXPECT_EQ(run(A, b, x, "pipelined_s_step_cg", 1e-10).status, Status::indefinite_matrix);
}

TEST_F(PipelinedSStepCg, IterationLimitsAreKept) { expect_limits_kept("pipelined_s_step_cg:s=4"); }

}  // namespace
