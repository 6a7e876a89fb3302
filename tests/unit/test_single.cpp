// SPDX-License-Identifier: BSD-3-Clause
// Vectors in single precision under the same contract: iterative refinement, and preconditioners rounded to it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "complex_systems.hpp"
#include "preconditioner_cases.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/linear_system.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

Result refined(Comm& comm, const CsrMatrix<double>& A, const Preconditioner* M, Values& b, Values& x,
               const std::string& method, double rtol) {
    SolveOptions o;
    o.method = method;
    o.rtol = rtol;
    o.max_iterations = 20000;
    const auto result = M ? solve<double>(comm, A, *M, b.view(), x.view(), o)
                          : solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    const auto residuals = true_residuals(A, b, x);
    for (std::size_t j = 0; j < residuals.size(); ++j)
        if (result.columns[j].status == Status::converged) {
            EXPECT_LE(residuals[j], rtol * (1 + 1e-6)) << method << " lied about column " << j;
        }
    return result;
}

struct RefinedMethod : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();
    std::string spec = method.needs != Needs::any ? "jump2d:23x31,contrast=100" : "convdiff2d:23x31,peclet=30";
    std::string refine = fmt::format("refine:inner={}", method.name);
};

TEST_P(RefinedMethod, ConvergesAsFarAsInDouble) {
    const auto A = problem(comm, spec);
    struct Case {
        std::string precond;
        int columns;
        double rtol;
    };
    for (const auto& [precond, columns, rtol] :
         {Case{"none", 1, 1e-6}, {"jacobi", 3, 1e-12}, {"block_jacobi:ilu0", 2, 1e-10}, {"chebyshev", 1, 1e-12}}) {
        const auto M = make_preconditioner(precond, A);
        Values expected(A, columns, random_values), b(A, columns), x(A, columns);
        A.apply(expected.view(), b.view());
        const auto result = refined(comm, A, M.get(), b, x, refine, rtol);
        EXPECT_EQ(result.status, Status::converged) << refine << " with " << precond << " to " << rtol;
        EXPECT_LT(distance(comm, x, expected), 1e5 * rtol) << refine << " with " << precond;
    }
}

TEST_P(RefinedMethod, MovesFewerBytes) {
    const auto A = problem(comm, spec);
    const auto bytes = [&](const std::string& name) {
        Values b(A, 1, random_values), x(A, 1);
        SolveOptions o;
        o.method = name;
        o.rtol = 1e-4;
        const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
        const auto& counts = result.ledger.at(Phase::iteration);
        return counts.bytes / static_cast<double>(std::max<std::int64_t>(1, counts.applies));
    };
    EXPECT_LE(bytes(refine), 0.75 * bytes(std::string(method.name)));
}

INSTANTIATE_TEST_SUITE_P(All, RefinedMethod, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& of) { return std::string(of.param->name); });

/// A, M, b and x in single precision.
struct SolverOfFloats : RefinedMethod {};

TEST_P(SolverOfFloats, ConvergesToFiveDigits) {
    const auto A = problem(comm, spec);
    const CsrMatrix<float> of_floats(comm, A.partition(), rounded_rows(A));
    const auto M = make_preconditioner("jacobi", A);
    const auto by = M->in_single();
    for (const int m : {1, 3}) {
        const Index n = A.local_rows();
        std::vector<float> b(static_cast<std::size_t>(n * m)), x(b.size());
        for (Index i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j)
                b[static_cast<std::size_t>(i * m + j)] =
                    static_cast<float>(uniform(5, A.partition().first(comm.rank()) + i, j));
        Solver<float> solver(comm, of_floats, by.op, n, m, {.method = std::string(method.name), .rtol = 1e-5});
        for (int again = 0; again < 2; ++again) {
            const auto& result = solver.solve({b.data(), n, m}, {x.data(), n, m});
            EXPECT_EQ(result.status, Status::converged) << method.name;
        }
        std::vector<double> of_x(x.begin(), x.end()), Ax(x.size());
        A.apply({of_x.data(), n, m}, {Ax.data(), n, m});
        for (int j = 0; j < m; ++j) {
            double residual = 0, size = 0;
            for (Index i = 0; i < n; ++i) {
                const auto k = static_cast<std::size_t>(i * m + j);
                residual += (b[k] - Ax[k]) * (b[k] - Ax[k]);
                size += double{b[k]} * b[k];
            }
            EXPECT_LE(std::sqrt(all_sum(comm, residual) / all_sum(comm, size)), 1.2e-5) << method.name;
        }
    }
}

/// What floats cannot tell is not called converged.
TEST_P(SolverOfFloats, SayWhereTheyEnd) {
    const auto A = problem(comm, spec);
    const auto single = A.in_single();
    const Index n = A.local_rows();
    std::vector<float> b(static_cast<std::size_t>(n), 1.0F), x(b.size());
    const auto result = solve<float>(comm, single.op, Identity{}, {b.data(), n, 1}, {x.data(), n, 1},
                                     {.method = std::string(method.name), .rtol = 1e-12, .max_iterations = 3000});
    EXPECT_FALSE(result.converged()) << method.name;
    EXPECT_LT(result.relative_residual(), 1e-4) << method.name;
}

INSTANTIATE_TEST_SUITE_P(All, SolverOfFloats, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& of) { return std::string(of.param->name); });

struct Refined : Solves {};

TEST_F(Refined, TakesAboutAsManyIterations) {
    const auto A = problem(comm, "poisson2d:40");
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    for (const auto& [in_double, in_single] : {std::pair{"gmres", "gmres:basis=single"}, {"cg", "refine:inner=cg"}}) {
        const auto plain = run(A, b, x, in_double), refined = run(A, b, y, in_single);
        EXPECT_EQ(refined.status, Status::converged);
        EXPECT_EQ(refined.finished_by, plain.finished_by);
        EXPECT_LE(refined.iterations, 1.4 * plain.iterations) << in_single;
        EXPECT_FALSE(tells(refined, "going on in double"));
    }
}

TEST_F(Refined, GoesOnInDoubleWhereSinglePrecisionIsNotEnough) {
    // Of condition 1e10: what single precision makes of a residual is no correction.
    const auto A = matrix(comm, 60, [](Global i, Global j) { return i == j ? std::pow(10.0, double(i) / 6) : 0.0; });
    Values b(A, 2, random_values), x(A, 2);
    const auto D = matrix(comm, 60, [](Global i, Global j) {
        return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 - 1e-9 * static_cast<double>(i + j) : 0.0;
    });
    for (const auto* hard : {&A, &D}) {
        x = Values(*hard, 2);
        const auto result = run(*hard, b, x, "refine:inner=gmres,m=60", 1e-10);
        EXPECT_EQ(result.status, Status::converged);
    }
    const auto hilbert = matrix(comm, 12, [](Global i, Global j) { return 1.0 / static_cast<double>(i + j + 1); });
    Values ones(hilbert, 1, [](Global, int) { return 1.0; }), c(hilbert, 1), z(hilbert, 1);
    hilbert.apply(ones.view(), c.view());
    const auto result = run(hilbert, c, z, "refine:inner=bicgstab", 1e-12);
    EXPECT_TRUE(tells(result, "going on in double"));
}

TEST_F(Refined, EndsAsTheMethodDoes) {
    const auto indefinite = matrix(comm, 20, [](Global i, Global j) { return i == j ? (i == 10 ? -1.0 : 1.0) : 0.0; });
    Values b(indefinite, 1, random_values), x(indefinite, 1);
    const auto broken = run(indefinite, b, x, "refine:inner=cg");
    EXPECT_EQ(broken.status, Status::indefinite_matrix);

    const auto A = problem(comm, "poisson2d:30");
    Values c(A, 4,
             [](Global row, int j) {
                 return j == 0 ? 1e-25 * uniform(5, row, j) : j == 1 ? 1e25 * uniform(5, row, j) : j == 2 ? 0.0 : 1.0;
             }),
        y(A, 4);
    const auto together = run(A, c, y, "refine:inner=cg", 1e-10);
    for (const auto& column : together.columns) EXPECT_EQ(column.status, Status::converged);
    EXPECT_EQ(together.columns[2].iterations, 0);

    SolveOptions o;
    o.method = "refine:inner=pipelined_cg";
    o.max_iterations = 7;
    Values z(A, 4);
    const auto limited = solve<double>(comm, A, Identity{}, c.view(), z.view(), o);
    EXPECT_EQ(limited.iterations, 7);
    EXPECT_EQ(limited.status, Status::max_iterations);
    EXPECT_FALSE(tells(limited, "going on in double"));

    std::atomic<bool> interrupt{true};
    o.interrupt = &interrupt;
    const auto stopped = solve<double>(comm, A, Identity{}, c.view(), z.view(), o);
    EXPECT_EQ(stopped.status, Status::interrupted);
}

TEST_F(Refined, IsBelievedAtTheToleranceAlone) {
    const auto A = problem(comm, "poisson2d:30");
    Values b(A, 2, [](Global row, int j) { return j == 0 ? 1.0 : uniform(5, row, j); }), x(A, 2);
    SolveOptions o;
    o.method = "refine:inner=cg";
    o.verify = Verify::recurrence;
    o.rtol = 1e-10;
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    EXPECT_EQ(result.status, Status::passed_unverified);
    for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 2e-10);
    // A column that waits for another at the end of a run has not iterated meanwhile.
    Values e(A, 1), y(A, 1);
    for (int j = 0; j < 2; ++j) {
        e = Values(A, 1, [&](Global row, int) { return j == 0 ? 1.0 : uniform(5, row, j); });
        y = Values(A, 1);
        const auto alone = solve<double>(comm, A, Identity{}, e.view(), y.view(), o);
        EXPECT_NEAR(result.columns[static_cast<std::size_t>(j)].iterations, alone.iterations, 2);
    }
}

TEST_F(Refined, ReportsResidualsInTheUnitsOfB) {
    const auto A = problem(comm, "poisson2d:30");
    Values b(A, 1, [](Global row, int j) { return 1e5 * uniform(5, row, j); }), x(A, 1);
    SolveOptions o;
    o.method = "refine:inner=cg";
    o.history = o.true_history = true;
    double told = 0, first = 0;
    o.monitor = [&](const IterationInfo& info) {
        if (info.iteration == 0) first = info.residuals[0];
        told = info.residuals[0];
        return true;
    };
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    ASSERT_EQ(result.status, Status::converged);
    ASSERT_EQ(std::ssize(result.history), result.iterations);
    EXPECT_NEAR(first, result.columns[0].norm_b, 1e-10 * first);
    EXPECT_NEAR(result.history.front() / first, 1, 0.9);
    EXPECT_LE(result.history.back(), 1e-8 * first);
    EXPECT_EQ(told, result.history.back());
}

TEST_F(Refined, SolvesAgainWithNewValuesAndTransposed) {
    auto [partition, rows] = generate(comm, "convdiff2d:20x21,peclet=20");
    CsrMatrix<double> A(comm, partition, rows);
    Values b(A, 1, random_values), x(A, 1);
    SolveOptions o;
    o.method = "refine:inner=gmres";
    const auto M = make_preconditioner("block_jacobi:ilu0", A);
    Solver<double> solver(comm, A, *M, A.local_rows(), 1, o);
    const auto first = solver.solve(b.view(), x.view());
    EXPECT_EQ(first.status, Status::converged);
    for (auto& value : rows.values) value *= 3;
    A.update_values(rows.values);
    EXPECT_TRUE(M->update(1));
    Values y(A, 1), z(A, 1);
    const auto second = solver.solve(b.view(), y.view());
    EXPECT_EQ(second.status, Status::converged);
    EXPECT_EQ(second.iterations, first.iterations);
    for (std::size_t i = 0; i < y.data().size(); ++i) EXPECT_NEAR(3 * y.data()[i], x.data()[i], 1e-5);
    const auto transposed = solver.solve_transposed(b.view(), z.view());
    EXPECT_EQ(transposed.status, Status::converged);
    Values back(A, 1);
    A.apply_transpose(z.view(), back.view());
    EXPECT_LT(distance(comm, back, b), 1e-6);
    EXPECT_EQ(solver.solve(b.view(), y.view()).status, Status::converged);
}

/// An operator of a program, without products in single precision.
struct Own {
    const CsrMatrix<double>* A;
    void apply(MultiVector<double> x, MultiVector<double> y) const { A->apply(x, y); }
    double bytes(int columns) const { return A->bytes(columns); }
};

TEST_F(Refined, TakesOperatorsOfDoubleVectors) {
    const auto A = problem(comm, "poisson2d:30");
    Values b(A, 2, random_values), x(A, 2);
    const Own own{&A};
    SolveOptions o;
    o.method = "refine:inner=pipelined_cg";
    const auto M = make_preconditioner("additive_schwarz:restricted=0", A);
    EXPECT_EQ(solve<double>(comm, own, *M, b.view(), x.view(), o).status, Status::converged);
    for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1e-8);
}

TEST_F(Refined, SystemsHandThePreconditionerOn) {
    auto rows = generate(comm, "poisson2d:40");
    LinearSystem system(comm, std::move(rows), {.precond = "jacobi"});
    Values b(system.matrix(), 1, random_values);
    const auto bytes = [&](const std::string& method) {
        Values x(system.matrix(), 1);
        SolveOptions o;
        o.method = method;
        const auto result = system.solve(b.view(), x.view(), o);
        EXPECT_EQ(result.status, Status::converged);
        return result.per_iteration.bytes;
    };
    if (system.matrix().local_rows() > 0) {
        const auto classic = bytes("cg"), refined = bytes("refine:inner=cg");
        EXPECT_GT(refined, 0);
        EXPECT_LE(refined, 0.6 * classic);
    }
}

TEST_F(Refined, HermitianSystemsArePairsOfReals) {
    const auto grid = hermitian_grid();
    const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid);
    ComplexValues b(A, 1, [](Global row, int j) { return Complex(uniform(5, row, j), uniform(6, row, j)); }), x(A, 1);
    SolveOptions o;
    o.method = "refine:inner=cg";
    EXPECT_EQ(solve<Complex>(comm, A, Identity{}, b.view(), x.view(), o).status, Status::converged);
    // Products of the complex matrix in single precision, as bytes tell: half of those in double.
    const auto refined = solve<Complex>(comm, A, Identity{}, b.view(), x.view(), o).per_iteration.bytes;
    o.method = "cg";
    const auto plain = solve<Complex>(comm, A, Identity{}, b.view(), x.view(), o).per_iteration.bytes;
    if (A.local_rows() > 0) {
        EXPECT_LE(refined, 0.7 * plain);
    }
}

TEST_F(Refined, SaysWhatToType) {
    const auto A = problem(comm, "poisson2d:5");
    Values b(A, 1), x(A, 1);
    const auto says = [&](const std::string& method) { return refusal_of([&] { (void)run(A, b, x, method); }); };
    expect_part(says("refine"), "type refine:inner=NAME");
    expect_part(says("refine:inner=cgg"), "there is no method 'cgg'");
    expect_part(says("refine:inner=cg,m=3"), "m");
    expect_part(says("gmres:basis=half"), "basis");
}

struct RoundedPreconditioner : testing::TestWithParam<std::string> {
    MpiComm comm;
};

TEST_P(RoundedPreconditioner, IsTheSameToSinglePrecisionAndSmaller) {
    const auto A = problem(comm, "convdiff2d:20x21,peclet=5");
    const std::string &spec = GetParam(), joined = spec + (spec.find(':') == std::string::npos ? ":" : ",");
    const auto M = make_preconditioner(spec, A), rounded = make_preconditioner(joined + "precision=single", A);
    for (const int columns : {1, 2, 5}) {
        Values r(A, columns, random_values), z(A, columns), y(A, columns);
        M->apply(r.view(), z.view());
        rounded->apply(r.view(), y.view());
        EXPECT_LT(distance(comm, z, y), 1e-4);
        EXPECT_GT(distance(comm, z, y), 0) << "nothing was rounded";
        if (A.local_rows() > 0) {
            EXPECT_LT(rounded->bytes(columns), M->bytes(columns));
        }
        const auto single = rounded->in_single();
        if (!single.op) continue;
        std::vector<float> from(r.data().begin(), r.data().end()), to(from.size());
        single.op.apply({from.data(), A.local_rows(), columns}, {to.data(), A.local_rows(), columns});
        for (std::size_t i = 0; i < to.size(); ++i) EXPECT_NEAR(to[i], z.data()[i], 1e-4);
    }
    Values b(A, 2, random_values), x(A, 2);
    EXPECT_EQ(refined(comm, A, rounded.get(), b, x, "gmres", 1e-10).status, Status::converged);
}

TEST_P(RoundedPreconditioner, StaysInDoubleWhereSingleCannotHoldItsNumbers) {
    const auto A = problem(comm, "convdiff2d:20x21,peclet=5");
    const std::string &spec = GetParam(), joined = spec + (spec.find(':') == std::string::npos ? ":" : ",");
    for (const auto& [size, step] : {std::pair{1e60, 1.0}, {1e-60, 1.0}, {1.0, 1e50}}) {
        auto rows = A.local();
        for (Index i = 0; i < rows.rows(); ++i)
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
                rows.values[k] *= i % 5 == 3 ? size * step : size;
        const CsrMatrix<double> scaled(comm, A.partition(), std::move(rows), 1);
        const auto M = make_preconditioner(spec, scaled),
                   rounded = make_preconditioner(joined + "precision=single", scaled);
        expect_part(fmt::format("{}", fmt::join(rounded->remarks(), "\n")), "kept in double precision");
        Values r(A, 2, random_values), z(A, 2), y(A, 2);
        M->apply(r.view(), z.view());
        rounded->apply(r.view(), y.view());
        if (step == 1.0) {
            EXPECT_EQ(distance(comm, z, y), 0);
        } else {
            EXPECT_LT(distance(comm, z, y), 1e-4);
        }
        EXPECT_TRUE(std::ranges::all_of(y.data(), [](double value) { return std::isfinite(value) && value != 0; }));
    }
}

TEST(Rounded, NewValuesAreLookedAtAnew) {
    MpiComm comm;
    auto A = problem(comm, "poisson2d:12");
    std::vector<double> usual = A.local().values, large = usual;
    for (double& value : large) value *= 1e60;
    for (const std::string spec : {"jacobi:precision=single", "block_jacobi:ilu0,precision=single"}) {
        const auto M = make_preconditioner(spec, A);
        const auto is_in_double = [&] {
            return fmt::format("{}", fmt::join(M->remarks(), "\n")).find("kept in double") != std::string::npos;
        };
        EXPECT_FALSE(is_in_double()) << spec;
        A.update_values(std::span<const double>(large));
        ASSERT_TRUE(M->update(1));
        EXPECT_TRUE(is_in_double()) << spec;
        A.update_values(std::span<const double>(usual));
        ASSERT_TRUE(M->update(1));
        EXPECT_FALSE(is_in_double()) << spec;
    }
}

INSTANTIATE_TEST_SUITE_P(All, RoundedPreconditioner,
                         testing::Values("jacobi", "block_jacobi:ilu0", "block_jacobi:ilut", "block_jacobi:sai",
                                         "block_jacobi:lu", "additive_schwarz", "chebyshev"));

}  // namespace
