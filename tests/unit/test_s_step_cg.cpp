// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "stretto/io/matrix_market.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

struct SStepCg : Solves {
    /// Wherever cg converges, so do blocks of every size, in at most `most` times as many iterations.
    void compare_with_cg(const CsrMatrix<double>& A, Values& b, const std::string& what, bool jacobi, double most,
                         std::initializer_list<double> tolerances = {1e-6, 1e-8, 1e-10, 1e-12}) {
        for (const double rtol : tolerances) {
            Values x(A, 1);
            const auto cg = run(A, b, x, "cg", rtol, jacobi);
            // Where CG takes many times the size of the system, its last bits decide how many.
            if (!cg.converged() || cg.iterations > 20 * A.rows()) continue;
            for (const int s : {1, 2, 3, 4, 5, 6}) {
                Values y(A, 1);
                const auto result = run(A, b, y, fmt::format("s_step_cg:s={}", s), rtol, jacobi);
                const auto text = fmt::format("{}, s={}, {}, jacobi {}", what, s, rtol, jacobi);
                EXPECT_EQ(result.status, Status::converged) << text;
                EXPECT_LE(result.iterations, most * cg.iterations + 2) << text;
            }
        }
    }
};

std::int64_t reductions(const Result& result) {
    std::int64_t all = 0;
    for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard})
        all += result.ledger.at(phase).reductions;
    return all;
}

TEST_F(SStepCg, TakesTheIterationsOfCgAndAReductionForSOfThem) {
    for (const auto* spec : {"poisson2d:40", "poisson3d:12", "jump2d:31x17,contrast=100", "aniso2d:37,epsilon=0.01"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values), x(A, 1);
        for (const double rtol : {1e-6, 1e-10}) {
            Values z(A, 1);
            const auto cg = run(A, b, z, "cg", rtol, true);
            for (const int s : {1, 2, 3, 4, 5, 6}) {
                Values y(A, 1);
                const auto result = run(A, b, y, without_safeguards(fmt::format("s_step_cg:s={}", s), 2), rtol, true);
                EXPECT_EQ(result.status, Status::converged);
                EXPECT_NEAR(result.iterations, cg.iterations, 1 + 0.03 * cg.iterations) << spec << " s=" << s;
                // x that was reached in the midst of a block is taken, so no more products than to the end of one.
                const int blocks = (result.iterations + s - 1) / s;
                EXPECT_EQ(result.ledger.at(Phase::iteration).reductions, blocks) << spec << " s=" << s;
                EXPECT_EQ(result.ledger.at(Phase::iteration).applies, blocks * s) << spec << " s=" << s;
            }
        }
    }
}

TEST_F(SStepCg, WholeSolvesHaveFewReductions) {
    for (const auto* spec : {"poisson2d:60", "jump2d:50,contrast=100", "aniso2d:60,epsilon=1e-3"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values);
        for (const double rtol : {1e-8, 1e-12}) {
            Values x(A, 1);
            const auto result = run(A, b, x, "s_step_cg:s=4", rtol, true);
            EXPECT_EQ(result.status, Status::converged);
            EXPECT_LE(reductions(result), 0.3 * result.iterations + 4) << spec << ' ' << rtol;
        }
    }
}

TEST_F(SStepCg, ToleratesAWrongLargestEigenvalue) {
    const auto A = problem(comm, "aniso2d:40,epsilon=0.01");
    Values b(A, 1, random_values), x(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-10, true);
    for (const int s : {2, 4, 6})
        for (const double lmax : {1.0, 1.6, 3.0, 4.0}) {
            Values y(A, 1);
            const auto result = run(A, b, y, fmt::format("s_step_cg:s={},lmax={}", s, lmax), 1e-10, true);
            EXPECT_EQ(result.status, Status::converged);
            EXPECT_NEAR(result.iterations, cg.iterations, 1 + 0.03 * cg.iterations) << s << ' ' << lmax;
        }
}

TEST_F(SStepCg, HardSystems) {
    for (const auto* spec : {"jump2d:24,contrast=100", "jump2d:24,contrast=1e4", "aniso2d:30,epsilon=1e-3",
                             "poisson3d:10", "poisson3d27:10", "diagonal:poisson2d,20"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values);
        compare_with_cg(A, b, spec, true, 1.1);
        compare_with_cg(A, b, spec, false, 1.8);  // where nothing scales the matrix
    }
}

TEST_F(SStepCg, RealMatrices) {
    const auto compare = [&](const CsrMatrix<double>& A, Values& b, const std::string& name) {
        compare_with_cg(A, b, name, true, 1.4, {1e-6, 1e-8, 1e-10});
        compare_with_cg(A, b, name, true, 1.4, {1e-12});  // next to what double precision attains
        compare_with_cg(A, b, name, false, 2, {1e-6, 1e-8, 1e-10});
        compare_with_cg(A, b, name, false, 3, {1e-12});
    };
    if (!each_real_spd_matrix(comm, compare)) GTEST_SKIP() << no_matrices;
}

// Diagonals over six decades: ten powers of them are dependent in double precision.
TEST_F(SStepCg, ShortensBlocksWhereTheyAreDependent) {
    const auto A = matrix(
        comm, 100, [](Global i, Global j) { return i == j ? std::pow(10.0, 0.06 * static_cast<double>(i)) : 0.0; });
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-6);
    const auto result = run(A, b, y, "s_step_cg:s=10", 1e-6);
    EXPECT_EQ(result.status, cg.status);
    EXPECT_TRUE(tells(result, "a block was dependent: going on with s="));
}

// A row that couples with none has nearly all of b: the first block has one direction, and later ones their length.
TEST_F(SStepCg, OneCutBlockDoesNotShortenTheNext) {
    const auto A = matrix(comm, 400, [](Global i, Global j) {
        return i == j ? 2.01 : i > 0 && j > 0 && std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    Values b(A, 1, [](Global i, int) { return i == 0 ? 1e6 : uniform(7, i, 0); }), x(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-12);
    for (const char* const method : {"s_step_cg:s=6", "pipelined_s_step_cg:s=6"}) {
        Values y(A, 1);
        const auto result = run(A, b, y, method, 1e-12);
        EXPECT_TRUE(result.converged()) << method;
        EXPECT_LE(result.iterations, 1.1 * cg.iterations + 6) << method;
        EXPECT_LE(3 * reductions(result), result.iterations) << method;
    }
}

TEST_F(SStepCg, ColumnsEndInBlocksOfTheirOwn) {
    constexpr int columns = 7;
    const auto A = problem(comm, "poisson2d:33x29");
    // The jth has as many eigenvectors as leave it with about j + 1 iterations; the last has them all.
    const auto values = [](Global row, int j) {
        if (j == columns - 1) return uniform(5, row, 0);
        double sum = 0;
        for (int k = 1; k <= j + 1; ++k)
            sum += std::sin(k * (row % 29 + 1) * M_PI / 30) * std::sin(2 * k * (row / 29 + 1) * M_PI / 34);
        return sum;
    };
    Values b(A, columns, values);
    for (const int s : {2, 3, 4, 6}) {
        Values x(A, columns);
        const auto together = run(A, b, x, fmt::format("s_step_cg:s={}", s), 1e-9);
        for (int j = 0; j < columns; ++j) {
            Values bj(A, 1, [&](Global row, int) { return values(row, j); }), xj(A, 1);
            const auto alone = run(A, bj, xj, "cg", 1e-9);
            const auto& column = together.columns[static_cast<std::size_t>(j)];
            EXPECT_EQ(column.status, Status::converged) << "column " << j;
            EXPECT_NEAR(column.iterations, alone.iterations, 1 + 0.05 * alone.iterations) << "column " << j;
        }
        for (const double value : x.data()) EXPECT_TRUE(std::isfinite(value));
    }
}

TEST_F(SStepCg, IterationLimitsAreKept) { expect_limits_kept("s_step_cg:s=4"); }

TEST_F(SStepCg, IsTheRefugeOfPipelines) {
    const auto A = problem(comm, "jump2d:24,contrast=1e4");
    Values b(A, 2, random_values), x(A, 2), y(A, 2);
    const auto cg = run(A, b, x, "cg", 1e-8, true);
    const auto result = run(A, b, y, "deep_pipelined_cg:l=5,gap=0,again=0,refuge=s_step_cg", 1e-8, true);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(result.finished_by, "s_step_cg");
    EXPECT_LE(result.iterations, 1.2 * cg.iterations);
}

}  // namespace
