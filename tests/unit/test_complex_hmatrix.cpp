// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical matrices of complex numbers, and real operators on complex vectors.
#include <gtest/gtest.h>

#include <complex>

#include "hmatrix_cases.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/precond/diagonal_blocks.hpp"
#include "stretto/precond/jacobi.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;

ComplexFill wave(const Geometry& geometry, double k, bool symmetric) {
    return entries([&points = geometry.points, k, symmetric](Index i, Index j) {
        const Point d = points[static_cast<std::size_t>(i)] - points[static_cast<std::size_t>(j)];
        const double r = norm(d);
        const Complex value = std::polar(1 / (r + 0.02), k * r);
        return symmetric ? value : value * Complex(1 + d[0], 0.3 * d[2]);
    });
}

Complex random_value(std::uint64_t seed, Index i, int c) {
    return {uniform(seed, i, 2 * c), uniform(seed, i, 2 * c + 1)};
}

struct Vectors {
    Vectors(Index local_rows, int columns)
        : rows(local_rows), m(columns), values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(m)) {}
    MultiVector<Complex> view() { return {values.data(), rows, m}; }
    Index rows;
    int m;
    std::vector<Complex> values;
};

/// ‖A X − H X‖/‖A X‖, or of the adjoints, with all entries of A.
double error_of(const HMatrix& H, const ComplexFill& fill, int m, bool adjoint) {
    const Index n = static_cast<Index>(H.rows()), local = H.local_rows();
    Vectors x(local, m), y(local, m);
    for (Index i = 0; i < local; ++i)
        for (int c = 0; c < m; ++c) x.view()(i, c) = random_value(9, H.original(i), c);
    for (int again = 0; again < 2; ++again)
        if (adjoint)
            H.apply_transpose(in_pairs(x.view()), in_pairs(y.view()));
        else
            H.apply(in_pairs(x.view()), in_pairs(y.view()));
    double error = 0, size = 0;
    for (Index i = 0; i < local; ++i)
        for (int c = 0; c < m; ++c) {
            Complex sum = 0, entry;
            const Index row = H.original(i);
            for (Index j = 0; j < n; ++j) {
                adjoint ? fill({&j, 1}, {&row, 1}, &entry) : fill({&row, 1}, {&j, 1}, &entry);
                sum += (adjoint ? std::conj(entry) : entry) * random_value(9, j, c);
            }
            error += std::norm(sum - y.view()(i, c));
            size += std::norm(sum);
        }
    return std::sqrt(all_sum(H.comm(), error) / all_sum(H.comm(), size));
}

TEST(ComplexHMatrix, ProductsAreThoseOfTheEntries) {
    MpiComm comm;
    // Where points repeat few rows of a block may be unlike all others: blocks so small are verified by all entries.
    for (const auto& [name, geometry] : geometries(161))
        for (const bool symmetric : {false, true})
            for (const int threads : {1, 3})
                for (const double epsilon : {1e-3, 1e-6, 1e-9}) {
                    HMatrixOptions options;
                    options.symmetric = symmetric;
                    options.threads = threads;
                    options.leaf = 16;
                    options.epsilon = epsilon;
                    const auto fill = wave(geometry, 6, symmetric);
                    const HMatrix H(comm, geometry, fill, options);
                    EXPECT_TRUE(H.is_complex());
                    for (const int m : {1, 2, 3}) {
                        const std::string what = name + (symmetric ? " symmetric " : " ") + std::to_string(m) + ", " +
                                                 std::to_string(epsilon);
                        EXPECT_LE(error_of(H, fill, m, false), epsilon) << what;
                        EXPECT_LE(error_of(H, fill, m, true), 2 * epsilon) << what;
                    }
                }
}

TEST(ComplexHMatrix, LargeBlocks) {
    MpiComm comm;
    for (const std::size_t which : {0, 1, 3, 6}) {
        const auto [name, geometry] = geometries(1201)[which];
        for (const bool symmetric : {false, true}) {
            HMatrixOptions options;
            options.symmetric = symmetric;
            options.leaf = 32;
            options.threads = symmetric ? 2 : 1;
            const auto fill = wave(geometry, 3, symmetric);
            const HMatrix H(comm, geometry, fill, options);
            EXPECT_LE(error_of(H, fill, 2, false), options.epsilon) << name << symmetric;
            EXPECT_LE(error_of(H, fill, 1, true), 2 * options.epsilon) << name << symmetric;
        }
    }
}

/// The compression of a real kernel as a complex one is as good, in rank and in bytes of what is not zero.
TEST(ComplexHMatrix, RanksAreThoseOfTheRealKernel) {
    MpiComm comm;
    const auto geometry = geometries(2000)[0].geometry;
    const auto real = fill_of(some_kernels[0], geometry);
    const ComplexFill complex = entries([&real](Index i, Index j) {
        double value = 0;
        real({&i, 1}, {&j, 1}, &value);
        return Complex(0.6, 0.8) * value;
    });
    const HMatrix R(comm, geometry, real), C(comm, geometry, complex);
    EXPECT_EQ(R.statistics().low_rank_blocks, C.statistics().low_rank_blocks);
    EXPECT_NEAR(static_cast<double>(C.statistics().ranks), static_cast<double>(R.statistics().ranks),
                0.02 * static_cast<double>(R.statistics().ranks));
    EXPECT_EQ(R.statistics().max_rank, C.statistics().max_rank);
    EXPECT_LE(C.statistics().bytes, 2.1 * R.statistics().bytes);
}

/// Waves: ranks and bytes grow with the wave number, the error does not; numbers are short.
TEST(ComplexHMatrix, ShortNumbers) {
    MpiComm comm;
    const auto geometry = geometries(2000)[0].geometry;
    double bytes_before = 0;
    for (const double k : {1.0, 10.0, 30.0}) {
        const auto fill = wave(geometry, k, true);
        HMatrixOptions options;
        options.epsilon = 1e-4;
        options.symmetric = true;
        const HMatrix H(comm, geometry, fill, options);
        const auto& statistics = H.statistics();
        EXPECT_LE(error_of(H, fill, 1, false), options.epsilon);
        EXPECT_GT(statistics.in_8_bits + statistics.in_16_bits, 0.1);
        EXPECT_GT(statistics.bytes, bytes_before);
        bytes_before = statistics.bytes;
        options.precision = Precision::double_only;
        const HMatrix D(comm, geometry, fill, options);
        EXPECT_LT(statistics.bytes, 0.6 * D.statistics().bytes);
        EXPECT_LE(error_of(D, fill, 2, true), options.epsilon);
    }
}

TEST(ComplexHMatrix, RefusesWhatIsNoPair) {
    MpiComm comm;
    const auto geometry = geometries(50)[0].geometry;
    const HMatrix H(comm, geometry, wave(geometry, 1, true));
    std::vector<double> x(static_cast<std::size_t>(H.local_rows())), y(x.size());
    EXPECT_THROW(H.apply({x.data(), H.local_rows(), 1}, {y.data(), H.local_rows(), 1}), InputError);
    const ComplexFill bad = entries([](Index i, Index j) { return Complex(1, i == j ? NAN : 0); });
    EXPECT_THROW(HMatrix(comm, geometry, bad), InputError);
}

/// A x = b for complex symmetric and general A, with the methods that take them, and preconditioned.
TEST(ComplexHMatrix, Solves) {
    MpiComm comm;
    const auto geometry = geometries(400)[0].geometry;
    for (const bool symmetric : {false, true}) {
        const auto kernel = wave(geometry, 4, symmetric);
        const ComplexFill fill = entries([&kernel](Index i, Index j) {
            Complex value;
            kernel({&i, 1}, {&j, 1}, &value);
            return i == j ? value + Complex(20, 30) : value;
        });
        HMatrixOptions options;
        options.symmetric = symmetric;
        options.epsilon = 1e-10;
        options.leaf = 32;
        const HMatrix H(comm, geometry, fill, options);
        const DiagonalBlocks M(H);
        const AnyOperator<Complex> by(M);
        ASSERT_TRUE(by.has_transpose());
        const int m = 2;
        Vectors b(H.local_rows(), m), z(b), back(b);
        for (Index i = 0; i < b.rows; ++i)
            for (int c = 0; c < m; ++c) b.view()(i, c) = random_value(3, H.original(i), c);
        // Of adjoint operators (u, M v) = (Mᴴ u, v).
        by.apply(b.view(), z.view());
        by.apply_transpose(z.view(), back.view());
        double squares = 0, of_adjoint = 0;
        for (std::size_t k = 0; k < z.values.size(); ++k) {
            squares += std::norm(z.values[k]);
            of_adjoint += std::real(std::conj(back.values[k]) * b.values[k]);
        }
        EXPECT_NEAR(all_sum(comm, squares), all_sum(comm, of_adjoint), 1e-12 * all_sum(comm, squares));
        for (const char* method : {"gmres", "pipelined_gmres:l=2", "s_step_gmres", "bicgstab", "pipelined_bicgstab"})
            for (const bool preconditioned : {false, true}) {
                Vectors x(b.rows, m), r(b.rows, m);
                const auto result = solve<Complex>(comm, H, preconditioned ? by : AnyOperator<Complex>(), b.view(),
                                                   x.view(), {.method = method, .rtol = 1e-8});
                EXPECT_TRUE(result.converged()) << method;
                H.apply(in_pairs(x.view()), in_pairs(r.view()));
                for (int c = 0; c < m; ++c) {
                    double residual = 0, size = 0;
                    for (Index i = 0; i < b.rows; ++i) {
                        residual += std::norm(b.view()(i, c) - r.view()(i, c));
                        size += std::norm(b.view()(i, c));
                    }
                    EXPECT_LE(std::sqrt(all_sum(comm, residual) / all_sum(comm, size)), 1.01e-8) << method;
                }
            }
    }
}

/// The inverse of a diagonal block is that of its entries.
TEST(ComplexHMatrix, DiagonalBlocksAreInverted) {
    MpiComm comm(MPI_COMM_SELF);
    const auto geometry = geometries(24)[0].geometry;
    const auto fill = wave(geometry, 3, false);
    HMatrixOptions options;
    options.epsilon = 1e-13;
    const HMatrix H(comm, geometry, fill, options);
    ASSERT_EQ(H.blocks().size(), 1u);
    const DiagonalBlocks M(H);
    Vectors x(24, 1), y(24, 1), z(24, 1);
    for (Index i = 0; i < 24; ++i) x.view()(i) = random_value(5, i, 0);
    H.apply(in_pairs(x.view()), in_pairs(y.view()));
    M.apply(in_pairs(y.view()), in_pairs(z.view()));
    for (Index i = 0; i < 24; ++i) EXPECT_NEAR(std::abs(z.view()(i) - x.view()(i)), 0, 1e-11);
    H.apply_transpose(in_pairs(x.view()), in_pairs(y.view()));
    M.apply_transpose(in_pairs(y.view()), in_pairs(z.view()));
    for (Index i = 0; i < 24; ++i) EXPECT_NEAR(std::abs(z.view()(i) - x.view()(i)), 0, 1e-11);
}

/// A real matrix and a real preconditioner work on complex vectors, too: real and imaginary parts are columns.
TEST(RealOperators, TakeComplexVectors) {
    MpiComm comm;
    const auto partition = Partition::even(90, comm.size());
    LocalRows<double> rows;
    const auto first = static_cast<Index>(partition.first(comm.rank()));
    for (Index i = first; i < first + partition.rows(comm.rank()); ++i) {
        for (Index j = std::max(0, i - 1); j <= std::min<Index>(89, i + 1); ++j) {
            rows.columns.push_back(j);
            rows.values.push_back(i == j ? 2.5 + i % 3 : i < j ? -1.2 : -0.8);
        }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    const CsrMatrix<double> A(comm, partition, std::move(rows));
    const Jacobi M(A);
    Vectors b(A.local_rows(), 2), x(A.local_rows(), 2);
    for (Index i = 0; i < b.rows; ++i)
        for (int c = 0; c < 2; ++c) b.view()(i, c) = random_value(7, first + i, c);
    const auto result = solve<Complex>(comm, A, M, b.view(), x.view(), {.method = "improved_bicgstab", .rtol = 1e-10});
    ASSERT_TRUE(result.converged());
    // The same by real columns.
    std::vector<double> real(2 * x.values.size());
    const auto pairs = in_pairs(b.view());
    ASSERT_TRUE(solve<double>(comm, A, M, {pairs.data(), pairs.rows(), 4}, {real.data(), pairs.rows(), 4},
                              {.method = "bicgstab", .rtol = 1e-12})
                    .converged());
    for (std::size_t k = 0; k < x.values.size(); ++k)
        EXPECT_NEAR(std::abs(x.values[k] - Complex(real[2 * k], real[2 * k + 1])), 0, 1e-8);
}

}  // namespace
}  // namespace stretto
