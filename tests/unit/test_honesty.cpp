// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "stretto/io/matrix_market.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

/// The contract: converged means ‖b − Ax‖ ≤ tolerance, recomputed here; nothing aborts, hangs or returns a
/// NaN.
struct HonestyTest : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();

    Result run(const CsrMatrix<double>& A, Values& b, Values& x, SolveOptions o = {}, bool jacobi = false) {
        o.method = method.name;
        const Jacobi M(A);
        const auto result = jacobi ? solve<double>(comm, A, M, b.view(), x.view(), o)
                                   : solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
        const auto residuals = true_residuals(A, b, x);
        for (std::size_t j = 0; j < residuals.size(); ++j) {
            const auto& column = result.columns[j];
            if (column.status == Status::converged) {
                EXPECT_LE(residuals[j], o.rtol * (1 + 1e-6) + 1e-300) << method.name << " lied about column " << j;
            }
            // The residual reported is that of the x returned; of a large x double precision does not tell it.
            if (std::isfinite(column.relative_residual) && long_doubles_are_longer()) {
                EXPECT_NEAR(residuals[j], column.relative_residual, 1e-3 * residuals[j] + 1e-14);
            }
        }
        EXPECT_EQ(result.converged(), std::ranges::all_of(result.columns, [](const auto& column) {
                      return column.status == Status::converged;
                  }));
        return result;
    }
};

TEST_P(HonestyTest, ZeroRightHandSideHasTheZeroSolution) {
    const auto A = problem(comm, "poisson2d:8");
    Values b(A, 1), x(A, 1, [](Global, int) { return 3.0; });
    const auto result = run(A, b, x);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(result.iterations, 0);
    for (const double value : x.data()) EXPECT_EQ(value, 0);
}

TEST_P(HonestyTest, AnExactStartTakesNoIteration) {
    const auto A = problem(comm, "poisson2d:8");
    Values x(A, 1, [](Global row, int) { return static_cast<double>(row % 5); }), b(A, 1);
    A.apply(x.view(), b.view());
    const auto result = run(A, b, x);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(result.iterations, 0);
}

TEST_P(HonestyTest, OneByOneAndMoreRanksThanRows) {
    const auto A = matrix(comm, 1, [](Global, Global) { return 4.0; });
    Values b(A, 2, [](Global, int j) { return j + 1.0; }), x(A, 2);
    EXPECT_EQ(run(A, b, x).status, Status::converged);
    for (Index i = 0; i < A.local_rows(); ++i) EXPECT_NEAR(x.view()(i, 1), 0.5, 1e-15);
}

TEST_P(HonestyTest, TheIdentityTakesOneIteration) {
    const auto A = matrix(comm, 50, [](Global i, Global j) { return i == j ? 1.0 : 0.0; });
    Values b(A, 3, [](Global row, int j) { return uniform(1, row, j); }), x(A, 3);
    const auto result = run(A, b, x);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_LE(result.iterations, 2);
}

TEST_P(HonestyTest, BeyondDoublePrecisionItStagnatesAndSaysWhere) {
    const auto A = problem(comm, "jump2d:30,contrast=1e4");
    Values b(A, 1, [](Global row, int) { return uniform(1, row); }), x(A, 1);
    SolveOptions o;
    o.rtol = 1e-17;
    const auto result = run(A, b, x, o, true);
    EXPECT_EQ(result.status, Status::stagnated);
    EXPECT_LT(result.relative_residual(), 1e-12);
    EXPECT_FALSE(result.events.empty());
}

TEST_P(HonestyTest, SingularMatrices) {
    // The Neumann Laplacian in one dimension: consistent for b of zero mean, inconsistent for the others.
    const auto A = matrix(comm, 60, [](Global i, Global j) {
        if (i == j) return i == 0 || i == 59 ? 1.0 : 2.0;
        return std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    Values b(A, 2, [](Global row, int j) { return j == 1 ? 1.0 : row < 30 ? 1.0 : -1.0; }), x(A, 2);
    const auto result = run(A, b, x);
    EXPECT_EQ(result.columns[0].status, Status::converged);
    EXPECT_NE(result.columns[1].status, Status::converged);
    const auto zero = matrix(comm, 10, [](Global, Global) { return 0.0; });
    Values b0(zero, 1, [](Global, int) { return 1.0; }), x0(zero, 1);
    EXPECT_NE(run(zero, b0, x0).status, Status::converged);
}

TEST_P(HonestyTest, IndefiniteMatricesAreNamedOrSolved) {
    // Eigenvalues of both signs.
    const auto A =
        matrix(comm, 40, [](Global i, Global j) { return i == j ? (i % 2 ? 1.0 + 0.1 * i : -2.0 - 0.2 * i) : 0.0; });
    Values b(A, 1, [](Global row, int) { return uniform(1, row); }), x(A, 1);
    const auto result = run(A, b, x);
    const auto expect = [&](const Result& r, Status status) {
        if (method.needs == Needs::positive_definite) {
            EXPECT_EQ(r.status, status);
        } else if (method.needs == Needs::symmetric && status == Status::indefinite_matrix) {
            EXPECT_EQ(r.status, Status::converged);
        }
    };
    expect(result, Status::indefinite_matrix);
    const auto negative = matrix(comm, 40, [](Global i, Global j) { return i == j ? -1.0 - i : 0.0; });
    Values xn(negative, 1);
    expect(run(negative, b, xn), Status::indefinite_matrix);
    Values xp(negative, 1);
    expect(run(negative, b, xp, {}, true), Status::indefinite_preconditioner);
}

TEST_P(HonestyTest, SkewSymmetricMatrices) {
    // ω = (t, s)/(t, t) vanishes, or is rounding error: BiCGStab breaks down, however it starts, also where it
    // lengthens ω; there rounding errors tell when, and some right-hand sides are solved after 10⁴ iterations. GMRES
    // solves it.
    const auto A = matrix(comm, 40, [](Global i, Global j) {
        return j == i + 1 ? 1.0 / 3 + 0.1 * i : i == j + 1 ? -1.0 / 3 - 0.1 * j : 0.0;
    });
    Values b(A, 1, [](Global row, int) { return uniform(1, row); }), x(A, 1);
    if (method.needs == Needs::symmetric) GTEST_SKIP() << "the matrix is not";
    const auto result = run(A, b, x);
    if (method.classic == "gmres") {
        EXPECT_EQ(result.status, Status::converged);
        return;
    }
    EXPECT_NE(result.status, Status::max_iterations);
    if (method.needs != Needs::any) {
        EXPECT_NE(result.status, Status::converged);
    } else if (!result.converged() || method.name != "improved_bicgstab") {
        EXPECT_EQ(result.status, Status::breakdown);
    }
}

TEST_P(HonestyTest, StronglyNonNormalMatrices) {
    // Eigenvalues all one and a condition number of 1e12; Grcar's matrix; a matrix of large skew part.
    for (const auto& entry : std::vector<std::function<double(Global, Global)>>{
             [](Global i, Global j) { return i == j       ? 1.0
                                             : j == i + 1 ? 2.0
                                                          : 0.0; },
             [](Global i, Global j) { return i == j + 1             ? -1.0
                                             : j >= i && j <= i + 3 ? 1.0
                                                                    : 0.0; },
             [](Global i, Global j) {
                 return i == j ? 1.0 : j == i + 1 ? 100.0 : i == j + 1 ? -100.0 : 0.0;
             }}) {
        const auto A = matrix(comm, 40, entry);
        Values b(A, 2, [](Global row, int j) { return j == 0 ? 1.0 : uniform(1, row); }), x(A, 2);
        for (const double rtol : {1e-6, 1e-12}) {
            SolveOptions o;
            o.rtol = rtol;
            o.max_iterations = 3000;
            Values from_zero(A, 2);
            (void)run(A, b, from_zero, o);
        }
    }
}

TEST_P(HonestyTest, EachColumnBreaksDownInAnotherIteration) {
    if (method.classic != "bicgstab") GTEST_SKIP() << "does not break down there";
    // Tridiagonal blocks whose leading minor of order k vanishes for the kth column, up to rounding: from the first
    // unit vector, Lanczos breaks down in iteration k. The last column meets a block without that.
    constexpr int columns = 5, size = 12;
    const auto diagonal = [](int block, int place) {
        double before = 1, minor = 1;  // D_k = a_k D_{k−1} + D_{k−2}, as the off-diagonals are 1 and −1
        for (int k = 0;; ++k) {
            const bool vanish = block < columns - 1 && k == block;
            const double a = vanish ? (k == 0 ? 0 : -before / minor) : 1.7 + 0.1 * k;
            if (k == place) return a;
            const double next = k == 0 ? a : a * minor + before;
            before = minor;
            minor = next;
        }
    };
    const auto A = matrix(comm, columns * size, [&](Global i, Global j) {
        const auto block = static_cast<int>(i / size);
        if (block != j / size) return 0.0;
        return i == j ? diagonal(block, static_cast<int>(i % size)) : j == i + 1 ? 1.0 : i == j + 1 ? -1.0 : 0.0;
    });
    Values b(A, columns, [](Global row, int j) { return row == Global{j} * size ? 1.0 : 0.0; }), x(A, columns);
    const auto result = run(A, b, x);
    EXPECT_EQ(result.status, Status::converged);
    for (int j = 0; j < columns; ++j) {
        const std::string text = "column " + std::to_string(j + 1) + ": a denominator vanished";
        const auto event = std::ranges::find_if(
            result.events, [&](const Event& each) { return each.text.find(text) != std::string::npos; });
        ASSERT_EQ(event != result.events.end(), j < columns - 1) << "column " << j + 1;
        if (j < columns - 1) {
            EXPECT_NEAR(event->iteration, j + 0.5, 1) << "column " << j + 1;
        }
    }
}

TEST_P(HonestyTest, ABreakdownOfTheShadowVectorIsRecovered) {
    if (method.classic != "bicgstab") GTEST_SKIP() << "has no shadow vector";
    // Blocks (0 1; 2 0): for b in the even rows (Ar, r) = 0, so r0 = r breaks down at once, in the first column only.
    const auto A = matrix(comm, 32, [](Global i, Global j) {
        return i / 2 != j / 2 || i == j ? 0.0 : i < j ? 1.0 : 2.0;
    });
    Values b(A, 2, [](Global row, int j) { return j == 0 ? (row + 1) % 2 : uniform(1, row); }), x(A, 2);
    const auto result = run(A, b, x);
    EXPECT_EQ(result.columns[0].status, Status::converged);
    EXPECT_EQ(result.columns[1].status, Status::converged);
    ASSERT_FALSE(result.events.empty());
    EXPECT_NE(result.events.front().text.find("column 1: a denominator vanished"), std::string::npos);
}

TEST_P(HonestyTest, NotFiniteInput) {
    const auto A = problem(comm, "poisson2d:8");
    Values b(A, 3, [](Global row, int j) { return j == 1 && row == 5 ? NAN : j == 2 && row == 1 ? 1e200 : 1.0; });
    Values x(A, 3, [](Global row, int j) { return j == 0 && row == 0 ? NAN : 0.0; });
    const auto result = run(A, b, x);
    EXPECT_EQ(result.columns[0].status, Status::converged) << "a start that is no number is no start";
    EXPECT_EQ(result.columns[1].status, Status::not_finite);
    EXPECT_EQ(result.columns[2].status, Status::not_finite) << "its square overflows";
    EXPECT_TRUE(std::isnan(result.columns[1].relative_residual) && std::isnan(result.relative_residual()));

    // No iteration was allowed, so there is no x whose residual could be told.
    Values one(A, 1, [](Global, int) { return 1.0; }), bad(A, 1, [](Global row, int) { return row == 0 ? NAN : 0.0; });
    SolveOptions none;
    none.max_iterations = 0;
    const auto untried = run(A, one, bad, none);
    EXPECT_EQ(untried.status, Status::max_iterations);
    EXPECT_TRUE(std::isnan(untried.relative_residual()));
}

TEST_P(HonestyTest, APreconditionerOfNothingFiniteSpoilsNoColumnThatIsDone) {
    const auto A = problem(comm, "poisson2d:8");
    struct Spoilt {
        void apply(MultiVector<double>, MultiVector<double> z) const {
            for (Index i = 0; i < z.rows(); ++i)
                for (int j = 0; j < z.columns(); ++j) z(i, j) = NAN;
        }
        void apply_transpose(MultiVector<double> r, MultiVector<double> z) const { apply(r, z); }
        double bytes(int) const { return 0; }
    };
    Values b(A, 2, [](Global, int j) { return j == 0 ? 1.0 : 0.0; }), x(A, 2);
    SolveOptions o;
    o.method = method.name;
    const Spoilt M;
    const auto result = solve<double>(comm, A, M, b.view(), x.view(), o);
    EXPECT_NE(result.columns[0].status, Status::converged);
    EXPECT_EQ(result.columns[1].status, Status::converged);
    for (const double value : x.data()) EXPECT_EQ(value, 0);
}

TEST_P(HonestyTest, WhatNoRowReadsOfXIsFiniteToo) {
    const auto A = matrix(comm, 30, [](Global i, Global j) { return i == j && i < 29 ? 1.0 + (i % 3) : 0.0; });
    Values b(A, 1, [](Global row, int) { return row < 29 ? uniform(1, row) : 0; }),
        x(A, 1, [](Global row, int) { return row < 29 ? 0 : NAN; });
    EXPECT_EQ(run(A, b, x).status, Status::converged);
    for (const double value : x.data()) EXPECT_TRUE(std::isfinite(value)) << method.name;
}

TEST_P(HonestyTest, RoundingErrorsAreNoResidual) {
    // The solution grows so fast that its rounding alone leaves more than the tolerance, though double precision may
    // find b − A x to be zero after a substitution.
    const auto A = matrix(comm, 4, [](Global i, Global j) { return i == j ? 1.1e-3 : j == i - 1 ? 0.7 : 0.0; });
    const auto of_b = [](Global row, int j) { return row == 0 ? 1.0 + 0.3 * j : 0; };
    Values b(A, 3, of_b), x(A, 3, [&](Global last, int j) {
        double value = 0;
        for (Global row = 0; row <= last; ++row) value = (of_b(row, j) - 0.7 * value) / 1.1e-3;
        return value;
    });
    SolveOptions o;
    o.rtol = 1e-9;
    o.max_iterations = 100;
    EXPECT_FALSE(run(A, b, x, o).converged()) << method.name;
}

TEST_P(HonestyTest, OverflowInFlightEndsSoon) {
    // Entries so small that steps along x overflow.
    const auto A = matrix(comm, 2, [](Global i, Global j) { return i == j ? 1e-310 : 5e-311; });
    Values b(A, 1, [](Global row, int) { return row == 0 ? 1.0 : -1.0; }), x(A, 1);
    const auto result = run(A, b, x);
    // Squares of them vanish: where a method divides by one, that is a breakdown.
    EXPECT_TRUE(result.status == Status::not_finite ||
                (method.needs == Needs::symmetric && result.status == Status::breakdown));
    EXPECT_LT(result.iterations, 10);
    EXPECT_LT(result.events.size(), 10u);
    for (const double value : x.data()) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(HonestyTest, ScalesOfTheRightHandSide) {
    const auto A = problem(comm, "poisson2d:20");
    for (const double scale : {1e-100, 1e-8, 1.0, 1e8, 1e100}) {
        Values b(A, 1, [&](Global row, int) { return scale * uniform(1, row); }), x(A, 1);
        EXPECT_EQ(run(A, b, x).status, Status::converged) << scale;
    }
}

TEST_P(HonestyTest, LimitsAndInterrupts) {
    const auto A = problem(comm, "poisson2d:40");
    Values b(A, 1, [](Global row, int) { return uniform(1, row); }), x(A, 1);
    for (const int limit : {0, 1, 7}) {
        SolveOptions o;
        o.max_iterations = limit;
        const auto result = run(A, b, x, o);
        EXPECT_EQ(result.status, Status::max_iterations);
        EXPECT_EQ(result.iterations, limit);
    }
    std::atomic<bool> flag{false};
    SolveOptions o;
    o.interrupt = &flag;
    o.monitor = [&](const IterationInfo& info) {
        flag = flag || (info.iteration == 5 && comm.rank() == 0);
        return true;
    };
    const auto result = run(A, b, x, o);
    EXPECT_EQ(result.status, Status::interrupted);
    EXPECT_GE(result.iterations, 5);
    EXPECT_LE(result.iterations, 6 + std::max(1.0, 1 / method.reductions)) << "known at the next reduction";
}

TEST_P(HonestyTest, WrongSizesAndOptionsAreRefusedOnAllRanks) {
    const auto A = problem(comm, "poisson2d:8");
    Values b(A, 2), x(A, 1), many(A, 65), many_x(A, 65);
    EXPECT_THROW(run(A, b, x), InputError);
    EXPECT_THROW(run(A, many, many_x), InputError);
    // One rank alone brings vectors of another length than A's.
    const Index rows = A.local_rows() - (comm.rank() == comm.size() - 1);
    std::vector<double> shorter(static_cast<std::size_t>(rows)), short_x(shorter.size());
    EXPECT_THROW((void)solve<double>(comm, A, Identity{}, {shorter.data(), rows, 1}, {short_x.data(), rows, 1}),
                 InputError);
    SolveOptions negative;
    negative.rtol = -1;
    Values x2(A, 2);
    EXPECT_THROW(run(A, b, x2, negative), InputError);
    SolveOptions o;
    for (const auto* text :
         {"nonsense", "cg:depth=3", "pipelined_cg:check=-1", "pipelined_cg:check=1.5", "cg:patience="}) {
        o.method = text;
        EXPECT_THROW((void)solve<double>(comm, A, Identity{}, b.view(), x2.view(), o), InputError) << text;
    }
}

TEST_P(HonestyTest, OperatorsWithoutATransposeAreRefusedWhereItIsNeeded) {
    struct OneWay {
        void apply(MultiVector<double> x, MultiVector<double> y) const { std::ranges::copy(x.values(), y.data()); }
        double bytes(int) const { return 0; }
    };
    const auto A = problem(comm, "poisson2d:8");
    Values b(A, 1, [](Global, int) { return 1.0; }), x(A, 1);
    SolveOptions o;
    o.method = method.name;
    const OneWay one_way;
    const auto with_operator = [&] { (void)solve<double>(comm, one_way, Identity{}, b.view(), x.view(), o); };
    const auto with_preconditioner = [&] { (void)solve<double>(comm, A, one_way, b.view(), x.view(), o); };
    if (method.transpose) {
        EXPECT_THROW(with_operator(), InputError);
        EXPECT_THROW(with_preconditioner(), InputError);
    } else {
        EXPECT_NO_THROW(with_operator());
        EXPECT_NO_THROW(with_preconditioner());
    }
}

TEST_P(HonestyTest, HugeConditionNumbers) {
    for (const double kappa : {1e6, 1e10, 1e14}) {
        const auto A = matrix(comm, 200, [&](Global i, Global j) {
            return i == j ? std::pow(kappa, -static_cast<double>(i) / 199) : 0.0;
        });
        Values b(A, 1, [](Global row, int) { return uniform(1, row); }), x(A, 1);
        SolveOptions o;
        o.rtol = 1e-10;
        o.max_iterations = 1000;
        (void)run(A, b, x, o);
    }
}

TEST_P(HonestyTest, RealMatricesToFourTolerances) {
    const char* folder = std::getenv("STRETTO_MATRICES");
    if (!folder) GTEST_SKIP() << "set STRETTO_MATRICES to a folder of .mtx.gz files";
    int solved = 0;
    for (const auto* file : {"jpwh_991", "orsirr_1", "nos3", "pde900", "sherman1", "pyamg_bar", "steam2", "watt_1"}) {
        auto [partition, rows] = read_matrix(comm, std::string(folder) + "/" + file + ".mtx.gz", 1);
        const CsrMatrix<double> A(comm, std::move(partition), std::move(rows));
        Values ones(A, 1, [](Global, int) { return 1.0; }), b(A, 1);
        A.apply(ones.view(), b.view());
        for (const double rtol : {1e-6, 1e-8, 1e-10, 1e-12}) {
            Values x(A, 1);
            SolveOptions o;
            o.rtol = rtol;
            o.max_iterations = 3000;
            solved += run(A, b, x, o, true).converged();
        }
    }
    EXPECT_GE(solved, method.needs != Needs::any ? 8 : 20);
}

INSTANTIATE_TEST_SUITE_P(Registry, HonestyTest, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
