// SPDX-License-Identifier: BSD-3-Clause
// Preconditioners of complex systems: the real system that they are made of, the adjoint, and solves with them.
#include "complex_systems.hpp"
#include "stretto/core/error.hpp"
#include "stretto/precond/complex.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;

namespace {

struct ComplexPreconditionerTest : testing::TestWithParam<const char*> {
    MpiComm comm;

    /// Σ conj(a) b over all ranks and columns.
    Complex inner_product(MultiVector<Complex> a, MultiVector<Complex> b) const {
        Complex sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += std::conj(a.data()[i]) * b.data()[i];
        return {all_sum(comm, sum.real()), all_sum(comm, sum.imag())};
    }
};

TEST_P(ComplexPreconditionerTest, IsLinearOverComplexNumbersAndHasAnAdjoint) {
    const Grid grid = convection_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const auto M = make_complex_preconditioner(GetParam(), A);
    constexpr Complex turn(0.6, -0.8);
    for (const int m : {1, 3}) {
        ComplexValues r(A, m, [](Global i, int j) { return random_complex(1, i, j); }), z(A, m);
        ComplexValues turned(A, m, [&](Global i, int j) { return turn * random_complex(1, i, j); }), w(A, m);
        ComplexValues s(A, m, [](Global i, int j) { return random_complex(2, i, j); }), t(A, m);
        M->apply(r.view(), z.view());
        M->apply(turned.view(), w.view());
        for (std::size_t i = 0; i < z.view().size(); ++i)
            EXPECT_NEAR(std::abs(turn * z.view().data()[i] - w.view().data()[i]), 0, 1e-13);
        M->apply_transpose(s.view(), t.view());
        EXPECT_NEAR(std::abs(inner_product(s.view(), z.view()) - inner_product(t.view(), r.view())), 0, 1e-11);
    }
}

TEST_P(ComplexPreconditionerTest, SavesIterations) {
    const Grid grid = helmholtz_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const auto M = make_complex_preconditioner(GetParam(), A);
    const auto iterations = [&](AnyOperator<Complex> by) {
        ComplexValues b(A, 2, [](Global i, int j) { return random_complex(3, i, j); }), x(A, 2);
        const auto result = stretto::solve<Complex>(comm, A, by, b.view(), x.view(), {.method = "gmres"});
        EXPECT_TRUE(result.converged());
        return result.iterations;
    };
    EXPECT_LE(iterations(*M), iterations(Identity{}));
}

INSTANTIATE_TEST_SUITE_P(All, ComplexPreconditionerTest,
                         testing::Values("jacobi", "block_jacobi:ilu0", "block_jacobi:lu",
                                         "additive_schwarz:ilu0,overlap=1"));

TEST_F(ComplexPreconditionerTest, LuOfOneBlockIsTheInverse) {
    if (comm.size() > 1) GTEST_SKIP();
    for (const Grid& grid : {convection_grid(), helmholtz_grid()}) {
        const auto A = complex_matrix(comm, Partition::even(grid.rows(), 1), grid);
        const auto M = make_complex_preconditioner("block_jacobi:lu", A);
        ComplexValues b(A, 2, [](Global i, int j) { return random_complex(3, i, j); }), x(A, 2), r(A, 2);
        M->apply(b.view(), x.view());
        A.residual(b.view(), x.view(), r.view());
        for (std::size_t i = 0; i < r.view().size(); ++i) EXPECT_NEAR(std::abs(r.view().data()[i]), 0, 1e-12);
    }
}

TEST_F(ComplexPreconditionerTest, IncompleteCholeskyServesHermitianMethods) {
    const Grid grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    for (const char* spec : {"block_jacobi:ic0", "block_jacobi:cholesky", "chebyshev"}) {
        const auto M = make_complex_preconditioner(spec, A);
        EXPECT_TRUE(M->hermitian());
        for (const char* method : {"cg", "pipelined_cg"}) {
            ComplexValues b(A, 2, [](Global i, int j) { return random_complex(3, i, j); }), x(A, 2);
            const auto result = stretto::solve<Complex>(comm, A, *M, b.view(), x.view(), {.method = method});
            EXPECT_TRUE(result.converged()) << spec << ' ' << method;
            EXPECT_EQ(result.finished_by, method) << spec;
        }
    }
}

/// Of a hermitian matrix the real part is positive definite where the matrix is.
TEST_F(ComplexPreconditionerTest, MultigridIsThatOfTheRealPart) {
    if (!amg_is_built()) GTEST_SKIP() << "built without hypre";
    const Grid grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const auto M = make_complex_preconditioner("amg", A);
    EXPECT_TRUE(M->hermitian());
    ComplexValues b(A, 2, [](Global i, int j) { return random_complex(3, i, j); });
    const auto iterations = [&](const AnyOperator<Complex>& by, const char* method) {
        ComplexValues x(A, 2);
        const auto result = stretto::solve<Complex>(comm, A, by, b.view(), x.view(), {.method = method});
        EXPECT_TRUE(result.converged()) << method;
        return result.iterations;
    };
    for (const char* method : {"cg", "pipelined_gmres"})
        EXPECT_LT(iterations(*M, method), iterations(AnyOperator<Complex>(), method)) << method;
}

TEST_F(ComplexPreconditionerTest, RefusesOthers) {
    const Grid grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    EXPECT_EQ(make_complex_preconditioner("none", A), nullptr);
    EXPECT_THROW((void)make_complex_preconditioner("block_jacobi:ilut", A), InputError);
    EXPECT_THROW((void)make_complex_preconditioner("block_jacobi:nothing", A), InputError);
}

}  // namespace
