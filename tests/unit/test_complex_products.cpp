// SPDX-License-Identifier: BSD-3-Clause
// Products of complex vectors, panels and matrices: inner products conjugate the left.
#include <fmt/format.h>

#include <limits>

#include "complex_systems.hpp"
#include "formulas.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/sparse/storage_report.hpp"
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

/// Values that are each other's mirror images, or conjugates of them, or neither.
enum class Images { unlike, equal, conjugate };

struct Values {
    std::string_view name;
    Images images;
    int bytes;  // of a value, where it is packed
    Complex (*of)(Global i, Global j);
};
double random(std::uint64_t seed, Global i, Global j) { return uniform(seed, std::min(i, j), std::max(i, j)); }
double sign(Global i, Global j) { return i < j ? 1 : i > j ? -1 : 0; }
Complex whole(Global i, Global j) { return {static_cast<double>(1 + i * 1000 + j), static_cast<double>(i - 2 * j)}; }
const Values all_values[] = {
    {"general", Images::unlike, 16,
     [](Global i, Global j) -> Complex { return {2 + uniform(3, i, j), uniform(4, i, j)}; }},
    {"symmetric", Images::equal, 16,
     [](Global i, Global j) -> Complex { return {2 + random(3, i, j), random(4, i, j)}; }},
    {"hermitian", Images::conjugate, 16,
     [](Global i, Global j) -> Complex { return {2 + random(3, i, j), sign(i, j) * random(4, i, j)}; }},
    {"single", Images::unlike, 8, whole},
    {"single symmetric", Images::equal, 8, [](Global i, Global j) { return whole(std::min(i, j), std::max(i, j)); }},
    {"few", Images::unlike, 1,
     [](Global i, Global j) -> Complex { return {1.0 / static_cast<double>(1 + (i + 2 * j) % 9), 0.1 * (j % 5)}; }},
    {"few hermitian", Images::conjugate, 1,
     [](Global i, Global j) -> Complex { return {1.0 / static_cast<double>(1 + (i + j) % 9), 0.1 * sign(i, j)}; }},
};

void expect_same_operator(const CsrMatrix<Complex>& A, const CsrMatrix<Complex>& C, double tolerance) {
    for (const int m : {1, 2, 3, 7}) {
        const auto x_of = [](Global i, int j) { return random_complex(1, i, j); };
        const auto nothing = [](Global, int) { return Complex(std::numeric_limits<double>::quiet_NaN()); };
        ComplexValues x(A, m, x_of), y(A, m, nothing), z(A, m, nothing);
        const auto expect_same = [&] {
            for (std::size_t i = 0; i < y.data().size(); ++i)
                ASSERT_LE(std::abs(y.data()[i] - z.data()[i]), tolerance) << m << " columns";
        };
        A.apply(x.view(), y.view());
        C.apply(x.view(), z.view());
        expect_same();
        A.apply_transpose(x.view(), y.view());
        C.apply_transpose(x.view(), z.view());
        expect_same();
        A.residual(x.view(), x.view(), y.view());
        C.residual(x.view(), x.view(), z.view());
        expect_same();
    }
}

/// In 723 rows with entries where `near` says, in one form for products of one column, and in compressed rows.
void expect_storage(const std::function<bool(Global, Global)>& near, std::string_view form, bool halves) {
    MpiComm comm;
    constexpr Global n = 723;
    for (const auto& values : all_values)
        for (const auto& partition : partitions(n, comm.size()))
            for (const int threads : {1, 2}) {
                if (threads > 1 && comm.size() > 1) continue;
                SCOPED_TRACE(fmt::format("{}, {}, {} threads", form, values.name, threads));
                const auto rows = rows_of<Complex>(partition, comm.rank(), [&](Global i, Global j) {
                    return near(i, j) ? values.of(i, j) : Complex();
                });
                const CsrMatrix<Complex> C(comm, partition, rows, threads, Storage::compressed_rows);
                CsrMatrix<Complex> A(comm, partition, rows, threads);
                const double tolerance = std::abs(values.of(n, n)) > 1000 ? 1e-6 : 1e-11;
                expect_same_operator(A, C, tolerance);
                if (comm.size() * threads == 1) {
                    const bool halved = halves && values.images != Images::unlike;
                    EXPECT_EQ(A.forms()[form].rows, n);
                    EXPECT_EQ(report_storage(A, 1).halved_rows, halved ? n : 0);
                    EXPECT_LT(report_storage(A, 1).bytes_per_nonzero,
                              halved ? 0.6 * values.bytes + 0.5 : 1.03 * values.bytes + 3.3);
                    EXPECT_EQ(A.bytes(1) - A.forms().bytes(1), C.bytes(1) - C.forms().bytes(1));
                }
                // The values of another kind, and back again.
                const auto other = rows_of<Complex>(partition, comm.rank(), [&](Global i, Global j) {
                    return near(i, j) ? all_values[0].of(i, j) : Complex();
                });
                A.update_values(other);
                EXPECT_EQ(report_storage(A, 1).halved_rows, 0);
                A.update_values(rows);
                expect_same_operator(A, C, tolerance);
            }
}

TEST_F(ComplexProducts, RowsInStepGiveTheSameProduct) {
    constexpr Global nx = 41, ny = 6;
    expect_storage(
        [](Global i, Global j) {
            const Global dx = j % nx - i % nx, dy = j / nx % ny - i / nx % ny, dz = j / (nx * ny) - i / (nx * ny);
            return std::abs(dx) + std::abs(dy) + std::abs(dz) <= 1;
        },
        "in-step", true);
}

TEST_F(ComplexProducts, BlockedRowsGiveTheSameProduct) {
    expect_storage(
        [](Global i, Global j) {
            const Global a = std::min(i, j) / 3, b = std::max(i, j) / 3;
            return i != 13 && j != 13 && (a == b || (b - a < 70 && (7 * a * a + 13 * b) % 5 == 0));
        },
        "blocked", true);
}

TEST_F(ComplexProducts, SlicedRowsGiveTheSameProduct) {
    expect_storage(
        [](Global i, Global j) {
            const Global a = std::min(i, j), b = std::max(i, j);
            return i % 50 != 0 && b - a < 90 && (i == j || (7 * a * a + 13 * b) % 31 == 0);
        },
        "sliced", false);
}

TEST_F(ComplexProducts, RepeatedRowsGiveTheSameProduct) {
    for (const Grid& like : {hermitian_grid(), helmholtz_grid(), convection_grid()})
        for (const auto& partition : partitions(41 * 9, comm.size()))
            for (const int threads : {1, 2}) {
                if (threads > 1 && comm.size() > 1) continue;
                Grid grid = like;
                grid.nx = 41;
                const auto rows = rows_of<Complex>(partition, comm.rank(), grid);
                const CsrMatrix<Complex> A(comm, partition, rows, threads);
                const CsrMatrix<Complex> C(comm, partition, rows, threads, Storage::compressed_rows);
                if (comm.size() * threads == 1) {
                    EXPECT_EQ(A.forms()["repeated"].rows, grid.rows());
                    EXPECT_EQ(A.forms()["repeated"].different, 9);
                }
                expect_same_operator(A, C, 1e-13);
            }
}

}  // namespace
