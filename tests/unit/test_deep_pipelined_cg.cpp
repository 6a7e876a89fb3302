// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "stretto/io/matrix_market.hpp"
#include "stretto/testing/chaotic_comm.hpp"
#include "stretto/testing/counting_comm.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

std::string deep(int l, const std::string& more = "") { return "deep_pipelined_cg:l=" + std::to_string(l) + more; }
/// On poisson2d, nothing but the pipeline.
std::string bare(int l, bool jacobi) { return without_safeguards(deep(l), jacobi ? 2 : 8); }

struct DeepPipelinedCg : Solves {
    /// Wherever CG converges, so do all depths, in at most `most` times as many iterations.
    void compare_with_cg(const CsrMatrix<double>& A, Values& b, const std::string& what,
                         std::initializer_list<double> tolerances = {1e-6, 1e-8, 1e-10, 1e-12}, double most = 1.2,
                         std::initializer_list<int> depths = {1, 2, 3, 5}) {
        for (const double rtol : tolerances)
            for (const bool jacobi : {false, true}) {
                Values x(A, 1);
                const auto cg = run(A, b, x, "cg", rtol, jacobi);
                // Where CG takes many times the size of the system, its last bits decide how many.
                if (!cg.converged() || cg.iterations > 20 * A.rows()) continue;
                for (const int l : depths) {
                    Values y(A, 1);
                    const auto result = run(A, b, y, deep(l), rtol, jacobi);
                    EXPECT_EQ(result.status, Status::converged) << what << ' ' << l << ' ' << rtol << ' ' << jacobi;
                    EXPECT_LE(result.iterations, most * cg.iterations + 2)
                        << what << ", l = " << l << ", " << rtol << ", jacobi " << jacobi;
                }
            }
    }
};

TEST_F(DeepPipelinedCg, KeepsLReductionsInFlightEachBehindLProducts) {
    for (const int l : {1, 2, 3, 5, 10}) {
        CountingComm counting(comm);
        const auto A = problem(counting, "poisson2d:30");
        Values b(A, 1, random_values), x(A, 1);
        SolveOptions o;
        o.method = bare(l, false);
        const Watched watched{&A, &counting};
        const auto result = solve<double>(counting, watched, Identity{}, b.view(), x.view(), o);
        EXPECT_TRUE(result.converged());
        EXPECT_EQ(counting.most_sums_in_flight, l);
        // The sum before the first iteration hides behind one product.
        EXPECT_EQ(std::ranges::count(counting.work_during_sums, l), result.iterations + (l == 1)) << "l = " << l;
        // Only what was dropped at the end overlapped less, and ‖b‖ and verification not at all.
        for (const auto products : counting.work_during_sums) EXPECT_LE(products, l);
        EXPECT_EQ(result.ledger.at(Phase::iteration).applies, result.iterations + l - 1);
    }
}

// Cools, Cornelis, Ghysels and Vanroose 2019, Table 1: max(4l + 1, 7) vectors.
TEST_F(DeepPipelinedCg, StoresNoMoreVectorsThanThePaperAndMovesEachOnce) {
    const auto A = problem(comm, "poisson2d:30");
    for (int l = 1; l <= 10; ++l)
        for (const bool jacobi : {false, true}) {
            Values b(A, 1, random_values), x(A, 1);
            const auto result = run(A, b, x, bare(l, jacobi), 1e-4, jacobi);
            EXPECT_EQ(result.status, Status::converged);
            EXPECT_EQ(result.finished_by, "deep_pipelined_cg");
            const int vectors = 2 * l + std::max(3, l + 1) + 1;
            EXPECT_LE(vectors, std::max(4 * l + 1, 7));
            EXPECT_EQ(result.vectors, vectors + (jacobi ? 4 : 0));
            // Bases: two reads and a write each; z: the new one, those of its recurrence and of the products; p and x.
            EXPECT_EQ(result.per_iteration.vector_reads, 2 * l + std::max(3, l) + 2 + (jacobi ? 3 : 0)) << l;
            EXPECT_EQ(result.per_iteration.vector_writes, l + 3 + (jacobi ? 1 : 0));
            EXPECT_EQ(result.per_iteration.reductions, 1);
            EXPECT_EQ(result.per_iteration.hidden_reductions, 1);
        }
}

TEST_F(DeepPipelinedCg, TakesTheIterationsOfCgOnEveryDepth) {
    const auto A = problem(comm, "poisson2d:40x30");
    for (const bool jacobi : {false, true}) {
        Values b(A, 1, random_values), x(A, 1);
        const auto cg = run(A, b, x, "cg", 1e-10, jacobi);
        for (int l = 1; l <= 10; ++l)
            for (const std::string more : {"", jacobi ? ",lmax=2" : ",lmax=8", ",warmup=7"}) {
                Values y(A, 1);
                const auto result = run(A, b, y, deep(l, more), 1e-10, jacobi);
                EXPECT_EQ(result.status, Status::converged);
                EXPECT_NEAR(result.iterations, cg.iterations, 1 + 0.02 * cg.iterations) << l << more;
            }
    }
}

TEST_F(DeepPipelinedCg, HardSystemsTakeAtMostAFifthMore) {
    for (const auto* spec : {"jump2d:24,contrast=100", "jump2d:24,contrast=1e4", "aniso2d:30,epsilon=1e-3",
                             "poisson3d:10", "poisson3d27:10", "diagonal:poisson2d,20"}) {
        const auto A = problem(comm, spec);
        Values b(A, 1, random_values);
        compare_with_cg(A, b, spec);
    }
    for (const double kappa : {1e4, 1e6, 1e8, 1e10})
        for (const double density : {1.0, 0.9}) {  // evenly over the decades; all but a few at the lower end
            const auto A = matrix(comm, 100, [&](Global i, Global j) {
                const double t = static_cast<double>(i) / 99;
                const double evenly = std::pow(kappa, -t), strakos = (1 - t + 1 / kappa) * std::pow(density, i);
                return i != j ? 0.0 : density == 1 ? evenly : std::max(strakos, 1 / kappa);
            });
            Values b(A, 1, random_values);
            // CG itself takes three to ten times the size of the system: what rounding does to it decides.
            compare_with_cg(A, b, "kappa " + std::to_string(kappa), {1e-6, 1e-10}, 1.6);
        }
}

TEST_F(DeepPipelinedCg, RealMatricesTakeMoreNearRoundingAlone) {
    const auto compare = [&](const CsrMatrix<double>& A, Values& b, const std::string& name) {
        compare_with_cg(A, b, name, {1e-6}, 1.2, {1, 2, 3});
        compare_with_cg(A, b, name, {1e-12}, 3.2, {1, 2, 3});
    };
    if (!each_real_spd_matrix(comm, compare)) GTEST_SKIP() << no_matrices;
}

TEST_F(DeepPipelinedCg, DeeperThanTheSolveIsLong) {
    const auto A = problem(comm, "poisson2d:3");
    Values b(A, 2, random_values), x(A, 2);
    const auto result = run(A, b, x, deep(10, ",lmax=8"), 1e-12);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.iterations, 10);
}

TEST_F(DeepPipelinedCg, WrongShiftsCostThePipelineNotTheAnswer) {
    const auto A = problem(comm, "poisson2d:40");
    Values b(A, 1, random_values), x(A, 1);
    const auto cg = run(A, b, x, "cg", 1e-10);
    for (const int l : {1, 2, 3, 5})
        for (const std::string interval : {",lmax=0.1", ",lmax=4", ",lmax=800", ",lmin=7,lmax=8", ",lmin=9,lmax=8"}) {
            Values y(A, 1);
            const auto result = run(A, b, y, deep(l, interval), 1e-10);
            EXPECT_EQ(result.status, Status::converged) << l << interval;
            EXPECT_LE(result.iterations, 1.2 * cg.iterations + 1) << l << interval;
        }
}

TEST_F(DeepPipelinedCg, AColumnLeavesThePipelineWhileTheOthersGoOn) {
    // The first column has a part in two isolated eigenvalues, between which a shift lies; the second has none.
    const auto A = matrix(comm, 400, [](Global i, Global j) {
        return i != j ? 0.0 : i < 2 ? 10.0 * (2 - i) : 1e-3 + static_cast<double>(i) / 400;
    });
    Values b(A, 2, [](Global row, int j) { return j == 1 && row < 2 ? 0.0 : uniform(1, row, 0); }), x(A, 2);
    const auto result = run(A, b, x, deep(2, ",lmax=1.01,again=0"), 1e-10);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_TRUE(tells(result, "column 1: the basis has drifted"));
    EXPECT_EQ(result.finished_by, "predict_and_recompute_cg");
    for (int j = 0; j < 2; ++j) {
        Values bj(A, 1, [&](Global row, int) { return j == 1 && row < 2 ? 0.0 : uniform(1, row, 0); }), xj(A, 1);
        const auto cg = run(A, bj, xj, "cg", 1e-10);
        EXPECT_NEAR(result.columns[static_cast<std::size_t>(j)].iterations, cg.iterations, 1 + 0.1 * cg.iterations)
            << j;
    }
}

TEST_F(DeepPipelinedCg, TheRefugeMayHideItsReductionToo) {
    const auto A = problem(comm, "jump2d:24,contrast=1e4");
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    const auto cg = run(A, b, x, "cg");
    const auto result = run(A, b, y, deep(3, ",gap=0,again=0,refuge=pipelined_cg"));
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_TRUE(tells(result, "going on with pipelined_cg"));
    EXPECT_LE(result.iterations, 1.2 * cg.iterations);  // on the edge of what it reaches, rounding makes a tenth
}

TEST_F(DeepPipelinedCg, IsTheSameUnderChaosAtEveryDepth) {
    const auto A = problem(comm, "jump2d:20,contrast=100");
    for (const int l : {1, 3, 5, 10}) {
        ChaoticComm chaos(comm, 17);
        const auto chaotic_A = problem(chaos, "jump2d:20,contrast=100");
        Values b(A, 2, random_values), x(A, 2), chaotic_x(A, 2);
        SolveOptions o;
        o.method = deep(l);
        const auto plain = run(A, b, x, o.method);
        const auto chaotic = solve<double>(chaos, chaotic_A, Identity{}, b.view(), chaotic_x.view(), o);
        EXPECT_EQ(plain.iterations, chaotic.iterations);
        EXPECT_EQ(x.data(), chaotic_x.data());
    }
}

}  // namespace
