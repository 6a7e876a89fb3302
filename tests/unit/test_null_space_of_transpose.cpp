// SPDX-License-Identifier: BSD-3-Clause
// Singular systems whose transpose takes other vectors to zero: these are computed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>

#include "null_space_cases.hpp"

namespace stretto {
namespace {

/// What Aᵀ takes to zero, where A is weighted_ring: the weights turned over.
double turned_over(Global row) { return 1 / (1 + static_cast<double>(row % 4)); }
/// b without its part along that.
double orthogonal(Global row, int column) {
    double overlap = 0, square = 0;
    for (Global i = 0; i < size; ++i) {
        overlap += turned_over(i) * in_range(i, column);
        square += turned_over(i) * turned_over(i);
    }
    return in_range(row, column) - overlap / square * turned_over(row);
}
/// A wind around a ring that keeps its mass: the sums of all columns are zero, those of rows are not.
double conservative_ring(Global i, Global j) { return weighted_ring(j, i); }

std::string said_of(const LinearSystem& system) { return fmt::format("{}", fmt::join(system.remarks(), "\n")); }

constexpr const char* some_methods[] = {"gmres", "bicgstab", "pipelined_bicgstab"};

TEST(NullSpaceOfTranspose, IsThatOfTheMatrix) {
    MpiComm comm;
    for (const std::string method : some_methods) {
        auto system = system_of(comm, size, ring);
        ASSERT_NE(system.null_space(), nullptr);
        EXPECT_TRUE(system.null_space()->of_transpose());
        const auto b = local(system, 1, [](Global i, int j) { return in_range(i, j) + 1; });
        std::vector<double> x(b.size());
        EXPECT_EQ(solved(system, b, x, 1, {.method = method}).status, Status::least_squares) << method;
    }
}

TEST(NullSpaceOfTranspose, IsComputed) {
    MpiComm comm;
    for (const std::string prepare : {"", "equilibrate", "metis,rcm"}) {
        auto system = system_of(comm, size, weighted_ring, {.prepare = prepare});
        ASSERT_NE(system.null_space(), nullptr);
        EXPECT_FALSE(system.null_space()->of_transpose());
        ASSERT_EQ(system.null_space()->left().size(), 1U) << prepare;
        expect_part(said_of(system), "constants: removed from x; what Aᵀ takes to zero was computed");
        const auto inside = local(system, 1, orthogonal),
                   along = local(system, 1, [](Global i, int) { return turned_over(i); });
        EXPECT_LE(system.outside_range({inside.data(), system.local_rows(), 1}).at(0), 1e-9) << prepare;
        EXPECT_NEAR(system.outside_range({along.data(), system.local_rows(), 1}).at(0), 1, 1e-9) << prepare;
    }
}

/// Whether b is in the range or not, x is the shortest of those with the smallest residual.
TEST(NullSpaceOfTranspose, GivesTheLeastSquaresSolution) {
    MpiComm comm;
    for (const std::string method : some_methods)
        for (const std::string precond : {"none", "jacobi", "block_jacobi:ilut"})
            for (const bool rows : {true, false}) {  // whether the sums of rows are zero, or those of columns
                const Formula entry = rows ? weighted_ring : conservative_ring;
                auto system = system_of(comm, size, entry, {.precond = precond});
                const auto left = [&](Global i) { return rows ? turned_over(i) : 1; };
                // An x without a part in the null space, its image, and something orthogonal to the range.
                const auto expected =
                    local(system, 2, [&](Global i, int j) { return rows ? in_range(i, j) : orthogonal(i, j); });
                const auto image = [&](Global i, int j) {
                    double sum = 0;
                    for (Global k = 0; k < size; ++k) sum += entry(i, k) * (rows ? in_range(k, j) : orthogonal(k, j));
                    return sum;
                };
                const auto b = local(system, 2, [&](Global i, int j) { return image(i, j) + 3 * j * left(i); });
                auto x = local(system, 2, [](Global, int) { return 3.0; });
                const auto result = solved(system, b, x, 2, {.method = method, .rtol = 1e-11});
                const auto what = fmt::format("{}, {}, {}", method, precond, rows);
                EXPECT_EQ(result.columns[0].status, Status::converged) << what;
                EXPECT_EQ(result.columns[1].status, Status::least_squares) << what;
                EXPECT_LE(largest_difference(comm, x, expected), 1e-7) << what;
            }
}

TEST(NullSpaceOfTranspose, IsRecognisedFirst) {
    MpiComm comm;
    auto system = system_of(comm, size, conservative_ring);
    ASSERT_NE(system.null_space(), nullptr);
    EXPECT_EQ(system.null_space()->size(), 1);
    EXPECT_TRUE(system.structure().null_vectors.empty());
    expect_part(said_of(system),
                "Aᵀ takes constants to zero, which are removed from b; what A takes to zero was computed");
    const std::vector<double> ones(static_cast<std::size_t>(system.local_rows()), 1.0);
    EXPECT_NEAR(system.outside_range({ones.data(), system.local_rows(), 1}).at(0), 1, 1e-12);
    EXPECT_EQ(refusal_of([&] { system_of(comm, size, conservative_ring, {.null_space = "constant"}); }), "");
    EXPECT_EQ(system_of(comm, size, conservative_ring, {.null_space = "none"}).null_space(), nullptr);
}

TEST(NullSpaceOfTranspose, OfATransposedSolveIsTheOther) {
    MpiComm comm;
    auto system = system_of(comm, size, weighted_ring);
    auto solver = system.solver({.method = "gmres", .rtol = 1e-11});
    const std::vector<double> ones(static_cast<std::size_t>(system.local_rows()), 1.0);
    auto x = ones;
    EXPECT_EQ(solver
                  .solve_transposed(MultiVector<const double>(ones.data(), system.local_rows(), 1),
                                    MultiVector<double>(x.data(), system.local_rows(), 1))
                  .status,
              Status::least_squares);
    const auto nothing = std::vector<double>(x.size());
    EXPECT_LE(largest_difference(comm, x, nothing), 1e-12);
}

/// Nobody computes it where nothing is to be removed.
TEST(NullSpaceOfTranspose, MayStayUnknown) {
    MpiComm comm;
    auto system = system_of(comm, size, weighted_ring, {.null_space = "none"});
    EXPECT_EQ(system.null_space(), nullptr);
    const std::vector<double> ones(static_cast<std::size_t>(system.local_rows()), 1.0);
    EXPECT_TRUE(system.outside_range({ones.data(), system.local_rows(), 1}).empty());

    // An operator of one's own, of which only what it takes to zero is known: x is kept free of that.
    const auto A = matrix(comm, size, weighted_ring);
    const NullSpace constants(comm, {ones}, false);
    EXPECT_TRUE(constants.left().empty());
    Values b(A, 1, [](Global i, int j) { return orthogonal(i, j); }), x(A, 1, [](Global, int) { return 3.0; });
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 1,
                          {.method = "gmres", .rtol = 1e-10, .null_space = &constants});
    const auto& result = solver.solve(b.view(), x.view());
    EXPECT_TRUE(result.converged());
    EXPECT_FALSE(result.projected);
    double sum = 0;
    for (Index i = 0; i < A.local_rows(); ++i) sum += x.view()(i, 0);
    EXPECT_NEAR(all_sum(comm, sum), 0, 1e-9);
}

}  // namespace
}  // namespace stretto
