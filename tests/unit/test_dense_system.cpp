// SPDX-License-Identifier: BSD-3-Clause
// Dense systems from points to an answer: vectors whole on every rank, in the order of the points.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"
#include "stretto/system/dense_system.hpp"

namespace {

using namespace stretto;

constexpr Index n = 301;

std::vector<Point> scattered() {
    std::vector<Point> points;
    for (Index i = 0; i < n; ++i) points.push_back({uniform(1, i, 0), uniform(1, i, 1), 0});
    return points;
}

std::vector<double> columns_of(int m) {
    std::vector<double> values;
    for (Index i = 0; i < n; ++i)
        for (int c = 0; c < m; ++c) values.push_back(uniform(2, i, c));
    return values;
}

/// A x with the kernel's own entries.
std::vector<double> product(const DenseMatrix& A, const std::vector<double>& x, int m) {
    std::vector<Index> all(n);
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> entries(static_cast<std::size_t>(n) * n), y(x.size());
    std::get<Fill>(A.fill)(all, all, entries.data());
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t c = 0; c < static_cast<std::size_t>(m); ++c)
                y[i * static_cast<std::size_t>(m) + c] += entries[j * n + i] * x[j * static_cast<std::size_t>(m) + c];
    return y;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return std::sqrt(sum / norm);
}

TEST(DenseSystem, SolvesAndMultipliesInTheOrderOfThePoints) {
    MpiComm comm(MPI_COMM_WORLD);
    const auto matrix = kernel_matrix("gaussian:length=0.3,nugget=0.1", scattered());
    for (const bool replicated : {false, true})
        for (const int m : {1, 3}) {
            DenseOptions options;
            options.precond = "auto";
            options.layout.replicated = replicated;
            options.rtol = 1e-8;
            options.columns = m;
            DenseSystem system(comm, *matrix, options);
            const auto b = columns_of(m);
            std::vector<double> x(b.size()), y(b.size());
            SolveOptions solve;
            solve.method = "auto";
            solve.rtol = 1e-8;
            const auto result = system.solve({b.data(), n, m}, {x.data(), n, m}, solve);
            EXPECT_TRUE(result.converged());
            EXPECT_EQ(system.precond(), "block_jacobi");
            EXPECT_LT(difference(product(*matrix, x, m), b), 1e-7);
            for (const double residual : system.kernel_residuals()) EXPECT_LT(residual, 1e-7);
            system.apply({x.data(), n, m}, {y.data(), n, m});
            EXPECT_LT(difference(y, b), 1e-7);
            system.apply({x.data(), n, m}, {y.data(), n, m}, true);
            EXPECT_LT(difference(y, b), 1e-7);
        }
}

TEST(DenseSystem, StartsFromAGuess) {
    MpiComm comm(MPI_COMM_WORLD);
    const auto matrix = kernel_matrix("matern:length=0.3,nu=3/2,nugget=0.1", scattered());
    DenseSystem system(comm, *matrix);
    const auto truth = columns_of(1);
    std::vector<double> b(truth.size()), x = truth;
    system.apply({truth.data(), n, 1}, {b.data(), n, 1});
    const auto result = system.solve({b.data(), n, 1}, {x.data(), n, 1});
    EXPECT_TRUE(result.converged());
    EXPECT_EQ(result.iterations, 0);
    EXPECT_EQ(x, truth);
}

TEST(DenseSystem, ATooCoarseMatrixIsToldByTheKernel) {
    MpiComm comm(MPI_COMM_WORLD);
    const auto matrix = kernel_matrix("matern:length=1,nu=1/2,nugget=1e-4", scattered());
    DenseOptions options;
    options.hmatrix = "epsilon=1e-3,leaf=16";
    DenseSystem system(comm, *matrix, options);
    const auto b = columns_of(1);
    std::vector<double> x(b.size());
    SolveOptions solve;
    solve.method = "cg";
    solve.rtol = 1e-3;
    const auto result = system.solve({b.data(), n, 1}, {x.data(), n, 1}, solve);
    EXPECT_FALSE(result.converged());
    ASSERT_FALSE(result.next.empty());
    EXPECT_TRUE(result.next.front().more.starts_with("--hmatrix epsilon=")) << result.next.front().more;
}

TEST(DenseSystem, RefusesWhatCannotBe) {
    MpiComm comm(MPI_COMM_WORLD);
    DenseMatrix matrix;
    matrix.geometry.points = scattered();
    matrix.fill = entries([](Index i, Index j) { return i == j ? 4.0 : 1.0 / (1 + std::abs(i - j) + (i < j)); });
    DenseOptions options;
    options.methods = {"cg"};
    EXPECT_THROW(DenseSystem(comm, matrix, options), InputError);
    options.methods = {"pipelined_cg"};
    options.insist = true;
    EXPECT_NO_THROW(DenseSystem(comm, matrix, options));
    options.hmatrix = "epsilon=2";
    EXPECT_THROW(DenseSystem(comm, matrix, options), InputError);
    DenseSystem system(comm, matrix);
    std::vector<double> b(n), x(n);
    EXPECT_THROW(system.solve({b.data(), n - 1, 1}, {x.data(), n, 1}), InputError);
    EXPECT_THROW(system.solve({b.data(), n, 1}, {x.data(), n, 1}), InputError);  // cg, by default
    EXPECT_THROW(kernel_matrix("nothing", scattered()), InputError);
}

}  // namespace
