// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <numbers>

#include "allocations.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

/// Every test here runs for every method of the family, the deep one at several depths, without and with Jacobi.
struct CgFamily : testing::TestWithParam<std::tuple<const char*, bool>> {
    MpiComm comm;
    const std::string method = std::get<0>(GetParam());
    const bool jacobi = std::get<1>(GetParam());

    Result run(const CsrMatrix<double>& A, Values& b, Values& x, const std::string& spec, double rtol = 1e-10) {
        return solved(comm, A, b, x, spec, rtol, jacobi);
    }
};

TEST_P(CgFamily, TheScaleOfTheRightHandSideDoesNotMatter) {
    const auto A = problem(comm, "jump2d:20,contrast=100");
    int first = 0;
    for (const double scale : {1.0, 0x1p-27, 0x1p27}) {  // powers of two, so that rounding is the same
        Values b(A, 1, [&](Global row, int) { return scale * uniform(1, row); }), x(A, 1);
        const auto result = run(A, b, x, method);
        EXPECT_EQ(result.status, Status::converged) << scale;
        if (first == 0) first = result.iterations;
        EXPECT_EQ(result.iterations, first) << scale;
    }
}

TEST_P(CgFamily, StartsFromWhatItIsGiven) {
    const auto A = problem(comm, "jump2d:20,contrast=100");
    const auto solution = [](Global row, int) { return 1e8 * uniform(3, row); };
    Values exact(A, 1, solution), b(A, 1), zero(A, 1);
    A.apply(exact.view(), b.view());
    const auto from_zero = run(A, b, zero, method);
    EXPECT_EQ(from_zero.status, Status::converged);
    Values far(A, 1, [](Global row, int) { return 1e10 * uniform(2, row); });
    EXPECT_EQ(run(A, b, far, method).status, Status::converged);
    Values near(A, 1, [&](Global row, int j) { return solution(row, j) + 10 * uniform(2, row); });
    const auto from_near = run(A, b, near, method);
    EXPECT_EQ(from_near.status, Status::converged);
    EXPECT_LT(from_near.iterations, from_zero.iterations);
}

// b in one eigenvector, or three: CG is done after as many iterations, and the Lanczos process ends there.
TEST_P(CgFamily, EndsWhereTheKrylovSpaceDoes) {
    const int n = 15;
    const auto poisson = problem(comm, "poisson2d:15");
    const auto wave = [](Global k, Global i) {
        return std::sin(static_cast<double>((k + 1) * (i + 1)) * std::numbers::pi / (n + 1));
    };
    const auto diagonal = matrix(comm, 60, [](Global i, Global j) { return i == j ? 1.0 + i : 0.0; });
    for (const int dimension : {1, 3}) {
        Values b(poisson, 1, [&](Global row, int) {
            double sum = 0;
            for (int k = 0; k < dimension; ++k) sum += wave(6 * k, row % n) * wave(4 * k, row / n);
            return sum;
        });
        Values x(poisson, 1);
        auto result = run(poisson, b, x, method);
        EXPECT_EQ(result.status, Status::converged) << dimension;
        EXPECT_LE(result.iterations, dimension + 1) << dimension;
        Values c(diagonal, 1, [&](Global row, int) { return row % 20 == 7 && row / 20 < dimension ? 1.0 : 0.0; });
        Values y(diagonal, 1);
        result = run(diagonal, c, y, method);
        EXPECT_EQ(result.status, Status::converged) << dimension;
        EXPECT_LE(result.iterations, dimension + 1) << dimension;
    }
}

TEST_P(CgFamily, HugeConditionNumbersAreSolvedWhereCgSolvesThem) {
    if (comm.size() > 2) GTEST_SKIP() << "so many iterations take minutes where ranks share a core";
    for (const double kappa : {1e4, 1e6, 1e8, 1e10})
        for (const double rtol : {1e-6, 1e-10}) {
            // Blocks of an eigenvalue each from either end, so that Jacobi leaves something to do.
            const auto A = matrix(comm, 40, [&](Global i, Global j) {
                const auto value = [&](Global k) { return std::pow(kappa, -static_cast<double>(k) / 39); };
                if (i / 2 != j / 2) return 0.0;
                const double a = value(i / 2), b = value(39 - i / 2);  // rotated by 45 degrees
                return i == j ? (a + b) / 2 : (a - b) / 2;
            });
            Values b(A, 1, [](Global row, int) { return uniform(5, row); }), x(A, 1), y(A, 1);
            if (!run(A, b, x, "cg", rtol).converged()) {
                EXPECT_TRUE(kappa > 1e6 && rtol < 1e-6) << "cg itself, " << kappa;
                continue;
            }
            // What hides its reductions may stand still here, as rounding errors have it, until it gives up; so may the
            // refuge of deep pipelines, which hides its own.
            std::string spec = method + (method.find(':') == std::string::npos ? ":" : ",") + "patience=2000";
            if (kappa > 1e9 && method.starts_with("deep_pipelined_cg")) spec += ",refuge=cg";
            const auto result = run(A, b, y, spec, rtol);
            // Rounding of x alone makes a residual of this size, for some orders of the sums above the tolerance.
            const bool edge = result.relative_residual() < 2e-16 * kappa;
            EXPECT_TRUE(result.converged() || edge) << kappa << ' ' << rtol << ' ' << name(result.status);
        }
}

TEST_P(CgFamily, ColumnsOfVeryDifferentDifficulty) {
    constexpr int columns = 8, n = 200;
    const auto A = matrix(comm, n, [&](Global i, Global j) {  // the spectrum of poisson1d, from 2e-4 to 4, and κ = 1e4
        return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    const auto wave = [](int k, Global i) {
        return std::sin(static_cast<double>(k * (i + 1)) * std::numbers::pi / (n + 1));
    };
    const auto values = [&](Global row, int j) {
        switch (j) {
            case 0: return wave(3, row);                                              // one eigenvector
            case 1: return wave(1, row) + wave(50, row) + wave(200, row);             // three
            case 2: return uniform(1, row);                                           // all of them
            case 3: return 0.0;                                                       // none
            case 4: return 1e8 * uniform(2, row);                                     // large
            case 5: return row % 2 == 0 ? 1e-8 : -1e-8;                               // small, and easier
            case 6: return row == 0 ? 1.0 : 0.0;                                      // n iterations
            default: return wave(120, row) + 1e-4 * wave(130, row) + wave(140, row);  // few in the middle
        }
    };
    Values b(A, columns, values), x(A, columns);
    const auto together = run(A, b, x, method, 1e-8);
    for (int j = 0; j < columns; ++j) {
        Values bj(A, 1, [&](Global row, int) { return values(row, j); }), xj(A, 1);
        const auto alone = run(A, bj, xj, method, 1e-8);
        const auto& column = together.columns[static_cast<std::size_t>(j)];
        EXPECT_EQ(column.status, Status::converged) << "column " << j;
        EXPECT_EQ(alone.status, Status::converged) << "column " << j;
        EXPECT_NEAR(column.iterations, alone.iterations, 2 + 0.1 * alone.iterations) << "column " << j;
    }
}

TEST_P(CgFamily, IterationsAllocateNothing) {
    const auto A = problem(comm, "poisson2d:40");
    int iterations = 0;
    SolveOptions o;
    o.method = without_safeguards(method, jacobi ? 2 : 8);
    o.rtol = 1e-10;
    o.monitor = allocates_nothing(comm, iterations);
    const Jacobi M(A);
    Values b(A, 2, [](Global row, int j) { return uniform(5, row, j); }), x(A, 2);
    const auto result = jacobi ? solve<double>(comm, A, M, b.view(), x.view(), o)
                               : solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    EXPECT_TRUE(result.converged());
    EXPECT_GT(iterations, 20);
}

INSTANTIATE_TEST_SUITE_P(Methods, CgFamily,
                         testing::Combine(testing::Values("cg", "single_reduction_cg", "pipelined_cg",
                                                          "deep_pipelined_cg:l=1", "deep_pipelined_cg:l=2",
                                                          "deep_pipelined_cg:l=3", "deep_pipelined_cg:l=5",
                                                          "deep_pipelined_cg:l=10", "predict_and_recompute_cg",
                                                          "s_step_cg:s=1", "s_step_cg:s=2", "s_step_cg:s=4"),
                                          testing::Bool()),
                         [](const auto& test) {
                             std::string name = std::get<0>(test.param);
                             std::erase_if(name, [](char c) { return c == ':' || c == '='; });
                             return name + (std::get<1>(test.param) ? "_jacobi" : "");
                         });

}  // namespace
