// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "allocations.hpp"
#include "stretto/methods/pipelined_s_step_gmres.hpp"
#include "stretto/methods/s_step_gmres.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(7, row, j); };

const std::vector<std::string> variants{"gmres",
                                        "gmres:orth=cgs",
                                        "gmres:orth=cgs2",
                                        "gmres:orth=mgs",
                                        "pipelined_gmres:l=1",
                                        "pipelined_gmres:l=2",
                                        "pipelined_gmres:l=5",
                                        "s_step_gmres:s=5",
                                        "s_step_gmres:s=7,orth=pip",
                                        "s_step_gmres:s=6,h=3",
                                        "s_step_gmres:s=10,orth=bcgs2",
                                        "pipelined_s_step_gmres:l=2,t=5",
                                        "pipelined_s_step_gmres:l=3,t=4,tau=0",
                                        "pipelined_s_step_gmres:l=2,t=1"};

std::string with(const std::string& spec, const std::string& more) {
    return spec + (spec.find(':') == std::string::npos ? ":" : ",") + more;
}

struct GmresTest : testing::TestWithParam<std::string> {
    MpiComm comm;

    Result run(const CsrMatrix<double>& A, Values& b, Values& x, const std::string& spec, double rtol = 1e-8,
               bool jacobi = false, int max_iterations = 10000) {
        const Jacobi M(A);
        SolveOptions o;
        o.method = spec;
        o.rtol = rtol;
        o.history = true;
        o.max_iterations = max_iterations;
        return jacobi ? solve<double>(comm, A, M, b.view(), x.view(), o)
                      : solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    }
};

TEST_P(GmresTest, SolvesNonNormalSystems) {
    for (const auto* spec : {"convdiff2d:31x23,peclet=50", "convdiff2d:31x23,peclet=500",
                             "convdiff2d:31x23,peclet=5000", "convdiff3d:9x8x7,peclet=100"}) {
        const auto A = problem(comm, spec);
        for (const auto* side : {"right", "left"}) {
            Values expected(A, 2, random_values), b(A, 2), x(A, 2);
            A.apply(expected.view(), b.view());
            const auto result = run(A, b, x, with(GetParam(), fmt::format("side={}", side)), 1e-10, true);
            EXPECT_TRUE(result.converged()) << spec << ", " << name(result.status);
            for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1.000001e-10);
            EXPECT_LT(distance(comm, x, expected), 1e-5) << spec;
        }
    }
}

// Toeplitz matrices with one diagonal below and three above: far from normal, with complex eigenvalues.
TEST_P(GmresTest, SolvesGrcar) {
    const auto A = matrix(comm, 150, [](Global i, Global k) {
        return k == i - 1 ? -1.0 : k >= i && k <= i + 3 ? 1.0 : 0.0;
    });
    Values b(A, 1, random_values), x(A, 1);
    const auto result = run(A, b, x, with(GetParam(), "m=60"), 1e-10);
    EXPECT_TRUE(result.converged()) << name(result.status);
    EXPECT_LE(true_residuals(A, b, x)[0], 1.000001e-10);
}

// As many iterations as GMRES, on the paper's kinds of problems, with and without a preconditioner; m is small enough
// for several cycles.
TEST_P(GmresTest, TakesTheIterationsOfGmres) {
    constexpr int m = 12;
    const std::string spec = with(GetParam(), fmt::format("m={}", m));
    for (const auto* name_of_problem : {"poisson2d:40", "poisson3d27:12", "convdiff2d:40,peclet=50"}) {
        const auto A = problem(comm, name_of_problem);
        Values b(A, 1, random_values);
        for (const bool jacobi : {false, true}) {
            Values x(A, 1), reference_x(A, 1);
            const auto own = run(A, b, x, spec, 1e-8, jacobi);
            const auto reference = run(A, b, reference_x, fmt::format("gmres:orth=cgs2,m={}", m), 1e-8, jacobi);
            EXPECT_TRUE(own.converged());
            EXPECT_EQ(own.finished_by, parse_spec(spec).name);
            EXPECT_GT(own.iterations, m);
            EXPECT_NEAR(own.iterations, reference.iterations, 1 + 0.02 * reference.iterations) << name_of_problem;
            for (std::size_t k = 0; k < std::min(own.history.size(), reference.history.size()); k += 10)
                EXPECT_NEAR(own.history[k], reference.history[k], 0.01 * reference.history[k])
                    << name_of_problem << ", " << k;
        }
    }
}

// Eigenvalues over three decades: pipelines lose their bases, blocks are dependent. What comes after them keeps the
// iterations of GMRES, from the first cycle on.
TEST_P(GmresTest, KeepsTheIterationsOfGmresWhereBasesAreLost) {
    if (GetParam() == "gmres:orth=cgs" || GetParam() == "s_step_gmres:s=7,orth=pip") GTEST_SKIP() << "one pass only";
    const auto A = matrix(comm, 300, [](Global i, Global k) {
        return i == k ? std::pow(10, 3. * static_cast<double>(i) / 299) : k == i + 1 ? 0.5 : 0.0;
    });
    for (const int m : {1, 4}) {
        Values b(A, m, random_values), x(A, m), reference_x(A, m);
        const auto own = run(A, b, x, with(GetParam(), "m=200"), 1e-6);
        const auto reference = run(A, b, reference_x, "gmres:orth=cgs2,m=200", 1e-6);
        EXPECT_TRUE(own.converged()) << name(own.status);
        EXPECT_EQ(own.finished_by, parse_spec(GetParam()).name);
        EXPECT_LE(own.iterations, 1 + 1.2 * reference.iterations);
    }
}

// Shifts come from the first few columns: what a solve waits for is a small part of its iterations, in one cycle too.
TEST_P(GmresTest, HardlyWaitsInItsFirstCycle) {
    const auto A = problem(comm, "convdiff2d:40,peclet=50");
    const bool own_way = !GetParam().starts_with("gmres") && GetParam().find("bcgs2") == std::string::npos;
    for (const int m : {1, 4}) {
        Values b(A, m, random_values), x(A, m);
        const auto result = run(A, b, x, with(GetParam(), "m=100"), 1e-6, true);
        EXPECT_TRUE(result.converged());
        EXPECT_LT(result.iterations, 100);
        std::int64_t blocking = 0;
        for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard})
            blocking += result.ledger.at(phase).reductions - result.ledger.at(phase).hidden_reductions;
        if (own_way)
            EXPECT_LE(static_cast<double>(blocking), 0.3 * result.iterations) << GetParam();
        else
            EXPECT_GE(static_cast<double>(blocking), 0.3 * result.iterations);
    }
}

TEST_P(GmresTest, EndsWhereTheKrylovSpaceDoes) {
    // b is made of three eigenvectors of a diagonal matrix: three steps, or two for none less; x = 0 solves b = 0.
    const auto A = matrix(comm, 60, [](Global i, Global k) { return i == k ? 1.0 + static_cast<double>(i % 3) : 0.0; });
    Values b(A, 3, [](Global row, int j) {
        return j == 0 ? random_values(row, 0) : j == 1 ? (row % 3 == 0 ? 1.0 : 0.0) : 0.0;
    });
    Values x(A, 3);
    const auto result = run(A, b, x, GetParam(), 1e-12);
    EXPECT_TRUE(result.converged()) << name(result.status);
    EXPECT_LE(result.columns[0].iterations, 10);
    EXPECT_LE(result.columns[1].iterations, 10);
    EXPECT_EQ(result.columns[2].iterations, 0);
}

TEST_P(GmresTest, TakesAnyLengthOfCycle) {
    const auto A = problem(comm, "convdiff2d:15x12,peclet=10");
    for (const int m : {1, 2, 3, 7, 11, 23, 200}) {
        Values b(A, 2, random_values), x(A, 2);
        const auto result = run(A, b, x, with(GetParam(), fmt::format("m={}", m)), 1e-6);
        EXPECT_TRUE(result.converged()) << "m=" << m << ' ' << name(result.status);
        for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1.000001e-6);
    }
}

TEST_P(GmresTest, SolvesConsistentSingularSystems) {
    // A graph's Laplacian on a ring: constants are its null space, b is orthogonal to them.
    const Global n = 90;
    const auto ring = [](Global i, Global k) {
        return i == k ? 2.0 : (i - k + n) % n == 1 || (k - i + n) % n == 1 ? -1.0 : 0.0;
    };
    const auto A = matrix(comm, n, ring);
    Values b(A, 1, [](Global row, int) { return row == 3 ? 1.0 : row == 50 ? -1.0 : 0.0; }), x(A, 1);
    const auto result = run(A, b, x, GetParam(), 1e-8);
    EXPECT_TRUE(result.converged()) << name(result.status);
}

// GMRES(m) stands still on a cyclic shift, which it solves in n steps and not in fewer.
TEST_P(GmresTest, SaysWhenItStandsStill) {
    const auto A = matrix(comm, 50, [](Global i, Global k) { return k == (i + 1) % 50 ? 1.0 : 0.0; });
    Values b(A, 1, [](Global row, int) { return row == 0 ? 1.0 : 0.0; }), x(A, 1);
    const auto result = run(A, b, x, with(GetParam(), "m=20"), 1e-8, false, 2000);
    EXPECT_EQ(result.status, Status::gave_up);
    EXPECT_LT(result.iterations, 1000);
    EXPECT_TRUE(std::ranges::any_of(result.events, [](const Event& event) {
        return event.text.find("gave up: two restarts gained nothing (m=20: a larger m") != std::string::npos;
    }));
    Values enough(A, 1);
    EXPECT_TRUE(run(A, b, enough, with(GetParam(), "m=60"), 1e-8, false, 2000).converged());
}

TEST_P(GmresTest, DoesNotDependOnTheScale) {
    const auto A = problem(comm, "convdiff2d:20,peclet=20");
    for (const double scale : {1e-8, 1.0, 1e8}) {
        Values b(A, 1, [&](Global row, int) { return scale * random_values(row, 0); }), x(A, 1, random_values);
        const auto result = run(A, b, x, GetParam());
        EXPECT_TRUE(result.converged());
        EXPECT_LE(true_residuals(A, b, x)[0], 1.000001e-8);
    }
}

std::string variant_name(const testing::TestParamInfo<std::string>& info) {
    std::string text = info.param;
    std::ranges::replace_if(text, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return text;
}
INSTANTIATE_TEST_SUITE_P(Variants, GmresTest, testing::ValuesIn(variants), variant_name);

// A cycle of each method by hand, on a system of two right-hand sides: ‖A M⁻¹Q − Q H‖ and ‖I − QᵀQ‖.
struct CycleTest : testing::TestWithParam<std::tuple<std::string, bool>> {
    static constexpr int m = 25;
    MpiComm comm;

    /// Runs two cycles of m columns, the first of which gives the shifts.
    template <class Cycle>
    void check(const std::string& spec, Cycle cycle, double orthogonal) {
        const auto A = problem(comm, std::get<0>(GetParam()));
        const Jacobi jacobi(A);
        const bool preconditioned = std::get<1>(GetParam());
        Space<double> V(comm, A.local_rows(), 2, 2 * m + 8, 1, Formulation::merged);
        const LinearMap<double> map(AnyOperator<double>(A), V, Kernel::apply),
            inverse(preconditioned ? AnyOperator<double>(jacobi) : AnyOperator<double>(), V, Kernel::precondition);
        Values b(A, 2, random_values), x(A, 2);
        Columns columns(2);
        Recorder<double> recorder(V.ledger(), columns);
        Kept kept;
        Verdict<double> stop(V, columns, recorder, kept);
        const Spec parsed = parse_spec(spec);
        columns.reset(1000);
        columns.begin_run([](int) { return 1.0; });
        stop.begin(Options(parsed, find_method(parsed.name).options), false, std::nullopt, V.scalars());
        Arnoldi<double> K(V, map, inverse, b.view(), x.view(), m, stop);
        GramSchmidt<double> orthonormalise(V, m, GramSchmidt<double>::cgs2);
        ASSERT_TRUE(K.begin());
        gmres_cycle(V, K, orthonormalise, m);
        NewtonBasis basis(NewtonBasis::newton, 24, 2);
        for (int j = 0; j < 2; ++j) basis.choose(K.H, m, j);
        K.end();
        ASSERT_TRUE(K.begin());
        cycle(V, K, basis);
        ASSERT_EQ(K.extended(), m);

        const auto w = V.vector();
        SmallMatrix<double> products(m, m, 2), square(1, 1, 2);
        V.reserve_products(m, m);
        for (int c = 0; c < m; ++c) {
            K.op(K.Q[c], w);
            const Panel<double> error(w);
            // The last vector of the basis is not always made: its part is what is left, and as long as H says.
            V.start(error <<= error - K.Q.part(0, std::min(c + 2, m)) * K.H.from(0, c), dots(error, error))
                .wait(square, 0, 0, 1);
            for (int j = 0; j < 2; ++j)
                EXPECT_NEAR(std::sqrt(square(0, 0, j)), c + 1 < m ? 0 : K.H(m, c, j), 1e-8 * basis.norm(j))
                    << spec << ' ' << c;
        }
        V.start(dots(K.Q.part(0, m), K.Q.part(0, m))).wait(products, 0, 0, m);
        for (int i = 0; i < m; ++i)
            for (int k = 0; k < m; ++k)
                for (int j = 0; j < 2; ++j) EXPECT_NEAR(products(i, k, j), i == k ? 1 : 0, orthogonal) << spec;
    }
};

TEST_P(CycleTest, KeepsTheRelationsOfArnoldi) {
    for (const auto kind :
         {GramSchmidt<double>::dcgs2, GramSchmidt<double>::cgs2, GramSchmidt<double>::cgs, GramSchmidt<double>::mgs})
        check(
            "gmres",
            [&](auto& V, auto& K, auto&) {
                GramSchmidt<double> orthonormalise(V, m, kind);
                gmres_cycle(V, K, orthonormalise, m);
            },
            kind <= GramSchmidt<double>::cgs2 ? 1e-13 : 1e-9);
    for (const int l : {1, 2, 5})
        check(
            "pipelined_gmres",
            [&](auto& V, auto& K, auto& basis) {
                ChangeOfBasis change_of_basis(V, K, basis, l == 5 ? 1e-3 : 0);
                PipelinedGramSchmidt<double> orthonormalise(K, &V.memory());
                auto sums = in_flight<double>(V, l);
                pipelined_columns(V, K, V.panel(m + 1), orthonormalise, change_of_basis, sums, l);
            },
            1e-5);
    using Block = BlockGramSchmidt<double>;
    for (const int given : {1, 4, 5, 10})
        for (const auto kind : {Block::pip, Block::pip2, Block::bcgs2})
            check(
                "s_step_gmres",
                [&](auto& V, auto& K, auto& basis) {
                    const int s = given;
                    Block block(V, m, s, kind);
                    GramSchmidt<double> one_by_one(V, m, GramSchmidt<double>::cgs2);
                    EXPECT_EQ(
                        s_step_gmres_cycle(V, K, block, one_by_one, basis, s, std::min(given, K.prepare_powers(3)), s),
                        s);
                },
                kind == Block::pip    ? 1e-5
                : kind == Block::pip2 ? 1e-8
                                      : 1e-12);
    // Powers: blocks as badly conditioned as two passes bear.
    for (const int s : {5, 10, 20})
        check(
            "s_step_gmres",
            [&](auto& V, auto& K, auto&) {
                Block block(V, m, s, Block::pip2);
                GramSchmidt<double> one_by_one(V, m, GramSchmidt<double>::cgs2);
                NewtonBasis powers(NewtonBasis::monomial, 24, 2);
                for (int j = 0; j < 2; ++j) powers.choose(K.H, m, j);
                s_step_gmres_cycle(V, K, block, one_by_one, powers, s, 1, s);
            },
            1e-7);
    for (const auto& [l, t, tau] : {std::tuple{2, 5, 0.0}, {2, 1, 0.0}, {3, 4, 1e-3}, {2, 6, 1e-2}})
        check(
            "pipelined_s_step_gmres",
            [&, l = l, t = t, tau = tau](auto& V, auto& K, auto& basis) {
                ChangeOfBasis change_of_basis(V, K, basis, tau);
                PipelinedGramSchmidt<double> orthonormalise(K, &V.memory());
                auto sums = in_flight<double>(V, l);
                V.reserve_products(m + 1 + t, t);
                pipelined_s_step_columns(V, K, V.panel(m + 1), orthonormalise, change_of_basis, sums, l, t);
            },
            1e-5);
}

INSTANTIATE_TEST_SUITE_P(Problems, CycleTest,
                         testing::Combine(testing::Values("poisson2d:33x29", "convdiff2d:31x33,peclet=50",
                                                          "convdiff2d:31x33,peclet=5000"),
                                          testing::Bool()));

}  // namespace
