// SPDX-License-Identifier: BSD-3-Clause
// Complex numbers in single precision: every method refined beside a dense solve, solvers of them, and preconditioners
// rounded to it.
#include <fmt/format.h>

#include "complex_systems.hpp"
#include "stretto/precond/complex.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;

namespace {

using SingleComplex = std::complex<float>;

/// ‖b − A x‖ / ‖b‖ of the first column.
double relative_residual(const CsrMatrix<Complex>& A, ComplexValues& b, ComplexValues& x) {
    ComplexValues r(A, b.view().columns());
    A.residual(b.view(), x.view(), r.view());
    return std::sqrt(inner_product(A.comm(), r.view(), r.view(), 0, 0).real() /
                     inner_product(A.comm(), b.view(), b.view(), 0, 0).real());
}

struct RefinedComplex : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();
    bool hermitian = method.needs != Needs::any;
    std::string refine = fmt::format("refine:inner={}", method.name);
    Grid grid = hermitian ? hermitian_grid() : convection_grid();
    CsrMatrix<Complex> A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
};

TEST_P(RefinedComplex, SolvesWhatADenseSolverSolves) {
    for (const auto& [precond, columns, rtol] : {std::tuple{"none", 1, 1e-6},
                                                 {"jacobi", 3, 1e-12},
                                                 {hermitian ? "block_jacobi:ic0" : "block_jacobi:ilu0", 2, 1e-10}}) {
        SCOPED_TRACE(precond);
        const auto M = make_complex_preconditioner(precond, A);
        ComplexValues b(A, columns, [](Global i, int j) { return random_complex(7, i, j); }), x(A, columns);
        SolveOptions options;
        options.method = refine;
        options.rtol = rtol;
        const auto by = M ? AnyOperator<Complex>(*M) : AnyOperator<Complex>();
        const auto result = solve<Complex>(comm, A, by, b.view(), x.view(), options);
        EXPECT_TRUE(result.converged()) << name(result.status);
        if (!method.hands_over) {
            EXPECT_EQ(result.finished_by, method.name);
        }
        EXPECT_LE(relative_residual(A, b, x), 1.001 * rtol);
        const Global first = A.partition().first(comm.rank());
        for (int j = 0; j < columns; ++j) {
            std::vector<Complex> right(static_cast<std::size_t>(grid.rows()));
            for (Global i = 0; i < grid.rows(); ++i) right[static_cast<std::size_t>(i)] = random_complex(7, i, j);
            const auto exact = dense_solve(grid.rows(), grid, right);
            for (Index i = 0; i < A.local_rows(); ++i)
                ASSERT_NEAR(std::abs(x.view()(i, j) - exact[static_cast<std::size_t>(first + i)]), 0, 1e3 * rtol);
        }
    }
}

TEST_P(RefinedComplex, MovesFewerBytes) {
    const auto bytes = [&](const std::string& name) {
        ComplexValues b(A, 1, [](Global i, int j) { return random_complex(7, i, j); }), x(A, 1);
        SolveOptions options;
        options.method = name;
        options.rtol = 1e-4;
        const auto result = solve<Complex>(comm, A, Identity{}, b.view(), x.view(), options);
        const auto& counts = result.ledger.at(Phase::iteration);
        return counts.bytes / static_cast<double>(std::max<std::int64_t>(1, counts.applies));
    };
    EXPECT_LE(bytes(refine), 0.75 * bytes(std::string(method.name)));
}

TEST_P(RefinedComplex, SolversOfSinglesConvergeToFiveDigits) {
    const CsrMatrix<SingleComplex> singles(comm, A.partition(), rounded_rows(A));
    const auto M = make_complex_preconditioner("jacobi", A);
    const auto by = M->in_single();
    const Index n = A.local_rows();
    for (const int m : {1, 3}) {
        ComplexValues b(A, m, [](Global i, int j) { return Complex(SingleComplex(random_complex(7, i, j))); }), x(A, m);
        std::vector<SingleComplex> of_b, of_x(b.data().size());
        for (const auto& value : b.data()) of_b.push_back(static_cast<SingleComplex>(value));
        Solver<SingleComplex> solver(comm, singles, by.op, n, m, {.method = std::string(method.name), .rtol = 1e-5});
        for (int again = 0; again < 2; ++again) {
            const auto& result = solver.solve({of_b.data(), n, m}, {of_x.data(), n, m});
            EXPECT_EQ(result.status, Status::converged) << method.name;
        }
        std::ranges::copy(of_x, x.view().data());
        EXPECT_LE(relative_residual(A, b, x), 1.2e-5) << method.name;
    }
    // What singles cannot tell is not called converged.
    std::vector<SingleComplex> b(static_cast<std::size_t>(n), 1.0F), x(b.size());
    const auto result =
        solve<SingleComplex>(comm, singles, Identity{}, {b.data(), n, 1}, {x.data(), n, 1},
                             {.method = std::string(method.name), .rtol = 1e-12, .max_iterations = 3000});
    EXPECT_FALSE(result.converged()) << method.name;
    EXPECT_LT(result.relative_residual(), 1e-4) << method.name;
}

INSTANTIATE_TEST_SUITE_P(All, RefinedComplex, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& of) { return std::string(of.param->name); });

/// The adjoint and the conjugates of products in single precision: sums of conj(a) b in double.
TEST(ComplexSingle, ProductsAreThoseOfTheMatrixRounded) {
    MpiComm comm;
    const Grid grid = convection_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const auto single = A.in_single();
    const Index n = A.local_rows();
    for (const int m : {1, 2, 5}) {
        ComplexValues v(A, m, [](Global i, int j) { return random_complex(1, i, j); }), y(A, m);
        std::vector<SingleComplex> from, to(v.data().size());
        for (const auto& value : v.data()) from.push_back(static_cast<SingleComplex>(value));
        for (const bool transposed : {false, true}) {
            if (transposed) {
                A.apply_transpose(v.view(), y.view());
                single.op.apply_transpose({from.data(), n, m}, {to.data(), n, m});
            } else {
                A.apply(v.view(), y.view());
                single.op.apply({from.data(), n, m}, {to.data(), n, m});
            }
            for (std::size_t i = 0; i < to.size(); ++i)
                EXPECT_NEAR(std::abs(Complex(to[i]) - y.data()[i]), 0, 1e-5) << transposed;
        }
    }
}

/// A real operator is one on complex vectors in single precision, too.
TEST(ComplexSingle, RealOperatorsTakeComplexVectors) {
    MpiComm comm;
    const auto rows = rows_of<double>(Partition::even(99, comm.size()), comm.rank(), [](Global i, Global j) {
        return i == j ? 4.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    const CsrMatrix<double> A(comm, Partition::even(99, comm.size()), rows);
    const auto single = AnyOperator<Complex>(A).in_single();
    ASSERT_TRUE(single.op);
    const Index n = A.local_rows();
    std::vector<Complex> b(static_cast<std::size_t>(n), {1, -2}), x(b.size());
    const auto result = solve<Complex>(comm, A, Identity{}, {b.data(), n, 1}, {x.data(), n, 1},
                                       {.method = "refine:inner=gmres", .rtol = 1e-11});
    EXPECT_EQ(result.status, Status::converged);
}

struct RoundedComplexPreconditioner : testing::TestWithParam<std::string> {
    MpiComm comm;
};

TEST_P(RoundedComplexPreconditioner, IsTheSameToSinglePrecisionAndSmaller) {
    const Grid grid = convection_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const std::string& spec = GetParam();
    const auto M = make_complex_preconditioner(spec, A),
               rounded = make_complex_preconditioner(preconditioner_in_single(spec), A);
    for (const int columns : {1, 3}) {
        ComplexValues r(A, columns, [](Global i, int j) { return random_complex(2, i, j); }), z(A, columns),
            y(A, columns);
        M->apply(r.view(), z.view());
        rounded->apply(r.view(), y.view());
        double apart = 0;
        for (std::size_t i = 0; i < y.data().size(); ++i) apart = std::max(apart, std::abs(y.data()[i] - z.data()[i]));
        EXPECT_LT(all_max(comm, apart), 1e-5);
        EXPECT_GT(all_max(comm, apart), 0) << "nothing was rounded";
        if (A.local_rows() > 0) {
            EXPECT_LT(rounded->bytes(columns), M->bytes(columns));
        }
        for (const auto* of : {M.get(), rounded.get()}) {
            const auto single = of->in_single();
            if (!single.op) continue;
            std::vector<SingleComplex> from, to(r.data().size());
            for (const auto& value : r.data()) from.push_back(static_cast<SingleComplex>(value));
            single.op.apply({from.data(), A.local_rows(), columns}, {to.data(), A.local_rows(), columns});
            for (std::size_t i = 0; i < to.size(); ++i) EXPECT_NEAR(std::abs(Complex(to[i]) - z.data()[i]), 0, 1e-5);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, RoundedComplexPreconditioner,
                         testing::Values("jacobi", "block_jacobi:ilu0", "block_jacobi:lu", "additive_schwarz",
                                         "chebyshev"));

}  // namespace
