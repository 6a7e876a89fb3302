// SPDX-License-Identifier: BSD-3-Clause
// What solves with the blocks of block Jacobi and additive Schwarz: that it is what its name says, and sound where the
// block is not.
#include <fmt/format.h>

#include <cstdlib>

#include "preconditioner_cases.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/system/prepare.hpp"

namespace stretto {
namespace {

TEST(LocalSolvers, IncompleteFactorsReproduceTheirBlocksOnThePattern) {
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

TEST(LocalSolvers, ThresholdZeroIsComplete) {
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

TEST(LocalSolvers, CompleteFactorsInvertTheirBlocks) {
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

TEST(LocalSolvers, ApproximateInverseIsTheBestOnItsPattern) {
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

TEST(LocalSolvers, SingularBlocksGiveNumbersAndRemarks) {
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
TEST(LocalSolvers, BlocksWithHardlyAnyRankGiveNumbers) {
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

TEST(LocalSolvers, BlocksAreNoMoreThanRows) {
    MpiComm comm;
    const auto A = matrix(comm, n, general);
    const auto remarks = make_preconditioner("block_jacobi:blocks=1000000", A)->remarks();
    EXPECT_NE(remarks.front().find(fmt::format("{} block", n)), std::string::npos) << remarks.front();
}

}  // namespace
}  // namespace stretto
