// SPDX-License-Identifier: BSD-3-Clause
// Products with hierarchical matrices, and their layouts.
#include <gtest/gtest.h>

#include "allocations.hpp"
#include "hmatrix_cases.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/precond/diagonal_blocks.hpp"

namespace stretto {
namespace {

TEST(HMatrix, ManyColumnsAreOneByOne) {
    MpiComm comm;
    const auto geometry = geometries(500)[6].geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    for (const bool symmetric : {false, true})
        for (const int threads : {1, 3}) {
            HMatrixOptions options;
            options.epsilon = threads == 1 ? 1e-3 : 1e-6;  // dense blocks of integers, or of floats
            options.symmetric = symmetric;
            options.threads = threads;
            options.leaf = 16;
            const HMatrix H(comm, geometry, fill, options);
            EXPECT_LE(product_error(H, fill, 1), options.epsilon);
            const Index local = H.local_rows();
            for (const int m : {2, 3, 7}) {
                const auto size = static_cast<std::size_t>(local) * static_cast<std::size_t>(m);
                std::vector<double> x(size), y(size), x1(static_cast<std::size_t>(local)), y1(x1.size());
                const MultiVector<double> X(x.data(), local, m), Y(y.data(), local, m);
                for (Index i = 0; i < local; ++i)
                    for (int c = 0; c < m; ++c) X(i, c) = uniform(5, H.original(i), c);
                H.apply(X, Y);
                for (int c = 0; c < m; ++c) {
                    for (Index i = 0; i < local; ++i) x1[static_cast<std::size_t>(i)] = X(i, c);
                    H.apply({x1.data(), local, 1}, {y1.data(), local, 1});
                    for (Index i = 0; i < local; ++i) ASSERT_NEAR(Y(i, c), y1[static_cast<std::size_t>(i)], 1e-9);
                }
            }
        }
}

TEST(HMatrix, TransposedProducts) {
    MpiComm comm;
    for (const auto& [name, geometry] : geometries(500))
        for (const auto& kernel : {some_kernels[0], some_kernels[4]})
            for (const int threads : {1, 3})
                for (const int m : {1, 3, 5}) {
                    HMatrixOptions options;
                    options.symmetric = kernel.name != "unsymmetric" && threads == 3;
                    options.threads = threads;
                    options.leaf = 16;
                    options.epsilon = m == 3 ? 1e-3 : 1e-6;
                    const HMatrix H(comm, geometry, fill_of(kernel, geometry), options);
                    const Index local = H.local_rows();
                    std::vector<double> u(static_cast<std::size_t>(local * m)), v(u), Hu(u), Hv(u);
                    const auto columns = [&](std::vector<double>& x) {
                        return MultiVector<double>(x.data(), local, m);
                    };
                    for (Index i = 0; i < local; ++i)
                        for (int c = 0; c < m; ++c) {
                            columns(u)(i, c) = uniform(11, H.original(i), c);
                            columns(v)(i, c) = uniform(12, H.original(i), c);
                        }
                    for (int again = 0; again < 2; ++again) {
                        H.apply(columns(u), columns(Hu));
                        H.apply_transpose(columns(v), columns(Hv));
                    }
                    for (int c = 0; c < m; ++c) {
                        double left = 0, right = 0, size = 0;
                        for (Index i = 0; i < local; ++i) {
                            left += columns(v)(i, c) * columns(Hu)(i, c);
                            right += columns(Hv)(i, c) * columns(u)(i, c);
                            size += columns(Hu)(i, c) * columns(Hu)(i, c);
                        }
                        left = all_sum(comm, left);
                        right = all_sum(comm, right);
                        EXPECT_NEAR(left, right, 1e-11 * std::sqrt(500 * all_sum(comm, size)))
                            << name << kernel.name << m;
                    }
                }
}

/// A communicator of one rank that delivers what travels when it is waited for, and counts the sums meanwhile.
class LateComm final : public Comm {
public:
    LateComm() : Comm(MPI_COMM_SELF) {}
    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        std::ranges::copy(mine, total.begin());
        ++sums;
        return {};
    }
    std::function<void()> deliver;
    int sums = 0, gathers = 0, hidden = 0;

private:
    Pending post_exchange(std::span<const Message>, std::span<const Message>) override {
        sums_before_ = sums;
        return {*this, 0};
    }
    std::optional<Clock::time_point> finish(int) override {
        ++gathers;
        hidden += sums > sums_before_;
        deliver();
        return Clock::now();
    }
    int sums_before_ = 0;
};

struct Bidiagonal {
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        for (Index i = 0; i < x.rows(); ++i) y(i) = (1 + 0.02 * i) * x(i) - (i > 0 ? 0.5 * x(i - 1) : 0);
    }
    double bytes(int) const { return 0; }
};
/// The same, but y is not there before it has been waited for.
struct LateBidiagonal : Bidiagonal {
    LateComm* comm;
    mutable std::vector<double> y_then;

    Pending start_apply(MultiVector<double> x, MultiVector<double> y) const {
        y_then.resize(static_cast<std::size_t>(x.rows()));
        Bidiagonal::apply(x, {y_then.data(), x.rows(), 1});
        std::ranges::fill(y.values(), NAN);
        comm->deliver = [y, this] { std::ranges::copy(y_then, y.values().begin()); };
        return comm->start_exchange({}, {});
    }
};
struct Diagonal {
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        for (Index i = 0; i < x.rows(); ++i) y(i) = x(i) / (1 + 0.01 * i);
    }
    double bytes(int) const { return 0; }
};

TEST(Replicated, PipelinedBicgstabHidesTheGatherBehindSums) {
    LateComm comm;
    const LateBidiagonal late{{}, &comm, {}};
    const Diagonal M;
    for (const bool preconditioned : {false, true}) {
        std::vector<double> b(200, 1.0), x(200, 0.0), y(200, 0.0);
        SolveOptions options;
        options.method = "pipelined_bicgstab:check=0";
        options.rtol = 1e-10;
        const AnyOperator<double> with = preconditioned ? AnyOperator<double>(M) : AnyOperator<double>();
        comm.gathers = comm.hidden = 0;
        const auto gathered = solve<double>(comm, late, with, {b.data(), 200, 1}, {x.data(), 200, 1}, options);
        const int gathers = comm.gathers;
        EXPECT_TRUE(gathered.converged());
        EXPECT_GE(gathers, 2 * gathered.iterations);
        EXPECT_GE(comm.hidden, gathers - 4);  // all but those at the start and the end
        const Bidiagonal at_once;
        const auto usual = solve<double>(comm, at_once, with, {b.data(), 200, 1}, {y.data(), 200, 1}, options);
        EXPECT_EQ(comm.gathers, gathers);
        EXPECT_NEAR(gathered.iterations, usual.iterations, 2);
        for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-7);
    }
}

TEST(HMatrix, RanksAgreeWithOne) {
    MpiComm comm, alone(MPI_COMM_SELF);
    for (const auto& [name, geometry] : geometries(500)) {
        const auto fill = fill_of(some_kernels[2], geometry);
        HMatrixOptions options;
        options.epsilon = 1e-8;
        options.leaf = 16;
        const HMatrix together(comm, geometry, fill, options), one(alone, geometry, fill, options);
        std::vector<double> y, y1;
        product_error(together, fill, 2, &y);
        product_error(one, fill, 2, &y1);
        double error = 0, size = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            error += (y[i] - y1[i]) * (y[i] - y1[i]);
            size += y1[i] * y1[i];
        }
        EXPECT_LE(std::sqrt(error / size), 2e-8) << name;
        EXPECT_EQ(one.received(), 0);
    }
}

TEST(HMatrix, DiagonalBlocks) {
    MpiComm comm;
    const auto geometry = geometries(300)[1].geometry;
    const auto fill = fill_of(some_kernels[2], geometry);
    HMatrixOptions options;
    options.threads = 2;
    options.leaf = 20;
    const HMatrix H(comm, geometry, fill, options);
    Index covered = 0;
    for (const auto& [begin, rows, values] : H.diagonal_blocks()) {
        EXPECT_EQ(begin, covered);
        covered += rows;
        for (Index j = 0; j < rows; ++j)
            for (Index i = 0; i < rows; ++i) {
                double value = 0;
                const Index row = H.original(begin + i), col = H.original(begin + j);
                fill({&row, 1}, {&col, 1}, &value);
                EXPECT_NEAR(values[static_cast<std::size_t>(j * rows + i)], value, 1e-6);
            }
    }
    EXPECT_EQ(covered, H.local_rows());
}

TEST(HMatrix, ProductsAllocateNothingAfterTheFirst) {
    MpiComm comm;
    const auto geometry = geometries(600).front().geometry;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry));
    std::vector<double> x(static_cast<std::size_t>(H.local_rows()), 1.0), y(x.size());
    H.apply({x.data(), H.local_rows(), 1}, {y.data(), H.local_rows(), 1});
    if (comm.size() > 1) return;  // MPI libraries may allocate
    const auto before = allocations.load();
    H.apply({x.data(), H.local_rows(), 1}, {y.data(), H.local_rows(), 1});
    EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace stretto
