// SPDX-License-Identifier: BSD-3-Clause
// The V-cycle of precond/multigrid.hpp: over levels made here, and over those of hypre's BoomerAMG beside its own
// cycle, and in a LinearSystem.
#include "precond/multigrid.hpp"

#include <nlohmann/json.hpp>

#include "preconditioner_cases.hpp"
#include "sparse/points.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto {
namespace {

double line(Global i, Global j) { return i == j ? 2 : std::abs(i - j) == 1 ? -1 : 0; }

/// Every second point of a line of 2ᵏ − 1, with linear interpolation, until 63 are left.
std::vector<CoarseLevel> levels_of_line(const CsrMatrix<double>& A) {
    std::vector<CoarseLevel> levels;
    const Comm& comm = A.comm();
    Partition above = A.partition();
    for (double scale = 0.5; above.rows() > 63; scale /= 2) {
        const Global coarse = above.rows() / 2;
        LocalRows<double> P;
        for (Global i = above.first(comm.rank()); i < above.first(comm.rank() + 1); ++i) {
            const auto put = [&](Global column, double weight) {
                if (column < 0 || column >= coarse) return;
                P.columns.push_back(column);
                P.values.push_back(weight);
            };
            if (i % 2 == 1) {
                put(i / 2, 1);
            } else {
                put(i / 2 - 1, 0.5);
                put(i / 2, 0.5);
            }
            P.start.push_back(static_cast<Global>(P.columns.size()));
        }
        auto [partition, rows] = rows_of(comm, coarse, [&](Global i, Global j) { return scale * line(i, j); });
        levels.push_back({std::move(P), partition, std::move(rows)});
        above = levels.back().partition;
    }
    return levels;
}

/// M⁻¹, from what it does to the unit vectors, column by column or so many at a time.
Dense applied_to_units(const CsrMatrix<double>& A, const Multigrid& M, int together) {
    const Global size = A.rows(), first = A.partition().first(A.comm().rank());
    Dense all(size);
    for (Global at = 0; at < size; at += together) {
        Values unit(A, together, [&](Global i, int j) { return i == at + j ? 1.0 : 0.0; }), z(A, together);
        M.apply(unit.view(), z.view());
        for (Index i = 0; i < A.local_rows(); ++i)
            for (int j = 0; j < together && at + j < size; ++j) all(first + i, at + j) = z.view()(i, j);
    }
    MPI_Allreduce(MPI_IN_PLACE, all.values.data(), static_cast<int>(all.values.size()), MPI_DOUBLE, MPI_SUM,
                  A.comm().mpi());
    return all;
}

TEST(Multigrid, OverALineIsSymmetricAndConverges) {
    MpiComm comm;
    constexpr Global points = 255;
    for (const int threads : {1, 2})
        for (const int degree : {1, 2, 3})
            for (const bool single : {false, true}) {
                if (threads == 2 && degree != 2) continue;
                const auto A = matrix(comm, points, line, threads);
                const Multigrid M(A, levels_of_line(A), {.degree = degree, .ratio = 4, .single = single});
                Dense inverse = applied_to_units(A, M, 85);
                double largest = 0, asymmetry = 0;
                for (Global i = 0; i < points; ++i)
                    for (Global j = 0; j < points; ++j) {
                        largest = std::max(largest, std::abs(inverse(i, j)));
                        asymmetry = std::max(asymmetry, std::abs(inverse(i, j) - inverse(j, i)));
                    }
                EXPECT_LE(asymmetry, (single ? 1e-6 : 1e-13) * largest) << degree;
                Values b(A, 1, [](Global i, int) { return uniform(3, i, 0); }), x(A, 1), r(A, 1), z(A, 1);
                for (int step = 0; step < 12; ++step) {
                    A.apply(x.view(), r.view());
                    for (Index i = 0; i < A.local_rows(); ++i) r.view()(i) = b.view()(i) - r.view()(i);
                    M.apply(r.view(), z.view());
                    for (Index i = 0; i < A.local_rows(); ++i) x.view()(i) += z.view()(i);
                }
                EXPECT_LE(true_residuals(A, b, x)[0], 1e-5) << degree;
                EXPECT_GT(M.bytes(2), M.bytes(1));
                EXPECT_GT(M.bytes(1), M.stored());
            }
}

TEST(Multigrid, EqualColumnsStayEqual) {
    MpiComm comm;
    const auto A = matrix(comm, 255, line);
    const Multigrid M(A, levels_of_line(A), {});
    for (const int m : {2, 4, 7, 16}) {
        Values r(A, m, [](Global i, int) { return uniform(4, i, 0); }), z(A, m);
        M.apply(r.view(), z.view());
        for (Index i = 0; i < A.local_rows(); ++i)
            for (int j = 1; j < m; ++j) EXPECT_EQ(z.view()(i, j), z.view()(i, 0)) << m;
    }
}

TEST(Multigrid, OfFewRowsIsTheInverse) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    const Multigrid M(A, {}, {});
    Dense exact = dense(n, general).inverse(), found = applied_to_units(A, M, 3);
    for (Global i = 0; i < n; ++i)
        for (Global j = 0; j < n; ++j) EXPECT_NEAR(found(i, j), exact(i, j), 1e-13);
    EXPECT_FALSE(M.is_singular());
}

TEST(Multigrid, FollowsNewValues) {
    MpiComm comm;
    auto A = matrix(comm, 255, line);
    Multigrid M(A, levels_of_line(A), {});
    const auto before = applied_to_units(A, M, 85);
    auto rows = A.local();
    for (double& value : rows.values) value *= 4;
    A.update_values(rows);
    std::vector<LocalRows<double>> coarser;
    for (auto& level : levels_of_line(A)) {
        for (double& value : level.A.values) value *= 4;
        coarser.push_back(std::move(level.A));
    }
    M.update(std::move(coarser));
    const auto after = applied_to_units(A, M, 85);
    for (std::size_t k = 0; k < after.values.size(); ++k) EXPECT_NEAR(4 * after.values[k], before.values[k], 1e-12);
}

TEST(Multigrid, CountsTheReductionOfItsCoarsestLevel) {
    MpiComm comm;
    const auto A = matrix(comm, 255, line);
    const Multigrid solved(A, levels_of_line(A), {}), smoothed(A, {}, {});  // 255 rows are too many to be solved
    EXPECT_EQ(solved.reductions(), 1);
    EXPECT_EQ(smoothed.reductions(), 0);
    for (const auto* const M : {&solved, &smoothed}) {
        Values b(A, 1, [](Global i, int) { return uniform(3, i, 0); }), x(A, 1);
        SolveOptions options;
        options.max_iterations = 5;
        const auto result = solve<double>(comm, A, *M, b.view(), x.view(), options);
        EXPECT_DOUBLE_EQ(result.per_iteration.reductions, find_method("cg").reductions + M->reductions());
        EXPECT_EQ(result.ledger.at(Phase::iteration).hidden_reductions, 0);
    }
}

int iterations(const CsrMatrix<double>& A, const std::string& method, const std::string& precond) {
    const auto M = make_preconditioner(precond, A);
    Values b(A, 2, [](Global i, int j) { return uniform(2, i, j); }), x(A, 2);
    SolveOptions options;
    options.method = method;
    const auto result = solve<double>(A.comm(), A, *M, b.view(), x.view(), options);
    EXPECT_TRUE(result.converged()) << precond;
    for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1e-8 * (1 + 1e-6)) << precond;
    return result.iterations;
}

TEST(Multigrid, TakesAsManyIterationsAsBoomerAmgs) {
    MpiComm comm;
    for (const auto& [name, method] :
         {std::pair("poisson2d:40", "cg"), std::pair("poisson3d:12", "cg"), std::pair("jump3d:12", "cg"),
          std::pair("aniso2d:40,epsilon=0.1", "cg"), std::pair("convdiff2d:40,peclet=40", "bicgstab")}) {
        const auto A = problem(comm, name);
        if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
        const int theirs = iterations(A, method, "amg:cycle=hypre");
        for (const std::string options : {"", ":degree=1", ":degree=3,ratio=10", ":precision=single", ":coarsen=pmis",
                                          ":coarsen=hmis", ":coarsest=600"})
            EXPECT_LE(iterations(A, method, "amg" + options), 1.5 * theirs + 3) << name << ' ' << options;
    }
}

TEST(Multigrid, KnowingThreeUnknownsAtAPointTakesFewerIterations) {
    MpiComm comm;
    const auto A = problem(comm, "elasticity3d:11x12x13");  // whose rows no rank but one gets in whole points
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    const int blind = iterations(A, "cg", "amg:functions=1");
    for (const std::string cycle : {"", ",cycle=hypre"})
        EXPECT_LE(iterations(A, "cg", "amg:functions=3" + cycle), 2 * blind / 3) << cycle;
    EXPECT_EQ(iterations(A, "cg", "amg"), iterations(A, "cg", "amg:functions=3"));
}

TEST(Multigrid, RefusesWhatHasNoMeaning) {
    MpiComm comm;
    const auto A = problem(comm, "poisson2d:10");
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    for (const auto& [spec, words] : {std::pair("amg:cycle=hypre,degree=3", "option degree is of cycle=merged"),
                                      std::pair("amg:cycle=hypre,update=lagged", "option update is of cycle=merged"),
                                      std::pair("amg:sweeps=2", "option sweeps is of cycle=hypre"),
                                      std::pair("amg:functions=3", "100 rows are not 3 for each")})
        try {
            (void)make_preconditioner(spec, A);
            ADD_FAILURE() << spec;
        } catch (const InputError& error) {
            EXPECT_NE(std::string_view(error.what()).find(words), std::string_view::npos) << error.what();
        }
    EXPECT_EQ(preconditioner_in_single("amg:cycle=hypre"), "amg:cycle=hypre");
    EXPECT_EQ(preconditioner_in_single("amg"), "amg:precision=single");
}

TEST(Multigrid, SeesHowManyUnknownsAPointHas) {
    MpiComm comm;
    for (const auto& [name, unknowns] :
         {std::pair("elasticity3d:5x4x3", 3), std::pair("elasticity3d:4x2x3", 3), std::pair("elasticity3d:11x12x13", 3),
          std::pair("poisson2d:30", 1), std::pair("poisson3d27:6", 1), std::pair("jump3d:6", 1),
          std::pair("poisson2d:36x1", 1), std::pair("poisson3d:1", 1), std::pair("diagonal:poisson2d,6", 1)})
        EXPECT_EQ(unknowns_at_a_point(problem(comm, name)), unknowns) << name;
    const auto band = [](Global i, Global j) { return std::abs(i - j) <= 10 ? 1.0 : 0.0; };
    EXPECT_EQ(unknowns_at_a_point(matrix(comm, 600, band)), 1);
    for (const int k : {2, 4, 5, 6}) {
        const auto blocks = [k](Global i, Global j) {
            return std::abs(i / k - j / k) <= 1 && (i + j) % 7 > 0 ? 1.0 : 0.0;
        };
        EXPECT_EQ(unknowns_at_a_point(matrix(comm, 120, blocks)), k);
        EXPECT_EQ(unknowns_at_a_point(matrix(comm, 119, blocks)), 1);  // no whole number of points
    }
}

TEST(Multigrid, CoarsensByWhatIsQuickerThere) {
    MpiComm comm;
    for (const auto& [name, taken, other] :
         {std::tuple("poisson3d:20", "amg:coarsen=pmis", "amg:coarsen=hmis"),
          std::tuple("poisson2d:60", "amg:coarsen=hmis", "amg:coarsen=pmis"),
          std::tuple("convdiff3d:17,peclet=5", "amg:coarsen=pmis", "amg:coarsen=hmis")}) {
        const auto A = problem(comm, name);
        if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
        const auto levels = [&](const char* precond) { return make_preconditioner(precond, A)->remarks(); };
        EXPECT_EQ(levels("amg"), levels(taken)) << name;
        EXPECT_NE(levels("amg"), levels(other)) << name;
    }
}

TEST(Multigrid, OfBoomerAmgsLevelsIsSymmetric) {
    MpiComm comm;
    const auto A = problem(comm, "jump2d:14");
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    Dense inverse = applied(A, *make_preconditioner("amg", A));
    for (Global i = 0; i < A.rows(); ++i)
        for (Global j = 0; j < A.rows(); ++j)
            EXPECT_NEAR(inverse(i, j), inverse(j, i), 1e-12 * std::max(inverse(i, i), inverse(j, j)));
}

// Each piece is singular, and a level of one row for each has rounding errors for its diagonal.
TEST(Multigrid, OfManySingularPiecesStaysBounded) {
    MpiComm comm;
    const auto A = matrix(comm, 1200, [](Global i, Global j) {
        if (i / 4 != j / 4) return 0.0;
        return i == j ? (i % 4 == 0 || i % 4 == 3 ? 1.0 : 2.0) : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    for (const std::string precond : {"amg", "amg:precision=single", "amg:aggressive=0"}) {
        const auto M = make_preconditioner(precond, A);
        Values r(A, 1, [](Global i, int) { return i % 4 < 2 ? 1.0 : -1.0; }), z(A, 1);
        M->apply(r.view(), z.view());
        for (Index i = 0; i < A.local_rows(); ++i) EXPECT_LE(std::abs(z.view()(i)), 100) << precond;
    }
}

TEST(Multigrid, OfTwoUnknownsAtEachPoint) {
    MpiComm comm;
    constexpr Global side = 24;
    const auto A = matrix(comm, 2 * side * side, [](Global i, Global j) {
        const Global p = i / 2, q = j / 2;
        if (i % 2 != j % 2) return p == q ? 0.5 : 0.0;
        const double strength = i % 2 == 0 ? 1 : 1000;
        if (p == q) return 4.5 * strength;
        return p / side == q / side      ? (std::abs(p - q) == 1 ? -strength : 0.0)
               : std::abs(p - q) == side ? -strength
                                         : 0.0;
    });
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    EXPECT_LE(iterations(A, "cg", "amg:functions=2"), 12);
}

TEST(Multigrid, OfBoomerAmgFollowsAsAsked) {
    MpiComm comm;
    auto A = problem(comm, "jump2d:24");
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    const auto anew = make_preconditioner("amg", A), products = make_preconditioner("amg:update=products", A),
               lagged = make_preconditioner("amg:update=lagged", A),
               frozen = make_preconditioner("amg:update=frozen", A);
    Values r(A, 1, [](Global i, int) { return uniform(6, i, 0); }), z(A, 1), expected(A, 1);
    anew->apply(r.view(), expected.view());
    for (int k = 0; k < 4; ++k) lagged->apply(r.view(), z.view());
    auto rows = A.local();
    for (double& value : rows.values) value *= 2;
    A.update_values(rows);
    EXPECT_FALSE(anew->update(1));
    EXPECT_TRUE(products->update(1));
    products->apply(r.view(), z.view());
    for (Index i = 0; i < A.local_rows(); ++i)
        EXPECT_NEAR(2 * z.view()(i), expected.view()(i), 1e-10 * std::abs(expected.view()(i)) + 1e-10);
    EXPECT_TRUE(lagged->update(1));
    for (int k = 0; k < 6; ++k) lagged->apply(r.view(), z.view());
    EXPECT_TRUE(lagged->update(1));  // half as many more
    for (int k = 0; k < 12; ++k) lagged->apply(r.view(), z.view());
    EXPECT_TRUE(lagged->update(2));
    EXPECT_TRUE(lagged->update(0));
    for (int k = 0; k < 7; ++k) lagged->apply(r.view(), z.view());
    EXPECT_FALSE(lagged->update(1));
    for (const int applications : {1, 9}) {
        for (int k = 0; k < applications; ++k) frozen->apply(r.view(), z.view());
        EXPECT_TRUE(frozen->update(1));
    }
}

TEST(Multigrid, ProductsWithOtherZerosAreMadeAnew) {
    // What cancels in a product of levels does not with other values: its pattern is another one then.
    MpiComm comm;
    bool met = false;
    for (const char* const name : {"poisson3d:12", "poisson3d:16", "poisson3d:20", "poisson2d:30"}) {
        auto A = problem(comm, name);
        if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
        const auto M = make_preconditioner("amg:update=products", A);
        auto rows = A.local();
        const Global first = A.partition().first(comm.rank());
        const auto factor = [](Global row) { return 1 + 0.2 * std::sin(0.01 * static_cast<double>(row)); };
        for (Index i = 0; i < A.local_rows(); ++i)
            for (auto k = rows.start[static_cast<std::size_t>(i)]; k < rows.start[static_cast<std::size_t>(i) + 1]; ++k)
                rows.values[static_cast<std::size_t>(k)] *=
                    factor(first + i) * factor(rows.columns[static_cast<std::size_t>(k)]);
        A.update_values(rows);
        met = !M->update(1) || met;
    }
    if (comm.size() > 1) {
        EXPECT_TRUE(met);
    }
}

TEST(Multigrid, TellsTheLevelsOfMultigrid) {
    MpiComm comm;
    if (!amg_is_built()) GTEST_SKIP() << "built without hypre";
    const auto system = LinearSystem::load(comm, "poisson3d:16", {.precond = "amg", .prepare = "equilibrate"});
    const auto sizes = nlohmann::json::parse(system.info({}, 1).multigrid);
    EXPECT_GT(sizes["levels"], 1);
    EXPECT_TRUE(sizes["grid_complexity"] > 1 && sizes["grid_complexity"] < 2) << sizes;
    EXPECT_TRUE(sizes["operator_complexity"] > 1 && sizes["operator_complexity"] < 3) << sizes;
    EXPECT_EQ(LinearSystem::load(comm, "poisson3d:4", {.precond = "jacobi"}).info({}, 1).multigrid, "");
}

TEST(Multigrid, LaggingLevelsAreComparedSolveBySolve) {
    MpiComm comm;
    if (!amg_is_built()) GTEST_SKIP() << "built without hypre";
    auto system = LinearSystem::load(comm, "poisson3d:12", {.precond = "amg:update=lagged"});
    const Index rows = system.local_rows();
    std::vector<double> b(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = uniform(3, static_cast<Global>(i), comm.rank());
    auto values = system.matrix().local();
    // Whether its levels are those of the values it has after so many solves and another factor.
    const auto made_anew = [&](int solves, double factor) {
        std::vector<double> z(b.size()), of_new(b.size());
        for (int k = 0; k < solves; ++k) {
            std::vector<double> x(b.size());
            system.solve({b.data(), rows, 1}, {x.data(), rows, 1}, {.method = "cg"});
        }
        for (double& value : values.values) value *= factor;
        system.update_values(values.values);
        auto r = b;
        system.preconditioner()->apply({r.data(), rows, 1}, {z.data(), rows, 1});
        make_preconditioner("amg", system.matrix())->apply({r.data(), rows, 1}, {of_new.data(), rows, 1});
        return all_of(comm, z == of_new);
    };
    EXPECT_FALSE(made_anew(1, 1.1));
    EXPECT_FALSE(made_anew(3, 1.1));
    EXPECT_FALSE(made_anew(0, 50));
    EXPECT_TRUE(made_anew(1, 1.1));
}

}  // namespace
}  // namespace stretto
