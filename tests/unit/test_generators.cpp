// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/generators.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "stretto/core/error.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {
namespace {

using Dense = std::vector<std::vector<double>>;

/// The whole matrix, made in pieces that begin at `cuts`.
Dense dense(std::string_view spec, std::vector<Global> cuts = {}) {
    const auto [rows, make, grid] = generator(spec);
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(rows);
    Dense result;
    for (std::size_t piece = 0; piece + 1 < cuts.size(); ++piece) {
        const auto part = make(cuts[piece], cuts[piece + 1]);
        EXPECT_EQ(part.rows(), cuts[piece + 1] - cuts[piece]);
        for (Index i = 0; i < part.rows(); ++i) {
            auto& row = result.emplace_back(static_cast<std::size_t>(rows));
            for (Global k = part.start[i]; k < part.start[i + 1]; ++k) {
                EXPECT_TRUE(k == part.start[i] || part.columns[k] > part.columns[k - 1]);
                row[part.columns[k]] = part.values[k];
            }
        }
    }
    return result;
}

bool symmetric(const Dense& A) {
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (A[i][j] != A[j][i]) return false;
    return true;
}

/// Whether all pivots of Gaussian elimination are positive: for a symmetric A, whether it is positive
/// definite.
bool positive_pivots(Dense A) {
    for (std::size_t k = 0; k < A.size(); ++k) {
        if (A[k][k] <= 0) return false;
        for (std::size_t i = k + 1; i < A.size(); ++i)
            for (std::size_t j = A.size(); j-- > k;) A[i][j] -= A[i][k] / A[k][k] * A[k][j];
    }
    return true;
}

std::string small(const ProblemKind& kind) {
    return std::string(kind.name) + (kind.name == "diagonal" ? ":poisson2d,4" : ":4");
}

std::string refusal(std::string_view spec) {
    MpiComm comm;
    try {
        (void)generate(comm, spec);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Generators, Poisson2d) {
    const Dense expected = {{4, -1, -1, 0, 0, 0},  {-1, 4, 0, -1, 0, 0}, {-1, 0, 4, -1, -1, 0},
                            {0, -1, -1, 4, 0, -1}, {0, 0, -1, 0, 4, -1}, {0, 0, 0, -1, -1, 4}};
    EXPECT_EQ(dense("poisson2d:2x3"), expected);
    EXPECT_EQ(dense("poisson2d:1"), Dense({{4}}));
}

TEST(Generators, Poisson3d) {
    const Dense A = dense("poisson3d:2x3x4");
    ASSERT_EQ(A.size(), 24u);
    for (int i = 0; i < 24; ++i)
        for (int j = 0; j < 24; ++j) {
            const int distance = std::abs(i % 2 - j % 2) + std::abs(i / 2 % 3 - j / 2 % 3) + std::abs(i / 6 - j / 6);
            EXPECT_EQ(A[i][j], distance == 0 ? 6 : distance == 1 ? -1 : 0) << i << ", " << j;
        }
}

TEST(Generators, Poisson3dWith27Points) {
    const Dense A = dense("poisson3d27:3");
    for (int i = 0; i < 27; ++i)
        for (int j = 0; j < 27; ++j) {
            const bool near =
                std::abs(i % 3 - j % 3) <= 1 && std::abs(i / 3 % 3 - j / 3 % 3) <= 1 && std::abs(i / 9 - j / 9) <= 1;
            EXPECT_EQ(A[i][j], i == j ? 26 : near ? -1 : 0) << i << ", " << j;
        }
}

TEST(Generators, NeumannCountsNeighbours) {
    const Dense expected = {{2, -1, -1, 0, 0, 0},  {-1, 2, 0, -1, 0, 0}, {-1, 0, 3, -1, -1, 0},
                            {0, -1, -1, 3, 0, -1}, {0, 0, -1, 0, 2, -1}, {0, 0, 0, -1, -1, 2}};
    EXPECT_EQ(dense("neumann2d:2x3"), expected);
    EXPECT_EQ(dense("neumann3d:1"), Dense({{0}}));
    const Dense A = dense("neumann3d:3"), B = dense("poisson3d:3");
    EXPECT_EQ(A[13], B[13]);  // in the middle
    EXPECT_EQ(A[0][0], 3);
}

TEST(Generators, Anisotropic) {
    const Dense A = dense("aniso2d:3,epsilon=0.25");
    EXPECT_EQ(A[4], (std::vector<double>{0, -0.25, 0, -1, 2.5, -1, 0, -0.25, 0}));
    const Dense B = dense("aniso3d:3x2x2,y=0.5,z=0.25");
    EXPECT_EQ(B[1], (std::vector<double>{-1, 3.5, -1, 0, -0.5, 0, 0, -0.25, 0, 0, 0, 0}));
}

/// A times the displacement that moves(x, y, z) gives each point, x counted from the face that is held.
template <class Moves>
std::vector<double> forces(const Dense& A, int nx, int ny, Moves&& moves) {
    std::vector<double> moved, result(A.size());
    for (std::size_t point = 0; point < A.size() / 3; ++point) {
        const int at = static_cast<int>(point);
        for (const double along : moves(at % nx + 1, at / nx % ny, at / nx / ny)) moved.push_back(along);
    }
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < A.size(); ++j) result[i] += A[i][j] * moved[j];
    return result;
}

TEST(Generators, ElasticityLeavesRigidBodiesAlone) {
    constexpr int nx = 3, ny = 4;
    const Dense A = dense("elasticity3d:3x4x2,ratio=0.3");
    ASSERT_EQ(A.size(), 72u);
    for (std::size_t i = 0; i < A.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) EXPECT_NEAR(A[i][j], A[j][i], 1e-15) << i << ", " << j;
    using Moved = std::array<double, 3>;
    const auto turned = [](int mode, double x, double y, double z) -> Moved {
        return mode == 0 ? Moved{1, 2, 3} : mode == 1 ? Moved{y, -x, 0} : mode == 2 ? Moved{z, 0, -x} : Moved{0, z, -y};
    };
    for (int mode = 0; mode < 4; ++mode) {
        const auto f = forces(A, nx, ny, [&](int x, int y, int z) { return turned(mode, x, y, z); });
        double held = 0;
        for (std::size_t i = 0; i < f.size(); ++i) {
            const bool beside_the_face = i / 3 % nx == 0;
            if (beside_the_face)
                held = std::max(held, std::abs(f[i]));
            else
                EXPECT_NEAR(f[i], 0, 1e-14) << "mode " << mode << ", row " << i;
        }
        EXPECT_GT(held, 0.1);
    }
}

TEST(Generators, ElasticBarIsStretchedEvenly) {
    constexpr int nx = 4, ny = 3, nz = 3;
    const auto f = forces(dense("elasticity3d:4x3x3,ratio=0"), nx, ny,
                          [](int x, int, int) { return std::array<double, 3>{static_cast<double>(x), 0, 0}; });
    for (int z = 0; z < nz; ++z)
        for (int y = 0; y < ny; ++y)
            for (int x = 0; x < nx; ++x) {
                const auto row = 3 * static_cast<std::size_t>((z * ny + y) * nx + x);
                // At the end Young's modulus times the area of each point, a quarter of each square that it is in.
                const double area = (y == 1 ? 1 : 0.5) * (z == 1 ? 1 : 0.5);
                EXPECT_NEAR(f[row], x == nx - 1 ? area : 0, 1e-14);
                EXPECT_NEAR(f[row + 1], 0, 1e-14);
                EXPECT_NEAR(f[row + 2], 0, 1e-14);
            }
}

TEST(Generators, ConvectionIsUpwind) {
    const double x = 2 * std::cos(0.6), y = 2 * std::sin(0.6);  // peclet h = 2
    const Dense A = dense("convdiff2d:3,peclet=8");
    const std::vector<double> centre{0, -1 - y, 0, -1 - x, 4 + x + y, -1, 0, -1, 0};
    for (int j = 0; j < 9; ++j) EXPECT_DOUBLE_EQ(A[4][j], centre[j]) << j;

    const double turned_x = 2 * std::cos(4.0), turned_y = 2 * std::sin(4.0);  // both negative
    const Dense B = dense("convdiff2d:3,peclet=8,angle=4");
    const std::vector<double> turned{0, -1, 0, -1, 4 - turned_x - turned_y, -1 + turned_x, 0, -1 + turned_y, 0};
    for (int j = 0; j < 9; ++j) EXPECT_DOUBLE_EQ(B[4][j], turned[j]) << j;

    const Dense C = dense("convdiff3d:3,peclet=8");
    const double c = 2 / std::sqrt(3.0);
    EXPECT_DOUBLE_EQ(C[13][13], 6 + 3 * c);
    for (const int step : {1, 3, 9}) {
        EXPECT_DOUBLE_EQ(C[13][13 - step], -1 - c);
        EXPECT_DOUBLE_EQ(C[13][13 + step], -1);
    }
    EXPECT_EQ(dense("convdiff2d:4x3,peclet=0"), dense("poisson2d:4x3"));
    EXPECT_EQ(dense("convdiff3d:1,peclet=0"), dense("poisson3d:1"));
}

TEST(Generators, JumpingCoefficients) {
    for (const std::string name : {"jump2d", "jump3d"}) {
        const Dense A = dense(name + ":5,contrast=1e6,seed=3");
        const auto inner = A.size() / 2;  // the cell in the middle has all its neighbours
        double sum = 0, lowest = 1e9, highest = 0;
        for (std::size_t i = 0; i < A.size(); ++i)
            for (std::size_t j = 0; j < A.size(); ++j) {
                if (i == inner) sum += A[i][j];
                if (i == j || A[i][j] == 0) continue;
                lowest = std::min(lowest, -A[i][j]);
                highest = std::max(highest, -A[i][j]);
            }
        EXPECT_NEAR(sum, 0, 1e-10);
        EXPECT_GT(lowest, 1e-3);
        EXPECT_LT(highest, 1e3);
        EXPECT_GT(highest, 1e2 * lowest);
        EXPECT_NE(A, dense(name + ":5,contrast=1e6,seed=4"));
        EXPECT_EQ(dense(name + ":4,contrast=1"), dense(name == "jump2d" ? "poisson2d:4" : "poisson3d:4"));
    }
}

TEST(Generators, DiagonalHasTheSpectrumOfPoisson) {
    const Dense two = dense("diagonal:poisson2d,2");
    const double eigenvalues[] = {2, 4, 4, 6};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(two[i][i], eigenvalues[i], 1e-14);

    const Dense D = dense("diagonal:poisson2d,7"), A = dense("poisson2d:7");
    double trace = 0, square = 0, expected_square = 0;
    for (std::size_t i = 0; i < D.size(); ++i) {
        trace += D[i][i] - A[i][i];
        square += D[i][i] * D[i][i];
        for (const double value : A[i]) expected_square += value * value;
    }
    EXPECT_NEAR(trace, 0, 1e-12);
    EXPECT_NEAR(square, expected_square, 1e-10);
}

TEST(Generators, PropertiesAreAsPromised) {
    for (const auto& kind : problems()) {
        const Dense A = dense(small(kind));
        EXPECT_EQ(symmetric(A), kind.positive_definite || kind.singular) << kind.name;
        EXPECT_EQ(positive_pivots(A), !kind.singular) << kind.name;
        for (std::size_t i = 0; kind.singular && i < A.size(); ++i)
            EXPECT_EQ(std::accumulate(A[i].begin(), A[i].end(), 0.0), 0) << kind.name;
        for (const auto& option : kind.options) {
            EXPECT_LE(option.minimum, option.default_value) << kind.name << ' ' << option.name;
            EXPECT_GE(option.maximum, option.default_value) << kind.name << ' ' << option.name;
        }
    }
}

TEST(Generators, SameMatrixInAnyPieces) {
    for (const auto& kind : problems()) {
        const Dense whole = dense(small(kind));
        EXPECT_EQ(dense(small(kind), {0, 0, 1, 7, 7, 11}), whole) << kind.name;
    }
}

TEST(Generators, EveryRankMakesItsRows) {
    MpiComm comm;
    for (const auto& kind : problems()) {
        auto [partition, rows] = generate(comm, small(kind));
        const auto mine = generator(small(kind)).make(partition.first(comm.rank()), partition.first(comm.rank() + 1));
        EXPECT_EQ(rows.start, mine.start) << kind.name;
        EXPECT_EQ(rows.columns, mine.columns) << kind.name;
        EXPECT_EQ(rows.values, mine.values) << kind.name;
        const CsrMatrix<double> A(comm, partition, std::move(rows), 2);
        EXPECT_EQ(A.rows(), generator(small(kind)).rows) << kind.name;
    }
}

TEST(Generators, MoreRanksThanRows) {
    MpiComm comm;
    const auto [partition, rows] = generate(comm, "poisson3d:1");
    EXPECT_EQ(partition.rows(), 1);
    EXPECT_EQ(rows.rows(), comm.rank() == 0 ? 1 : 0);
}

TEST(Generators, RefusesBadSpecsOnEveryRank) {
    EXPECT_EQ(refusal("poison2d:5"),
              "there is no problem 'poison2d': did you mean poisson2d? There are: poisson2d, poisson3d, poisson3d27, "
              "neumann2d, neumann3d, aniso2d, aniso3d, jump2d, jump3d, elasticity3d, diagonal, convdiff2d, convdiff3d");
    EXPECT_EQ(refusal("convdiff2d:5,pecle=3"),
              "convdiff2d: unknown option 'pecle': did you mean peclet? It takes the options: peclet, angle");
    EXPECT_EQ(generator("poisson2d:1e3x2").rows, 2000);
    EXPECT_EQ(refusal("poisson2d:5,peclet=3"), "poisson2d: unknown option 'peclet'; it takes no options");
    EXPECT_EQ(refusal("poisson2d"),
              "'poisson2d': the size must be N or NXxNY, in positive integers whose product is at most 2^62");
    for (const auto* spec : {"poisson2d:0",
                             "poisson2d:-3",
                             "poisson2d:5x",
                             "poisson2d:x5",
                             "poisson2d:5x5x5",
                             "poisson3d:5x5",
                             "poisson2d:5,5",
                             "poisson2d:5.0",
                             "poisson2d:5 ",
                             "poisson2d:99999999999999999999",
                             "poisson2d:4294967296",
                             "poisson3d:3000000",
                             "poisson3d:2097153",
                             "diagonal:5",
                             "diagonal:poisson3d,5",
                             "diagonal:poisson2d",
                             "diagonal:poisson2d,0",
                             "diagonal:poisson2d,5,5",
                             "diagonal:poisson2d,2147483649",
                             "jump2d:5,contrast=0.5",
                             "jump2d:5,contrast=nan",
                             "jump2d:5,seed=1.5",
                             "aniso2d:5,epsilon=0",
                             "aniso2d:5,epsilon=-1",
                             "aniso3d:5,y=0",
                             "elasticity3d:5x1x5",
                             "elasticity3d:5,ratio=0.5"})
        EXPECT_NE(refusal(spec), "accepted") << spec;
    EXPECT_NE(refusal("poisson3d:1600000").find("use more ranks"), std::string::npos);
    EXPECT_NE(refusal("poisson2d:45000").find("use more ranks"), std::string::npos);
}

}  // namespace
}  // namespace stretto
