// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "stretto/io/matrix_market.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/prepare.hpp"
#include "systems.hpp"

namespace stretto {
namespace {

using Formula = std::function<double(Global, Global)>;

/// Rows by columns, for small matrices.
struct Dense {
    Global n;
    std::vector<double> values;
    explicit Dense(Global size) : n(size), values(static_cast<std::size_t>(size * size)) {}
    double& operator()(Global i, Global j) { return values[static_cast<std::size_t>(i * n + j)]; }

    Dense inverse() const {
        Dense a = *this, result(n);
        for (Global i = 0; i < n; ++i) result(i, i) = 1;
        for (Global k = 0; k < n; ++k) {
            Global pivot = k;
            for (Global i = k; i < n; ++i)
                if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
            for (auto* matrix : {&a, &result})
                for (Global j = 0; j < n; ++j) std::swap((*matrix)(k, j), (*matrix)(pivot, j));
            const double scale = 1 / a(k, k);
            for (auto* matrix : {&a, &result})
                for (Global j = 0; j < n; ++j) (*matrix)(k, j) *= scale;
            for (Global i = 0; i < n; ++i) {
                const double factor = i == k ? 0 : a(i, k);
                for (auto* matrix : {&a, &result})
                    for (Global j = 0; j < n && factor != 0; ++j) (*matrix)(i, j) -= factor * (*matrix)(k, j);
            }
        }
        return result;
    }
};

Dense dense(Global n, const Formula& formula) {
    Dense result(n);
    for (Global i = 0; i < n; ++i)
        for (Global j = 0; j < n; ++j) result(i, j) = formula(i, j);
    return result;
}

/// M⁻¹, from what it does to the unit vectors.
Dense applied(const CsrMatrix<double>& A, const Preconditioner& M, bool transpose = false) {
    const auto n = static_cast<int>(A.rows());
    Values unit(A, n, [](Global i, int j) { return i == j ? 1.0 : 0.0; }), result(A, n);
    transpose ? M.apply_transpose(unit.view(), result.view()) : M.apply(unit.view(), result.view());
    Dense all(n);
    const Global first = A.partition().first(A.comm().rank());
    for (Index i = 0; i < A.local_rows(); ++i)
        for (int j = 0; j < n; ++j) all(first + i, j) = result.view()(i, j);
    MPI_Allreduce(MPI_IN_PLACE, all.values.data(), n * n, MPI_DOUBLE, MPI_SUM, A.comm().mpi());
    return all;
}

/// The block of a row: of its rank, and there of `blocks`.
int block_of(const CsrMatrix<double>& A, Global row, int blocks) {
    const int rank = A.partition().owner(row);
    const auto inside = Partition::even(A.partition().rows(rank), blocks);
    return rank * blocks + inside.owner(row - A.partition().first(rank));
}

constexpr Global n = 30;

/// Without symmetry, diagonally dominant by columns and rows, some of its pattern unsymmetric.
double general(Global i, Global j) {
    if (i == j) return 6 + static_cast<double>(i % 3);
    if (std::abs(i - j) == 1 || std::abs(i - j) == 6) return -1 + 0.5 * uniform(3, i, j);
    return (3 * i + j) % 11 == 0 && std::abs(i - j) < 9 ? 0.5 * uniform(4, i, j) : 0;
}
double symmetric(Global i, Global j) {
    return i == j ? general(i, i) + 2 : general(std::min(i, j), std::max(i, j)) / 2;
}

const std::vector<std::string> with_transpose{"jacobi",
                                              "block_jacobi:ilu0",
                                              "block_jacobi:ilut,blocks=2",
                                              "block_jacobi:sai",
                                              "block_jacobi:sai,pattern=2,blocks=3",
                                              "block_jacobi:lu",
                                              "additive_schwarz:ilu0",
                                              "additive_schwarz:lu,overlap=2,blocks=2",
                                              "additive_schwarz:lu,restricted=0",
                                              "chebyshev:degree=3"};
const std::vector<std::string> for_symmetric{"block_jacobi:ic0", "block_jacobi:cholesky",
                                             "additive_schwarz:cholesky,restricted=0,blocks=2"};

bool has_amg(const CsrMatrix<double>& A) {
    try {
        (void)make_preconditioner("amg", A);
        return true;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("hypre"), std::string::npos) << error.what();
        return false;
    }
}

TEST(Preconditioners, IncompleteFactorsReproduceTheirBlocksOnThePattern) {
    MpiComm comm;
    for (const int blocks : {1, 2, 5}) {
        for (const std::string inner : {"ilu0", "ic0"}) {
            const Formula formula = inner == "ic0" ? symmetric : general;
            const auto A = matrix(comm, n, formula);
            const auto M = make_preconditioner("block_jacobi:" + inner + ",blocks=" + std::to_string(blocks), A);
            Dense inverse = applied(A, *M), product = inverse.inverse();
            double largest_elsewhere = 0;
            for (Global i = 0; i < n; ++i)
                for (Global j = 0; j < n; ++j) {
                    const bool inside = block_of(A, i, blocks) == block_of(A, j, blocks);
                    if (!inside) {
                        EXPECT_EQ(inverse(i, j), 0) << inner << " across blocks: " << i << ", " << j;
                    } else if (formula(i, j) != 0) {
                        EXPECT_NEAR(product(i, j), formula(i, j), 1e-12) << inner << ' ' << i << ", " << j;
                    } else {
                        largest_elsewhere = std::max(largest_elsewhere, std::abs(product(i, j)));
                    }
                }
            if (comm.size() * blocks == 1) {
                EXPECT_GT(largest_elsewhere, 1e-3) << "complete, not incomplete";
            }
        }
    }
}

TEST(Preconditioners, ThresholdZeroIsComplete) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    const auto complete = make_preconditioner("block_jacobi:ilut,drop=0,fill=100", A);
    const auto lu = make_preconditioner("block_jacobi:lu", A);
    const auto sparse = make_preconditioner("block_jacobi:ilut,drop=0.1,fill=0", A);
    Dense a = applied(A, *complete), b = applied(A, *lu), c = applied(A, *sparse);
    double dropped = 0;
    for (std::size_t k = 0; k < a.values.size(); ++k) {
        EXPECT_NEAR(a.values[k], b.values[k], 1e-14);
        dropped = std::max(dropped, std::abs(c.values[k] - b.values[k]));
    }
    EXPECT_GT(dropped, 1e-5);
    EXPECT_LT(dropped, 0.1);
    EXPECT_LT(all_sum(comm, sparse->stored()), all_sum(comm, complete->stored()));
}

TEST(Preconditioners, CompleteFactorsInvertTheirBlocks) {
    MpiComm comm;
    for (const int blocks : {1, 3})
        for (const std::string inner : {"lu", "cholesky"}) {
            const Formula formula = inner == "cholesky" ? symmetric : general;
            const auto A = matrix(comm, n, formula);
            const auto M = make_preconditioner("block_jacobi:" + inner + ",blocks=" + std::to_string(blocks), A);
            Dense inverse = applied(A, *M);
            Dense expected = dense(n, [&](Global i, Global j) {
                                 return block_of(A, i, blocks) == block_of(A, j, blocks) ? formula(i, j) : 0;
                             }).inverse();
            for (std::size_t k = 0; k < inverse.values.size(); ++k)
                EXPECT_NEAR(inverse.values[k], expected.values[k], 1e-14);
        }
}

TEST(Preconditioners, ApproximateInverseIsTheBestOnItsPattern) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    for (const int blocks : {1, 2})
        for (const int power : {1, 2}) {
            const auto M = make_preconditioner(
                "block_jacobi:sai,pattern=" + std::to_string(power) + ",blocks=" + std::to_string(blocks), A);
            Dense inverse = applied(A, *M);
            Dense block = dense(n, [&](Global i, Global j) {
                return block_of(A, i, blocks) == block_of(A, j, blocks) ? general(i, j) : 0;
            });
            for (Global j = 0; j < n; ++j) {
                std::vector<double> misfit(n);
                for (Global i = 0; i < n; ++i) {
                    misfit[static_cast<std::size_t>(i)] = i == j ? -1 : 0;
                    for (Global k = 0; k < n; ++k) misfit[static_cast<std::size_t>(i)] += block(i, k) * inverse(k, j);
                }
                for (Global i = 0; i < n; ++i) {
                    bool in_pattern = block(i, j) != 0;
                    for (Global k = 0; k < n && power == 2; ++k)
                        in_pattern = in_pattern || (block(i, k) != 0 && block(k, j) != 0);
                    double slope = 0;  // of ‖A m − e‖² in the direction of entry i
                    for (Global k = 0; k < n; ++k) slope += block(k, i) * misfit[static_cast<std::size_t>(k)];
                    if (in_pattern) {
                        EXPECT_NEAR(slope, 0, 1e-13);
                    } else {
                        EXPECT_EQ(inverse(i, j), 0);
                    }
                }
            }
        }
}

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

TEST(Preconditioners, SingularBlocksGiveNumbersAndRemarks) {
    MpiComm comm;
    const std::vector<Formula> formulas{
        [](Global i, Global j) { return i == j + 1 || j == i + 1 ? 1.0 : 0.0; },    // zero diagonal
        [](Global i, Global j) { return i / 2 == j / 2 ? 1.0 : 0.0; },              // exactly singular
        [](Global i, Global j) { return i < 3 || j < 3 ? 0.0 : symmetric(i, j); },  // empty rows
        [](Global, Global) { return 0.0; },                                         // nothing at all
        [](Global i, Global j) { return i == j                 ? -1.0
                                        : std::abs(i - j) == 1 ? 0.7
                                                               : 0.0; },  // indefinite
        [](Global i, Global j) { return i == j                 ? 1e-200
                                        : std::abs(i - j) == 1 ? 1.0
                                                               : 0.0; },
    };
    auto specs = with_transpose;
    specs.insert(specs.end(), for_symmetric.begin(), for_symmetric.end());
    for (std::size_t k = 0; k < formulas.size(); ++k) {
        const auto A = matrix(comm, n, formulas[k]);
        for (const auto& spec : specs) {
            const auto M = make_preconditioner(spec, A);
            for (const double value : applied(A, *M).values) ASSERT_TRUE(std::isfinite(value)) << spec << ' ' << k;
        }
    }
    for (std::size_t k = 0; k < formulas.size(); ++k)
        if (const auto A = matrix(comm, n, formulas[k]); has_amg(A)) {
            for (const double value : applied(A, *make_preconditioner("amg", A)).values)
                EXPECT_TRUE(std::isfinite(value)) << "amg " << k;
        }
    const auto says = [&](const std::string& spec, const Formula& formula, const std::string& words) {
        const auto M = make_preconditioner(spec, matrix(comm, n, formula));
        std::string all;
        for (const auto& remark : M->remarks()) all += remark + "\n";
        EXPECT_NE(all.find(words), std::string::npos) << spec << " says:\n" << all;
    };
    says("block_jacobi:ilu0", formulas[3], "30 zero or tiny pivots were replaced");
    says("block_jacobi:lu", formulas[3], "30 zero or tiny pivots were replaced");
    says("block_jacobi:ilut", formulas[1], "zero or tiny pivots were replaced");
    says("block_jacobi:ic0", formulas[4], "the diagonal was increased by up to");
    says("block_jacobi:cholesky", formulas[0], "the diagonal was increased by up to");
    says("block_jacobi:sai", formulas[3], "30 columns have dependent equations");
    says("chebyshev", formulas[0], "30 zeros on the diagonal");
}

// Nearly all of its diagonal is zero and most of it lies between the blocks: thousands of pivots vanish.
TEST(Preconditioners, BlocksWithHardlyAnyRankGiveNumbers) {
    const char* folder = std::getenv("STRETTO_MATRICES");
    if (!folder) GTEST_SKIP() << "set STRETTO_MATRICES to a folder of .mtx.gz files";
    MpiComm comm;
    auto [partition, rows] = read_matrix(comm, folder + std::string("/bayer10.mtx.gz"), 1);
    const PreparedSystem prepared(comm, {partition, rows}, parse_prepare("equilibrate,metis"), false);
    const CsrMatrix<double> A(comm, std::move(partition), std::move(rows));
    for (const auto* inner : {"lu", "ilu0", "ilut"})
        for (const auto* system : {&A, &prepared.scaled()}) {
            const auto M = make_preconditioner(fmt::format("block_jacobi:{},blocks=4", inner), *system);
            Values r(*system, 1, [](Global i, int) { return uniform(5, i); }), z(*system, 1);
            M->apply(r.view(), z.view());
            for (const double value : z.data()) ASSERT_LT(std::abs(value), 1e120) << inner;
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

TEST(Preconditioners, BlocksAreNoMoreThanRows) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    const auto remarks = make_preconditioner("block_jacobi:blocks=1000000", A)->remarks();
    EXPECT_NE(remarks.front().find(fmt::format("{} block", n)), std::string::npos) << remarks.front();
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
    refuses("block_jacobi:ilu", "option inner=ilu: it takes ilu0, ic0, ilut, sai, lu, cholesky");
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

}  // namespace
}  // namespace stretto
