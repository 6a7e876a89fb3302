// SPDX-License-Identifier: BSD-3-Clause
// What blocks of steps stand on: products for one exchange, and shifts.
#include <gtest/gtest.h>

#include <cmath>

#include "allocations.hpp"
#include "stretto/methods/s_step_gmres.hpp"
#include "stretto/sparse/powers.hpp"
#include "stretto/testing/counting_comm.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(7, row, j); };

// h products for one exchange are h products, and take one exchange.
TEST(MatrixPowers, AreProducts) {
    MpiComm comm;
    for (const auto* spec : {"poisson2d:23x31", "convdiff3d:7x8x9,peclet=20", "poisson2d:3x2"})
        for (const int columns : {1, 3})
            for (const int h : {1, 2, 3, 5}) {
                CountingComm counting(comm);
                const auto A = problem(counting, spec, 2);
                const MatrixPowers<double> powers(A, h);
                SmallMatrix<double> B(h + 2, h + 1, columns);
                for (int j = 0; j < columns; ++j)
                    for (int i = 0; i <= h; ++i) {
                        B(i, i, j) = 1 + 0.5 * i + j;
                        B(i + 1, i, j) = 3 + i;
                        if (i == 2) B(i - 1, i, j) = -2;
                    }
                Workspace<double> workspace(A.local_rows(), columns, 2 * h + 2, 1);
                const auto v = workspace.take_panel(h + 1), w = workspace.take_panel(h + 1);
                const Global first = A.partition().first(comm.rank());
                for (Index i = 0; i < A.local_rows(); ++i)
                    for (int j = 0; j < columns; ++j) v[0](i, j) = w[0](i, j) = random_values(first + i, j);
                const auto before = counting.exchanges;
                powers.apply(v, 0, h, B);
                EXPECT_LE(counting.exchanges - before, 1);
                const auto allocated = allocations.load();
                powers.apply(v, 0, h, B);
                // MPI allocates for its requests.
                EXPECT_TRUE(comm.size() > 1 || allocations.load() == allocated);
                for (int i = 0; i < h; ++i) {
                    A.apply(w[i], w[i + 1]);
                    for (Index row = 0; row < A.local_rows(); ++row)
                        for (int j = 0; j < columns; ++j) {
                            auto& value = w[i + 1](row, j);
                            value -= B(i, i, j) * w[i](row, j) + (i > 0 ? B(i - 1, i, j) * w[i - 1](row, j) : 0);
                            value /= B(i + 1, i, j);
                            ASSERT_NEAR(v[i + 1](row, j), value, 1e-12 * std::pow(3, i)) << spec << ", power " << i + 1;
                        }
                }
                EXPECT_EQ(comm.size() == 1 || h == 1 ? 0 : 1, powers.redundancy() > 0) << spec;
            }
}

// Where most rows would be multiplied by several ranks, it says so and takes an exchange for each product.
TEST(MatrixPowers, FallBackWhereTheyDoNotPay) {
    MpiComm comm;
    const auto A = matrix(comm, 80, [](Global i, Global k) {
        return i == k ? 10.0 : (7 * i + 11 * k) % 5 == 0 ? 0.1 : 0.0;
    });
    EXPECT_EQ(A.prepare_powers(4), comm.size() == 1 ? 4 : 1);
    Values b(A, 1, random_values), x(A, 1);
    SolveOptions o;
    o.method = "s_step_gmres:s=4,h=4";
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    EXPECT_TRUE(result.converged());
    EXPECT_EQ(comm.size() > 1, std::ranges::any_of(result.events, [](const Event& event) {
                  return event.text.find("going on with h=1") != std::string::npos;
              }));
}

TEST(Newton, OrdersPairsTogether) {
    using C = std::complex<double>;
    const std::vector<C> points{{1, 2}, {1, -2}, {5, 0}, {0.5, 0}, {3, 1}, {3, -1}};
    for (int n = 1; n <= 14; ++n) {
        const auto ordered = leja_order(points, n);
        ASSERT_EQ(static_cast<int>(ordered.size()), n);
        EXPECT_EQ(ordered[0], C(5, 0));
        for (std::size_t i = 0; i + 1 < ordered.size(); ++i)
            EXPECT_TRUE(ordered[i].imag() <= 0 || ordered[i + 1] == std::conj(ordered[i]));
    }
    EXPECT_EQ(leja_order({}, 3), (std::pmr::vector<C>(3)));
}

TEST(Newton, FindsEigenvalues) {
    // Companion matrix of (x − 1)(x² + 4) = x³ − x² + 4x − 4, by columns.
    std::vector<double> H{0, 1, 0, 0, 0, 1, 4, -4, 1};
    auto values = hessenberg_eigenvalues(H, 3);
    ASSERT_EQ(values.size(), 3U);
    std::ranges::sort(values, {}, [](const auto& value) { return value.imag(); });
    EXPECT_NEAR(std::abs(values[0] - std::complex<double>(0, -2)), 0, 1e-12);
    EXPECT_NEAR(std::abs(values[1] - 1.0), 0, 1e-12);
    EXPECT_NEAR(std::abs(values[2] - std::complex<double>(0, 2)), 0, 1e-12);
}

}  // namespace
