// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>

#include "stretto/io/matrix_market.hpp"
#include "stretto/testing/counting_comm.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

struct PredictAndRecomputeCg : testing::Test {
    MpiComm comm;

    /// As many iterations as cg, or `most` times as many, at each tolerance that cg meets.
    void compare_with_cg(const CsrMatrix<double>& A, Values& b, const std::string& what, double most) {
        for (const double rtol : {1e-6, 1e-8, 1e-10, 1e-12})
            for (const bool jacobi : {false, true}) {
                Values x(A, 1), y(A, 1);
                const auto cg = solved(comm, A, b, x, "cg", rtol, jacobi);
                if (!cg.converged()) continue;
                const auto result = solved(comm, A, b, y, "predict_and_recompute_cg", rtol, jacobi);
                EXPECT_EQ(result.status, Status::converged) << what << ' ' << rtol << ' ' << jacobi;
                EXPECT_LE(result.iterations, most * cg.iterations + 2) << what << ' ' << rtol << ' ' << jacobi;
                EXPECT_LE(result.per_iteration.reductions, 1) << what;
            }
    }
};

TEST_F(PredictAndRecomputeCg, HidesItsReductionBehindTwoProducts) {
    CountingComm counting(comm);
    const auto A = problem(counting, "poisson2d:30");
    Values b(A, 1, random_values), x(A, 1);
    SolveOptions o;
    o.method = "predict_and_recompute_cg";
    const Watched watched{&A, &counting};
    const auto result = solve<double>(counting, watched, Identity{}, b.view(), x.view(), o);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(counting.most_sums_in_flight, 1);
    EXPECT_EQ(std::ranges::count(counting.work_during_sums, 2), result.iterations + 1);
}

TEST_F(PredictAndRecomputeCg, IsAsAccurateAsCg) {
    for (const auto* spec : {"jump2d:24,contrast=100", "jump2d:24,contrast=1e4", "aniso2d:50,epsilon=1e-3",
                             "poisson3d:10", "poisson3d27:10", "diagonal:poisson2d,20"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values);
        compare_with_cg(A, b, spec, 1.05);
    }
}

TEST_F(PredictAndRecomputeCg, RealMatricesToo) {
    const auto compare = [&](const CsrMatrix<double>& A, Values& b, const std::string& name) {
        compare_with_cg(A, b, name, 1.1);
    };
    if (!each_real_spd_matrix(comm, compare)) GTEST_SKIP() << no_matrices;
}

// Where a pipelined method cannot go on, this one does, in the same Krylov space: no reduction blocks.
TEST_F(PredictAndRecomputeCg, IsTheRefugeOfPipelines) {
    const auto A = problem(comm, "jump2d:24,contrast=1e4");
    Values b(A, 2, random_values), x(A, 2);
    const auto cg = solved(comm, A, b, x, "cg", 1e-12, false);
    for (const std::string method : {"deep_pipelined_cg:l=3,gap=0,again=0,", "pipelined_cg:check=10,replacements=1,"}) {
        Values y(A, 2);
        const auto result = solved(comm, A, b, y, method + "refuge=predict_and_recompute_cg", 1e-12, false);
        EXPECT_EQ(result.status, Status::converged) << method;
        EXPECT_EQ(result.finished_by, "predict_and_recompute_cg") << method;
        EXPECT_LE(result.iterations, 1.3 * cg.iterations) << method;
    }
}

}  // namespace
