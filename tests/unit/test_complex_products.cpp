// SPDX-License-Identifier: BSD-3-Clause
// Products of complex vectors, panels and matrices: inner products conjugate the left.
#include "complex_systems.hpp"

#include "stretto/execute/space.hpp"
#include "stretto/statements/traffic.hpp"

using namespace stretto;

namespace {

struct ComplexProducts : testing::Test {
    MpiComm comm;
};

TEST_F(ComplexProducts, DotProductsConjugateTheLeft) {
    for (const auto formulation : {Formulation::merged, Formulation::basic})
        for (const int m : {1, 2, 3, 7}) {
            Space<Complex> V(comm, 203 + comm.rank(), m, 8, 2, formulation);
            auto [a, b] = vectors<2>(V);
            V.fill_uniform(a, 1);
            V.fill_uniform(b, 2);
            auto alpha = V.scalars();
            for (int j = 0; j < m; ++j) alpha[j] = {0.3 + j, -1.2};
            auto [ab, ba, aa] = V.start(dot(a, b), dot(b, a), dot(a, a)).wait();
            auto [scaled_left, scaled_right] = V.start(b <<= b + alpha * a, dot(b, a), dot(a, b)).wait();
            for (int j = 0; j < m; ++j) {
                EXPECT_NEAR(std::abs(ab[j] - std::conj(ba[j])), 0, 1e-11);
                EXPECT_NEAR(aa[j].imag(), 0, 1e-11);
                EXPECT_GT(aa[j].real(), 1);
                EXPECT_NEAR(std::abs(scaled_left[j] - (ba[j] + std::conj(alpha[j]) * aa[j])), 0, 1e-10);
                EXPECT_NEAR(std::abs(scaled_right[j] - (ab[j] + alpha[j] * aa[j])), 0, 1e-10);
                EXPECT_NEAR(std::abs(inner_product(comm, a, b, j, j) - scaled_right[j]), 0, 1e-10);
            }
        }
}

TEST_F(ComplexProducts, PanelsAreTallMatrices) {
    for (const auto formulation : {Formulation::merged, Formulation::basic})
        for (const int m : {1, 3})
            for (const int left : {1, 3, 9}) {
                constexpr int right = 5;
                Space<Complex> V(comm, 700, m, left + right, 1, formulation);
                const auto Q = V.panel(left), W = V.panel(right);
                for (int k = 0; k < left; ++k) V.fill_uniform(Q[k], static_cast<std::uint64_t>(k));
                for (int k = 0; k < right; ++k) V.fill_uniform(W[k], static_cast<std::uint64_t>(k + 90));
                SmallMatrix<Complex> S(left, right, m), R(right, right, m), P(left, right, m);
                for (int j = 0; j < m; ++j)
                    for (int c = 0; c < right; ++c) {
                        for (int i = 0; i < left; ++i) S(i, c, j) = random_complex(3, i, c + 10 * j);
                        for (int i = 0; i < right; ++i) R(i, c, j) = random_complex(4, i, c + 10 * j) + 2.0 * (i == c);
                    }
                // By hand: W − Q S, then column after column of R⁻¹ on the right.
                std::vector<std::vector<Complex>> expected(right);
                for (int c = 0; c < right; ++c)
                    for (Index i = 0; i < 700; ++i)
                        for (int j = 0; j < m; ++j) {
                            Complex value = W[c](i, j);
                            for (int k = 0; k < left; ++k) value -= Q[k](i, j) * S(k, c, j);
                            for (int k = 0; k < c; ++k)
                                value -= expected[static_cast<std::size_t>(k)][static_cast<std::size_t>(i * m + j)] *
                                         R(k, c, j);
                            expected[static_cast<std::size_t>(c)].push_back(value / R(c, c, j));
                        }
                V.start(W <<= (W - Q * S.from(0, 0)) / R.from(0, 0), dots(Q, W)).wait(P, 0, 0, right);
                for (int c = 0; c < right; ++c)
                    for (Index i = 0; i < 700; ++i)
                        for (int j = 0; j < m; ++j)
                            ASSERT_NEAR(
                                std::abs(expected[static_cast<std::size_t>(c)][static_cast<std::size_t>(i * m + j)] -
                                         W[c](i, j)),
                                0, 1e-11);
                for (int j = 0; j < m; ++j)
                    for (int i = 0; i < left; ++i)
                        for (int c = 0; c < right; ++c)
                            ASSERT_NEAR(std::abs(P(i, c, j) - inner_product(comm, Q[i], W[c], j, j)), 0, 1e-10);
            }
}

TEST_F(ComplexProducts, ProductsAndAdjoints) {
    const Grid grid = convection_grid();
    for (const int threads : {1, 2})
        for (const int m : {1, 2, 5}) {
            const auto A = complex_matrix(comm, Partition::even(grid.rows(), comm.size()), grid, threads);
            ComplexValues x(A, m, [](Global i, int j) { return random_complex(1, i, j); }), y(A, m), z(A, m), r(A, m);
            ComplexValues w(A, m, [](Global i, int j) { return random_complex(2, i, j); });
            A.apply(x.view(), y.view());
            const Global first = A.partition().first(comm.rank());
            for (Index i = 0; i < A.local_rows(); ++i)
                for (int j = 0; j < m; ++j) {
                    Complex sum = 0;
                    for (Global k = 0; k < grid.rows(); ++k) sum += grid(first + i, k) * random_complex(1, k, j);
                    EXPECT_NEAR(std::abs(sum - y.view()(i, j)), 0, 1e-13);
                }
            A.apply_transpose(w.view(), z.view());
            A.residual(w.view(), x.view(), r.view());
            for (int j = 0; j < m; ++j) {
                const Complex one = inner_product(comm, w.view(), y.view(), j, j);
                const Complex other = inner_product(comm, z.view(), x.view(), j, j);
                EXPECT_NEAR(std::abs(one - other), 0, 1e-12);
            }
            for (Index i = 0; i < A.local_rows(); ++i)
                for (int j = 0; j < m; ++j)
                    EXPECT_NEAR(std::abs(w.view()(i, j) - y.view()(i, j) - r.view()(i, j)), 0, 1e-13);
        }
}

}  // namespace
