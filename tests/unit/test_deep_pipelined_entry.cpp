// SPDX-License-Identifier: BSD-3-Clause
// Columns that leave a deep pipeline and enter it again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

std::string deep(int l, const std::string& more = "") { return "deep_pipelined_cg:l=" + std::to_string(l) + more; }

struct DeepPipelinedEntry : Solves {};

// No difference between the recursive and the true residual is borne, so columns leave at each check.
TEST_F(DeepPipelinedEntry, AtEveryIteration) {
    const auto A = problem(comm, "jump2d:20,contrast=100");
    for (const bool jacobi : {false, true}) {
        Values b(A, 1, random_values), x(A, 1);
        const auto cg = run(A, b, x, "cg", 1e-8, jacobi);
        for (const int l : {1, 2, 3, 5})
            for (int check = 1; check < 40; check += check < 8 ? 1 : 5) {
                Values y(A, 1);
                const auto result = run(A, b, y, deep(l, ",gap=0,check=" + std::to_string(check)), 1e-8, jacobi);
                EXPECT_EQ(result.status, Status::converged) << l << ' ' << check;
                EXPECT_TRUE(tells(result, "leaving the pipeline")) << l << ' ' << check;
                EXPECT_NEAR(result.iterations, cg.iterations, 2 + 0.1 * cg.iterations)
                    << l << ", check " << check << ", jacobi " << jacobi;
            }
    }
}

// All enter again when one has to: each column takes the iterations that it takes alone.
TEST_F(DeepPipelinedEntry, OfColumnsThatLeaveAtDifferentTimes) {
    // Isolated eigenvalues, of which each column has another number, and so its own time to drift.
    const auto A = matrix(comm, 300, [](Global i, Global j) {
        return i != j ? 0.0 : i < 4 ? 3.0 + static_cast<double>(i) : 1e-2 + static_cast<double>(i) / 300;
    });
    const auto value = [](Global row, int j) { return row < 4 && row >= j ? 0.0 : uniform(1, row, j); };
    for (const int m : {3, 4})
        for (const int l : {2, 3}) {
            Values b(A, m, value), x(A, m);
            const auto result = run(A, b, x, deep(l, ",lmax=1.2"), 1e-10);
            EXPECT_EQ(result.status, Status::converged);
            EXPECT_TRUE(tells(result, "leaving the pipeline"));
            for (int j = 0; j < m; ++j) {
                Values bj(A, 1, [&](Global row, int) { return value(row, j); }), xj(A, 1);
                const auto cg = run(A, bj, xj, "cg", 1e-10);
                EXPECT_NEAR(result.columns[static_cast<std::size_t>(j)].iterations, cg.iterations,
                            2 + 0.1 * cg.iterations)
                    << "column " << j << " of " << m << ", l = " << l;
            }
        }
}

TEST_F(DeepPipelinedEntry, MendsAWrongInterval) {
    const auto A = problem(comm, "poisson2d:40");
    Values b(A, 1, random_values), x(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-10);
    for (const int l : {1, 2, 3})
        for (const std::string interval : {",lmax=0.1", ",lmax=4", ",lmax=800"}) {
            Values y(A, 1);
            const auto result = run(A, b, y, deep(l, interval), 1e-10);
            EXPECT_EQ(result.status, Status::converged) << l << interval;
            EXPECT_LE(result.iterations, 1.1 * cg.iterations + 1) << l << interval;
        }
}

// Isolated eigenvalues at the upper end, between which the shifts of deep pipelines lie.
TEST_F(DeepPipelinedEntry, LowersTheDepthWhereLivesAreShort) {
    const auto A = matrix(comm, 500, [](Global i, Global j) {
        return i != j ? 0.0 : i < 6 ? 2.0 + 0.3 * static_cast<double>(i) : 1e-3 + static_cast<double>(i) / 500;
    });
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-10);
    const auto result = run(A, b, y, deep(5), 1e-10);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_TRUE(tells(result, "enter it again with l=4"));
    EXPECT_LE(result.iterations, 1.1 * cg.iterations + 1);
    Values z(A, 1);
    EXPECT_FALSE(tells(run(A, b, z, deep(1), 1e-10), "with l=2"));  // never deeper than asked
}

TEST_F(DeepPipelinedEntry, BlocksNoReductionButTheFirstAndTheLast) {
    const auto A = problem(comm, "poisson2d:50");
    for (const bool jacobi : {false, true})
        for (const int l : {1, 2, 3})
            for (const std::string more : {"", ",check=40,gap=0"}) {
                Values b(A, 2, random_values), x(A, 2);
                const auto result = run(A, b, x, deep(l, more), 1e-8, jacobi);
                EXPECT_EQ(result.status, Status::converged);
                EXPECT_EQ(result.finished_by, "deep_pipelined_cg");
                EXPECT_EQ(tells(result, "leaving the pipeline"), !more.empty());
                // ‖b‖, the verification, what tells ‖r‖ from the natural norm where a column is about to pass, and a
                // check that is dropped at the end.
                EXPECT_LE(blocking_reductions(result), jacobi ? 6 : 4) << l << more;
            }
}

TEST_F(DeepPipelinedEntry, AgainIsHowOften) {
    const auto A = problem(comm, "jump2d:24,contrast=1e4");
    for (const int again : {0, 1, 3}) {
        Values b(A, 1, random_values), x(A, 1);
        const auto result = run(A, b, x, deep(2, ",gap=0,check=30,again=" + std::to_string(again)), 1e-8);
        EXPECT_EQ(result.status, Status::converged);
        EXPECT_EQ(result.finished_by, "predict_and_recompute_cg");
        int left = 0;
        for (const auto& event : result.events)
            if (event.text.find("leaving the pipeline") == 0) left += event.times;
        EXPECT_EQ(left, again);
    }
}

TEST_F(DeepPipelinedEntry, ASecondSolveIsTheFirst) {
    const auto A = problem(comm, "poisson2d:30");
    SolveOptions o;
    o.method = deep(3, ",gap=0,check=25");
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 3, o);
    Values b(A, 3, random_values), x(A, 3), y(A, 3);
    const auto first = solver.solve(b.view(), x.view());
    solver.forget();
    const auto second = solver.solve(b.view(), y.view());
    EXPECT_TRUE(first.converged());
    EXPECT_EQ(first.iterations, second.iterations);
    EXPECT_EQ(x.data(), y.data());
}

}  // namespace
