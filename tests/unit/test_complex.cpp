// SPDX-License-Identifier: BSD-3-Clause
// Complex systems: every method beside a dense solve, hermitian methods beside the real system of twice the size.
#include "complex_systems.hpp"

#include "stretto/core/error.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/methods/parts/newton_basis.hpp"
#include "stretto/precond/complex.hpp"
#include "stretto/statements/traffic.hpp"

using namespace stretto;

namespace {

struct ComplexTest : testing::Test {
    MpiComm comm;
};

/// A diagonal that turns rows by different angles.
struct Turned {
    Global first;
    static Complex factor(Global row) {
        return std::polar(1 + 0.1 * static_cast<double>(row % 3), 0.15 * static_cast<double>(row % 5));
    }
    void apply(MultiVector<Complex> x, MultiVector<Complex> y) const {
        for (Index i = 0; i < x.rows(); ++i)
            for (int j = 0; j < x.columns(); ++j) y(i, j) = factor(first + i) * x(i, j);
    }
    void apply_transpose(MultiVector<Complex> x, MultiVector<Complex> y) const {
        for (Index i = 0; i < x.rows(); ++i)
            for (int j = 0; j < x.columns(); ++j) y(i, j) = std::conj(factor(first + i)) * x(i, j);
    }
    double bytes(int) const { return 0; }
};
/// A positive diagonal.
struct Positive {
    Global first;
    void apply(MultiVector<Complex> x, MultiVector<Complex> y) const {
        for (Index i = 0; i < x.rows(); ++i)
            for (int j = 0; j < x.columns(); ++j) y(i, j) = (1 + 0.2 * static_cast<double>((first + i) % 4)) * x(i, j);
    }
    double bytes(int) const { return 0; }
};

struct Case {
    const char* name;
    Grid grid;
};

/// Every method of the registry.
struct ComplexMethodTest : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();

    bool hermitian() const { return method.needs != Needs::any; }

    void solve(const Grid& grid, AnyOperator<Complex> M, const CsrMatrix<Complex>& A, int m, Formulation formulation,
               double rtol, const char* text) {
        SCOPED_TRACE(text);
        ComplexValues b(A, m, [](Global i, int j) { return random_complex(7, i, j); }), x(A, m);
        SolveOptions options;
        options.method = method.name;
        options.rtol = rtol;
        options.formulation = formulation;
        const auto result = stretto::solve<Complex>(comm, A, M, b.view(), x.view(), options);
        EXPECT_TRUE(result.converged()) << name(result.status);
        EXPECT_EQ(result.finished_by, method.name);
        EXPECT_LT(result.iterations, 250);
        const Global first = A.partition().first(comm.rank());
        for (int j = 0; j < m; ++j) {
            std::vector<Complex> right(static_cast<std::size_t>(grid.rows()));
            for (Global i = 0; i < grid.rows(); ++i) right[static_cast<std::size_t>(i)] = random_complex(7, i, j);
            const auto exact = dense_solve(grid.rows(), grid, right);
            for (Index i = 0; i < A.local_rows(); ++i)
                ASSERT_NEAR(std::abs(x.view()(i, j) - exact[static_cast<std::size_t>(first + i)]), 0, 1e3 * rtol);
        }
    }
};

TEST_P(ComplexMethodTest, SolvesWhatADenseSolverSolves) {
    std::vector<Case> cases{{"hermitian", hermitian_grid()}};
    if (method.needs == Needs::symmetric) cases.push_back({"hermitian, indefinite", hermitian_grid(-1.1)});
    if (!hermitian()) {
        cases.push_back({"complex symmetric", helmholtz_grid()});
        cases.push_back({"convection", convection_grid()});
        cases.push_back({"skew", skew_grid()});
    }
    for (const auto& [text, grid] : cases) {
        const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
        solve(grid, Identity{}, A, 1, Formulation::merged, 1e-9, text);
        solve(grid, Identity{}, A, 3, Formulation::basic, 1e-9, text);
    }
}

TEST_P(ComplexMethodTest, TakesAPreconditioner) {
    const Grid grid = hermitian() ? hermitian_grid() : convection_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const Global first = A.partition().first(comm.rank());
    const Turned turned{first};
    const Positive positive{first};
    const AnyOperator<Complex> M = hermitian() ? AnyOperator<Complex>(positive) : AnyOperator<Complex>(turned);
    solve(grid, M, A, 2, Formulation::merged, 1e-9, "preconditioned");
}

TEST_P(ComplexMethodTest, IsHonestOnRanksWithoutRowsAndNearRounding) {
    const Grid grid = hermitian() ? hermitian_grid() : helmholtz_grid();
    std::vector<Global> starts(static_cast<std::size_t>(comm.size()) + 1, grid.rows());
    starts[0] = 0;
    for (int p = 1; p + 1 < comm.size(); ++p) starts[static_cast<std::size_t>(p)] = 40;  // and some ranks without rows
    const auto A = complex_matrix(comm, Partition(starts), grid);
    for (const double rtol : {1e-6, 1e-12}) {
        ComplexValues b(A, 1, [](Global i, int j) { return random_complex(8, i, j); }), x(A, 1), r(A, 1);
        SolveOptions options;
        options.method = method.name;
        options.rtol = rtol;
        const auto result = stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), options);
        A.residual(b.view(), x.view(), r.view());
        const double rr = inner_product(comm, r.view(), r.view(), 0, 0).real(),
                     bb = inner_product(comm, b.view(), b.view(), 0, 0).real();
        EXPECT_TRUE(result.converged()) << name(result.status) << " at " << rtol;
        EXPECT_LE(std::sqrt(rr / bb), 1.001 * rtol);
        EXPECT_NEAR(result.relative_residual(), std::sqrt(rr / bb), 1e-3 * rtol);
    }
}

TEST_P(ComplexMethodTest, KeepsNullResults) {
    const Grid grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    ComplexValues b(A, 2, [](Global i, int j) { return j == 0 ? Complex(0) : random_complex(9, i, j); });
    ComplexValues x(A, 2, [](Global i, int j) { return random_complex(10, i, j); });
    SolveOptions options;
    options.method = method.name;
    EXPECT_TRUE(stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), options).converged());
    for (Index i = 0; i < A.local_rows(); ++i) EXPECT_EQ(x.view()(i, 0), Complex(0));
}

TEST_P(ComplexMethodTest, SaysThatANaNIsNotFinite) {
    const Grid grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    ComplexValues b(A, 1, [](Global i, int) { return i == 3 ? Complex(0, NAN) : Complex(1, 1); }), x(A, 1);
    SolveOptions options;
    options.method = method.name;
    EXPECT_EQ(stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), options).status, Status::not_finite);
}

TEST_P(ComplexMethodTest, HermitianMethodsAreThoseOfTheRealSystem) {
    if (!hermitian()) GTEST_SKIP();
    // [Re A, −Im A; Im A, Re A], the two rows of a number side by side.
    const Grid grid = hermitian_grid();
    const auto partition = Partition::even(grid.rows(), comm.size());
    const auto A = complex_matrix(comm, partition, grid);
    std::vector<Global> starts;
    for (int p = 0; p <= comm.size(); ++p) starts.push_back(2 * partition.first(p));
    LocalRows<double> rows;
    for (Global i = partition.first(comm.rank()); i < partition.first(comm.rank() + 1); ++i)
        for (const bool imaginary : {false, true}) {
            for (Global j = 0; j < grid.rows(); ++j) {
                const Complex a = grid(i, j);
                if (a == 0.0) continue;
                rows.columns.insert(rows.columns.end(), {2 * j, 2 * j + 1});
                rows.values.insert(rows.values.end(),
                                   {imaginary ? a.imag() : a.real(), imaginary ? a.real() : -a.imag()});
            }
            rows.start.push_back(static_cast<Global>(rows.columns.size()));
        }
    const CsrMatrix<double> real(comm, Partition(starts), std::move(rows));
    ComplexValues b(A, 1, [](Global i, int j) { return random_complex(11, i, j); }), x(A, 1);
    std::vector<double> rb, rx(2 * static_cast<std::size_t>(A.local_rows()));
    for (Index i = 0; i < A.local_rows(); ++i) rb.insert(rb.end(), {b.view()(i).real(), b.view()(i).imag()});
    SolveOptions options;
    options.method = method.name;
    options.history = true;
    const auto one = stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), options);
    const auto other = stretto::solve<double>(comm, real, Identity{}, {rb.data(), real.local_rows(), 1},
                                              {rx.data(), real.local_rows(), 1}, options);
    ASSERT_TRUE(one.converged());
    ASSERT_EQ(one.iterations, other.iterations);
    for (std::size_t k = 0; k < one.history.size(); ++k)
        EXPECT_NEAR(one.history[k], other.history[k], 1e-6 * other.history[k] + 1e-9) << k;
}

INSTANTIATE_TEST_SUITE_P(All, ComplexMethodTest, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& each) { return std::string(each.param->name); });

/// ‖b − A x‖ for the best x of the Krylov space of n vectors, by Gram–Schmidt in plain loops.
std::vector<double> least_residuals(const Grid& grid, int n) {
    const auto size = static_cast<std::size_t>(grid.rows());
    const auto inner = [&](const std::vector<Complex>& a, const std::vector<Complex>& b) {
        Complex sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += std::conj(a[i]) * b[i];
        return sum;
    };
    std::vector<Complex> r(size), v;
    for (std::size_t i = 0; i < size; ++i) r[i] = random_complex(7, static_cast<Global>(i), 0);
    v = r;
    std::vector<std::vector<Complex>> images;  // orthonormal, of A K_n
    std::vector<double> norms;
    for (int k = 0; k < n; ++k) {
        std::vector<Complex> w(size);
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = 0; j < size; ++j)
                if (const Complex a = grid(static_cast<Global>(i), static_cast<Global>(j)); a != 0.0) w[i] += a * v[j];
        for (int twice = 0; twice < 2; ++twice)
            for (const auto& image : images) {
                const Complex overlap = inner(image, w);
                for (std::size_t i = 0; i < size; ++i) w[i] -= overlap * image[i];
            }
        const double length = std::sqrt(inner(w, w).real());
        for (auto& value : w) value /= length;
        const Complex overlap = inner(w, r);
        for (std::size_t i = 0; i < size; ++i) r[i] -= overlap * w[i];
        norms.push_back(std::sqrt(inner(r, r).real()));
        images.push_back(w);
        v = w;  // spans the same space with those before
    }
    return norms;
}

TEST_F(ComplexTest, GmresTakesTheLeastResidual) {
    const std::vector<Grid> grids{convection_grid(), helmholtz_grid(), skew_grid()};
    for (const auto& grid : grids) {
        const auto least = least_residuals(grid, 25);
        const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
        for (const char* method :
             {"gmres", "gmres:orth=cgs2", "gmres:orth=cgs", "gmres:orth=mgs", "s_step_gmres:orth=bcgs2", "s_step_gmres",
              "pipelined_gmres", "pipelined_s_step_gmres"}) {
            ComplexValues b(A, 1, [](Global i, int j) { return random_complex(7, i, j); }), x(A, 1);
            SolveOptions options;
            options.method = method;
            options.max_iterations = 25;
            options.history = true;
            options.rtol = 0;
            const auto result = stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), options);
            ASSERT_EQ(result.history.size(), least.size()) << method;
            for (std::size_t k = 0; k < least.size(); ++k)
                EXPECT_NEAR(result.history[k], least[k], 1e-6 * least[0] + 1e-3 * least[k]) << method << ' ' << k;
        }
    }
}

/// The adjoint without its conjugation.
struct Unconjugated {
    AnyOperator<Complex> A;
    void apply(MultiVector<Complex> x, MultiVector<Complex> y) const { A.apply(x, y); }
    void apply_transpose(MultiVector<Complex> x, MultiVector<Complex> y) const {
        std::vector<Complex> conjugated(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) conjugated[i] = std::conj(x.data()[i]);
        A.apply_transpose({conjugated.data(), x.rows(), x.columns()}, y);
        for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = std::conj(y.data()[i]);
    }
    double bytes(int) const { return 0; }
};

TEST_F(ComplexTest, BicgstabMethodsAreOneAndAMissingConjugationShows) {
    const Grid grid = convection_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const auto M = make_complex_preconditioner("block_jacobi:ilu0", A);
    const AnyOperator<Complex> none = Identity{}, ilu(*M);
    const Unconjugated wrong{A}, wrong_ilu{ilu};
    const auto history = [&](AnyOperator<Complex> op, const char* method, const AnyOperator<Complex>& by) {
        ComplexValues b(A, 1, [](Global i, int j) { return random_complex(7, i, j); }), x(A, 1);
        SolveOptions options;
        options.method = method;
        options.history = true;
        const auto result = stretto::solve<Complex>(comm, op, by, b.view(), x.view(), options);
        EXPECT_TRUE(result.converged());
        return result.history;
    };
    for (const auto* const by : {&none, &ilu}) {
        const auto classic = history(A, "bicgstab", *by);
        const auto farthest = [&](const std::vector<double>& other) {
            double most = 0;
            for (std::size_t k = 0; k < 6; ++k) most = std::max(most, std::abs(std::log(other.at(k) / classic.at(k))));
            return most;
        };
        EXPECT_LT(farthest(history(A, "improved_bicgstab", *by)), 1e-6);
        EXPECT_LT(farthest(history(A, "reordered_bicgstab", *by)), 1e-6);
        EXPECT_LT(farthest(history(A, "pipelined_bicgstab", *by)), 1e-6);
        EXPECT_GT(farthest(history(wrong, "improved_bicgstab", *by)), 0.1) << "the adjoint of A";
        if (*by) {
            EXPECT_GT(farthest(history(A, "improved_bicgstab", wrong_ilu)), 0.1) << "the adjoint of M⁻¹";
        }
    }
}

// Mirror images that are equal, not conjugate: cg's first steps are others, and its word is still kept.
TEST_F(ComplexTest, MirrorImagesThatAreNotConjugatedShow) {
    Grid grid = hermitian_grid();
    const auto history = [&] {
        const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
        ComplexValues b(A, 1, [](Global i, int j) { return random_complex(7, i, j); }), x(A, 1), r(A, 1);
        const auto result = stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(),
                                                    {.method = "cg", .max_iterations = 300, .history = true});
        A.residual(b.view(), x.view(), r.view());
        const double left = std::sqrt(inner_product(comm, r.view(), r.view(), 0, 0).real() /
                                      inner_product(comm, b.view(), b.view(), 0, 0).real());
        EXPECT_EQ(result.converged(), left <= 1e-8) << left;
        return result.history;
    };
    const auto right = history();
    grid.west = grid.east;
    grid.south = grid.north;
    const auto wrong = history();
    double most = 0;
    for (std::size_t k = 0; k < std::min<std::size_t>(6, wrong.size()); ++k)
        most = std::max(most, std::abs(std::log(wrong[k] / right.at(k))));
    EXPECT_GT(most, 0.1);
}

TEST_F(ComplexTest, TransposedSolvesAreOfTheAdjoint) {
    const Grid grid = convection_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    ComplexValues b(A, 1, [](Global i, int j) { return random_complex(12, i, j); }), x(A, 1), y(A, 1);
    Solver<Complex> solver(comm, A, Identity{}, A.local_rows(), 1, {.method = "bicgstab"});
    ASSERT_TRUE(solver.solve_transposed(b.view(), x.view()).converged());
    A.apply_transpose(x.view(), y.view());
    for (Index i = 0; i < A.local_rows(); ++i) EXPECT_NEAR(std::abs(y.view()(i) - b.view()(i)), 0, 1e-6);

    const Unconjugated wrong{A};
    Solver<Complex> unconjugated(comm, wrong, Identity{}, A.local_rows(), 1, {.method = "bicgstab"});
    ASSERT_TRUE(unconjugated.solve_transposed(b.view(), x.view()).converged());
    A.apply_transpose(x.view(), y.view());
    double farthest = 0;
    for (Index i = 0; i < A.local_rows(); ++i) farthest = std::max(farthest, std::abs(y.view()(i) - b.view()(i)));
    EXPECT_GT(all_max(comm, farthest), 0.1) << "solved with Aᵀ";
}

TEST_F(ComplexTest, RefusesWhatItCannotDo) {
    const Grid grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    const NullSpace constants(comm, {std::vector<double>(static_cast<std::size_t>(A.local_rows()), 1.0)});
    SolveOptions options;
    options.null_space = &constants;
    EXPECT_THROW(Solver<Complex>(comm, A, Identity{}, A.local_rows(), 1, options), InputError);
    EXPECT_THROW(complex_matrix(comm, Partition::even(grid.rows(), comm.size()),
                                [&](Global i, Global j) { return i == j ? Complex(1, NAN) : Complex(0); }),
                 InputError);
}

TEST_F(ComplexTest, TakesTheMostColumns) {
    const Grid grid = hermitian_grid(1);
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid, 2);
    for (const char* method : {"pipelined_cg", "bicgstab"}) {
        // Columns of very different lengths, whose largest value tells: one of them vanishes.
        ComplexValues b(A, max_columns, [](Global i, int j) {
            return std::pow(10.0, -5 * (j % 40)) * (j == 63 ? 0 : 1) * random_complex(13, i, j);
        });
        ComplexValues x(A, max_columns);
        const auto result = stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), {.method = method});
        for (int j = 0; j < max_columns; ++j) {
            if (j % 40 == 24) continue;  // just at the limit
            EXPECT_EQ(result.columns[static_cast<std::size_t>(j)].status,
                      j % 40 < 24 || j == 63 ? Status::converged : Status::not_finite)
                << method << ' ' << j;
        }
    }
}

TEST_F(ComplexTest, CgSaysThatAMatrixIsNotDefinite) {
    const Grid grid = hermitian_grid(-4.0);
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    ComplexValues b(A, 1, [](Global i, int j) { return random_complex(7, i, j); }), x(A, 1);
    const auto result = stretto::solve<Complex>(comm, A, Identity{}, b.view(), x.view(), {.method = "cg"});
    EXPECT_FALSE(result.converged());
    EXPECT_EQ(result.status, Status::indefinite_matrix);
}

}  // namespace
