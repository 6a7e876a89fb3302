// SPDX-License-Identifier: BSD-3-Clause
// Preconditioners of sparse matrices: their algebra, alone and inside methods.
#include <fmt/format.h>

#include <cstdio>

#include "allocations.hpp"
#include "preconditioner_cases.hpp"

namespace stretto {
namespace {

TEST(Preconditioners, SchwarzSumsItsOverlappingBlocks) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    for (const int overlap : {0, 1, 2})
        for (const int blocks : {1, 2})
            for (const bool restricted : {false, true}) {
                const auto M = make_preconditioner("additive_schwarz:lu,overlap=" + std::to_string(overlap) +
                                                       ",blocks=" + std::to_string(blocks) +
                                                       ",restricted=" + std::to_string(restricted),
                                                   A);
                Dense expected(n);
                for (int b = 0; b < comm.size() * blocks; ++b) {
                    std::vector<char> inside(n);
                    for (Global i = 0; i < n; ++i) inside[static_cast<std::size_t>(i)] = block_of(A, i, blocks) == b;
                    for (int layer = 0; layer < overlap; ++layer) {
                        auto wider = inside;
                        for (Global i = 0; i < n; ++i)
                            for (Global j = 0; j < n; ++j)
                                if (inside[static_cast<std::size_t>(i)] && general(i, j) != 0)
                                    wider[static_cast<std::size_t>(j)] = 1;
                        inside = wider;
                    }
                    const auto both = [&](Global i, Global j) {
                        return inside[static_cast<std::size_t>(i)] && inside[static_cast<std::size_t>(j)];
                    };
                    Dense local = dense(n, [&](Global i, Global j) {
                                      return both(i, j) ? general(i, j) : i == j ? 1.0 : 0.0;
                                  }).inverse();
                    for (Global i = 0; i < n; ++i)
                        for (Global j = 0; j < n; ++j)
                            if (both(i, j) && (!restricted || block_of(A, i, blocks) == b))
                                expected(i, j) += local(i, j);
                }
                Dense inverse = applied(A, *M);
                for (std::size_t k = 0; k < inverse.values.size(); ++k)
                    EXPECT_NEAR(inverse.values[k], expected.values[k], 1e-14)
                        << "overlap " << overlap << ", blocks " << blocks << ", restricted " << restricted;
            }
}

TEST(Preconditioners, ChebyshevIsItsPolynomial) {
    MpiComm comm;
    constexpr int grid = 12, degree = 3;
    constexpr double ratio = 10;
    const auto A = problem(comm, "poisson2d:12");
    const auto M = make_preconditioner("chebyshev:degree=3,ratio=10", A);
    double begin = 0, end = 0;
    ASSERT_EQ(M->remarks().size(), 1U);
    const auto text = M->remarks().front();
    ASSERT_EQ(std::sscanf(text.c_str() + text.find('['), "[%lf, %lf]", &begin, &end), 2);
    const double angle = M_PI / (2 * (grid + 1));
    const double largest = 2 * std::pow(std::sin(grid * angle), 2);  // of D⁻¹A
    EXPECT_GT(end, largest);
    EXPECT_LT(end, 1.12 * largest);
    EXPECT_NEAR(end / begin, ratio, 1e-2);
    const auto chebyshev = [](double x) {
        return std::abs(x) <= 1 ? std::cos((degree + 1) * std::acos(x)) : std::cosh((degree + 1) * std::acosh(x));
    };
    for (const int wave : {1, 3, 7, 12}) {
        Values r(A, 1, [&](Global row, int) {
            return std::sin(2 * wave * angle * static_cast<double>(row % grid + 1)) *
                   std::sin(2 * wave * angle * static_cast<double>(row / grid + 1));
        });
        Values z(A, 1);
        M->apply(r.view(), z.view());
        const double lambda = 2 * std::pow(std::sin(wave * angle), 2);
        const double residual =
            chebyshev((end + begin - 2 * lambda) / (end - begin)) / chebyshev((end + begin) / (end - begin));
        for (Index i = 0; i < A.local_rows(); ++i)
            EXPECT_NEAR(z.view()(i), (1 - residual) / (4 * lambda) * r.view()(i), 2e-3 / lambda);
    }
}

TEST(Preconditioners, ColumnsTogetherAreColumnsOneByOne) {
    MpiComm comm;
    for (const int threads : {1, 2}) {
        const auto A = matrix(comm, n, general, threads), S = matrix(comm, n, symmetric, threads);
        auto specs = with_transpose;
        if (has_amg(A)) specs.emplace_back("amg");
        specs.insert(specs.end(), for_symmetric.begin(), for_symmetric.end());
        for (const auto& spec : specs) {
            const bool is_symmetric = std::ranges::count(for_symmetric, spec) > 0;
            const auto M = make_preconditioner(spec, is_symmetric ? S : A);
            for (const int m : {2, 7, 16})
                for (const bool transpose : {false, true}) {
                    if (transpose && !M->has_transpose()) continue;
                    Values r(A, m, [](Global i, int j) { return uniform(9, i, j); }), z(A, m), one(A, 1), image(A, 1);
                    const auto apply = [&](Values& from, Values& to) {
                        transpose ? M->apply_transpose(from.view(), to.view()) : M->apply(from.view(), to.view());
                    };
                    apply(r, z);
                    for (int j = 0; j < m; ++j) {
                        for (Index i = 0; i < A.local_rows(); ++i) one.view()(i) = r.view()(i, j);
                        apply(one, image);
                        for (Index i = 0; i < A.local_rows(); ++i)
                            EXPECT_NEAR(image.view()(i), z.view()(i, j), 1e-14) << spec << " column " << j;
                    }
                }
            EXPECT_GT(M->bytes(2), M->bytes(1)) << spec;
            EXPECT_GT(M->bytes(1), M->stored()) << spec;
        }
    }
}

TEST(Preconditioners, TransposeIsTheTranspose) {
    MpiComm comm;
    const auto A = matrix(comm, n, general), S = matrix(comm, n, symmetric);
    for (const auto& spec : with_transpose) {
        const auto M = make_preconditioner(spec, A);
        Dense forward = applied(A, *M), back = applied(A, *M, true);
        for (Global i = 0; i < n; ++i)
            for (Global j = 0; j < n; ++j) EXPECT_NEAR(forward(i, j), back(j, i), 1e-14) << spec;
    }
    auto specs = with_transpose;
    specs.insert(specs.end(), for_symmetric.begin(), for_symmetric.end());
    for (const auto& spec : specs) {
        const auto M = make_preconditioner(spec, S);
        if (!M->symmetric()) continue;
        Dense inverse = applied(S, *M);
        for (Global i = 0; i < n; ++i)
            for (Global j = 0; j < n; ++j) EXPECT_NEAR(inverse(i, j), inverse(j, i), 1e-14) << spec;
    }
    EXPECT_FALSE(make_preconditioner("block_jacobi:ilut", S)->symmetric());
    EXPECT_FALSE(make_preconditioner("additive_schwarz:ilu0", S)->symmetric());
}

/// What P ranks do with one block each, one rank does with P.
TEST(Preconditioners, RanksAreBlocks) {
    MpiComm comm, alone(MPI_COMM_SELF);
    const std::string blocks = ",blocks=" + std::to_string(comm.size());
    for (const std::string spec :
         {"block_jacobi:ilu0", "block_jacobi:ic0", "block_jacobi:ilut", "block_jacobi:sai", "block_jacobi:lu",
          "block_jacobi:cholesky", "additive_schwarz:ilu0", "additive_schwarz:ilu0,restricted=0,overlap=2"}) {
        const auto A = matrix(comm, n, symmetric), whole = matrix(alone, n, symmetric);
        const auto M = make_preconditioner(spec, A), other = make_preconditioner(spec + blocks, whole);
        const auto f = [](Global i, int j) { return uniform(5, i, j); };
        Values r(A, 3, f), z(A, 3), all_r(whole, 3, f), all_z(whole, 3);
        M->apply(r.view(), z.view());
        other->apply(all_r.view(), all_z.view());
        const auto first = static_cast<Index>(A.partition().first(comm.rank()));
        for (Index i = 0; i < A.local_rows(); ++i)
            for (int j = 0; j < 3; ++j) EXPECT_DOUBLE_EQ(z.view()(i, j), all_z.view()(first + i, j)) << spec;
    }
}

TEST(Preconditioners, FewRowsManyRanks) {
    MpiComm comm;
    for (const Global rows : {1, 2, 3}) {
        const auto A = matrix(comm, rows, [](Global i, Global j) { return i == j ? 4.0 : -1.0; });
        auto specs = with_transpose;
        specs.insert(specs.end(), for_symmetric.begin(), for_symmetric.end());
        if (has_amg(A)) specs.emplace_back("amg");
        for (const auto& spec : specs) {
            const auto M = make_preconditioner(spec, A);
            Values b(A, 2, [](Global i, int j) { return uniform(2, i, j); }), x(A, 2);
            SolveOptions options;
            options.method = "bicgstab";
            EXPECT_TRUE(solve<double>(comm, A, *M, b.view(), x.view(), options).converged()) << spec << ' ' << rows;
        }
    }
}

TEST(Preconditioners, EveryMethodTakesEveryOneOfThem) {
    MpiComm comm;
    const auto S = problem(comm, "poisson2d:16"), A = problem(comm, "convdiff2d:16,peclet=40");
    auto specs = with_transpose;
    specs.insert(specs.end(), for_symmetric.begin(), for_symmetric.end());
    if (has_amg(A)) specs.emplace_back("amg");
    for (const Method* method : methods())
        for (const auto& spec : specs) {
            const bool is_symmetric = method->needs != Needs::any || std::ranges::count(for_symmetric, spec) > 0;
            const auto& system = is_symmetric ? S : A;
            const auto M = make_preconditioner(spec, system);
            if ((method->needs != Needs::any && !M->symmetric()) || (method->transpose && !M->has_transpose()))
                continue;
            Values b(system, 3, [](Global i, int j) { return uniform(2, i, j); }), x(system, 3);
            SolveOptions options;
            options.method = method->name;
            const auto result = solve<double>(comm, system, *M, b.view(), x.view(), options);
            EXPECT_TRUE(result.converged()) << method->name << ", " << spec;
            for (const double residual : true_residuals(system, b, x)) EXPECT_LE(residual, 1e-8 * (1 + 1e-6));
        }
}

TEST(Preconditioners, MultigridHardlyGrows) {
    MpiComm comm;
    std::vector<int> iterations;
    for (const std::string name : {"poisson2d:16", "poisson2d:64"}) {
        const auto A = problem(comm, name);
        if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
        const auto M = make_preconditioner("amg:strong=0.25", A);
        Values b(A, 1, [](Global, int) { return 1.0; }), x(A, 1);
        const auto result = solve<double>(comm, A, *M, b.view(), x.view());
        EXPECT_TRUE(result.converged());
        iterations.push_back(result.iterations);
    }
    EXPECT_LE(iterations[1], iterations[0] + 5);
}

// Coupled pairs (the Olmstead flow): the cycle with the usual choices overflows.
TEST(Preconditioners, MultigridOfAMatrixItIsNotMeantForStaysFinite) {
    MpiComm comm;
    const auto A = matrix(comm, 1000, [](Global i, Global j) {
        if (i % 2 == 1) return j == i ? -0.5 : j == i - 1 ? 0.5 : 0.0;
        const double each = (j - j % 2 == i) ? -2.0 : std::abs(j - j % 2 - i) == 2 ? 1.0 : 0.0;
        return each * (j % 2 == 0 ? 2543 : 22888);
    });
    if (!has_amg(A)) GTEST_SKIP() << "built without hypre";
    const auto M = make_preconditioner("amg", A);
    Values r(A, 1, [](Global i, int) { return uniform(1, i, 0); }), z(A, 1);
    M->apply(r.view(), z.view());
    for (Index i = 0; i < A.local_rows(); ++i) EXPECT_TRUE(std::isfinite(z.view()(i, 0)));
}

TEST(Preconditioners, RefusesWhatItCannotDo) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    const auto refuses = [&](const std::string& spec, const std::string& words) {
        try {
            (void)make_preconditioner(spec, A);
            ADD_FAILURE() << spec << " was accepted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
    refuses("block_jacobi:ic0", "inner=ic0 needs a symmetric matrix");
    refuses("block_jacobi:inner=cholesky", "inner=cholesky needs a symmetric matrix");
    refuses("block_jacobi:ilu",
            "option inner=ilu: did you mean ilu0 or ilut? It takes: ilu0, ic0, ilut, sai, lu, cholesky");
    refuses("block_jacobi:ilu0,inner=lu", "unexpected argument 'ilu0'");
    refuses("block_jacobi:blocks=-1", "option blocks=-1");
    refuses("block_jacobi:ilu0,drop=0.1", "option drop is of inner=ilut, not of inner=ilu0");
    refuses("additive_schwarz:inner=lu,pattern=2", "option pattern is of inner=sai, not of inner=lu");
    refuses("chebyshev:4", "unexpected argument '4'");
    refuses("schwarz", "there is no preconditioner 'schwarz'");
    if (has_amg(A)) {
        const auto M = make_preconditioner("amg", A);
        Values b(A, 1, [](Global, int) { return 1.0; }), x(A, 1);
        SolveOptions options;
        options.method = "improved_bicgstab";
        EXPECT_THROW(solve<double>(comm, A, *M, b.view(), x.view(), options), InputError);
    }
}

// The table says before anything is made what a preconditioner then is.
TEST(Preconditioners, TheirRowsSayWhatTheyAre) {
    MpiComm comm;
    const auto S = matrix(comm, n, symmetric);
    auto specs = with_transpose;
    specs.insert(specs.end(), for_symmetric.begin(), for_symmetric.end());
    specs.emplace_back("additive_schwarz:ilut,restricted=0");
    if (has_amg(S)) specs.emplace_back("amg");
    for (const auto& spec : specs) {
        const auto chosen = choose_preconditioner(spec, MatrixKind::sparse);
        const auto M = make_preconditioner(spec, S);
        EXPECT_EQ(chosen.kind->name, parse_spec(spec).name);
        EXPECT_EQ(chosen.symmetric(), M->symmetric()) << spec;
        EXPECT_EQ(chosen.kind->varies, M->varies()) << spec;
    }
    EXPECT_EQ(make_preconditioner("none", S), nullptr);
}

TEST(Preconditioners, UpdatedIsMadeAnew) {
    MpiComm comm;
    const Formula later = [](Global i, Global j) { return (3 + uniform(8, i, j)) * symmetric(i, j); };
    for (const int threads : {1, 2})
        for (const auto& spec : with_transpose) {
            auto A = matrix(comm, n, symmetric, threads);
            const auto M = make_preconditioner(spec, A);
            const Dense before = applied(A, *M);
            A = matrix(comm, n, later, threads);
            const auto anew = make_preconditioner(spec, A);
            const bool follows = M->update(1);
            EXPECT_EQ(follows, spec == "jacobi" || spec.starts_with("block_jacobi")) << spec;
            if (!follows) continue;
            const Dense updated = applied(A, *M);
            EXPECT_EQ(updated.values, applied(A, *anew).values) << spec;
            EXPECT_NE(updated.values, before.values) << spec;
            EXPECT_EQ(M->remarks(), anew->remarks()) << spec;
        }
}

TEST(Preconditioners, JacobiFollowsWithoutMemory) {
    MpiComm comm;
    const auto A = matrix(comm, n, symmetric);
    Jacobi M(A);
    if (comm.size() > 1) return;  // MPI libraries may allocate
    const auto before = allocations.load();
    EXPECT_TRUE(M.update(1));
    EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace stretto
