// SPDX-License-Identifier: BSD-3-Clause
// Structure and accuracy of hierarchical matrices; their products are in test_hmatrix_products.cpp.
#include <gtest/gtest.h>

#include "hmatrix_cases.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

TEST(HMatrix, BlocksCoverTheMatrixExactlyOnce) {
    for (const auto& [name, geometry] : geometries(700))
        for (const auto bisection : {Bisection::geometric, Bisection::principal})
            for (const Index leaf : {8, 20, 64}) {
                const ClusterTree tree(geometry, leaf, bisection);
                std::vector<int> covered(700 * 700);
                for (const auto& [row, col, admissible] : block_list(tree, 2))
                    for (Index i = tree[row].begin; i < tree[row].end; ++i)
                        for (Index j = tree[col].begin; j < tree[col].end; ++j) ++covered[i * 700 + j];
                EXPECT_EQ(std::ranges::count(covered, 1), 700 * 700) << name;
                std::vector<Index> order(tree.order().begin(), tree.order().end());
                std::ranges::sort(order);
                for (Index i = 0; i < 700; ++i) EXPECT_EQ(order[i], i);
                for (const auto& cluster : tree.clusters()) EXPECT_TRUE(!cluster.leaf() || cluster.size() <= leaf);
            }
}

TEST(HMatrix, RanksCoverTheMatrixExactlyOnce) {
    MpiComm comm;
    const auto geometry = geometries(900).front().geometry;
    for (const bool symmetric : {false, true}) {
        HMatrixOptions options;
        options.symmetric = symmetric;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        std::vector<double> covered(900 * 900);
        for (const auto& block : H.blocks())
            for (Index i = block.row; i < block.row + block.rows; ++i)
                for (Index j = block.col; j < block.col + block.cols; ++j) {
                    ++covered[i * 900 + j];
                    if (block.mirrored) ++covered[j * 900 + i];
                }
        MPI_Allreduce(MPI_IN_PLACE, covered.data(), 900 * 900, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(std::ranges::count(covered, 1.0), 900 * 900);
        EXPECT_EQ(H.local_rows() == 0, comm.size() > 900) << "a rank has nothing to do";
    }
}

TEST(HMatrix, KeepsItsTolerance) {
    MpiComm comm;
    for (const auto& [name, geometry] : geometries(400))
        for (const auto& kernel : some_kernels)
            for (const double epsilon : {1e-2, 1e-6, 1e-9})
                for (const Index leaf : {16, 40}) {
                    if (leaf == 40 && epsilon == 1e-6) continue;
                    HMatrixOptions options;
                    options.epsilon = epsilon;
                    options.leaf = leaf;
                    options.pivoting = leaf == 16 ? Pivoting::aca : Pivoting::aca_plus;
                    options.bisection = leaf == 16 ? Bisection::geometric : Bisection::principal;
                    const auto fill = fill_of(kernel, geometry);
                    const HMatrix H(comm, geometry, fill, options);
                    EXPECT_LE(product_error(H, fill, 2), epsilon)
                        << name << ", " << kernel.name << ", " << epsilon << ", leaf " << leaf;
                }
}

/// Blocks that are too large to be filled whole, and verified at some of their entries.
TEST(HMatrix, KeepsItsToleranceInLargeBlocks) {
    MpiComm comm;
    for (const std::size_t g : {0u, 1u, 6u}) {
        const auto [name, geometry] = geometries(2000)[g];
        for (const auto& kernel : {some_kernels[0], some_kernels[3], some_kernels[4]})
            for (const double epsilon : {1e-2, 1e-6}) {
                HMatrixOptions options;
                options.epsilon = epsilon;
                options.pivoting = epsilon > 1e-3 ? Pivoting::aca : Pivoting::aca_plus;
                const auto fill = fill_of(kernel, geometry);
                const HMatrix H(comm, geometry, fill, options);
                Global large = 0;
                for (const auto& block : H.blocks()) large += block.rank >= 0 && block.rows * block.cols > 4096;
                EXPECT_GT(all_sum(comm, large), 0) << name;
                EXPECT_LE(product_error(H, fill, 1), epsilon) << name << ", " << kernel.name << ", " << epsilon;
            }
    }
}

/// Two parts of a block that have no entry in common: crosses of one say nothing of the other (Börm, Grasedyck and
/// Hackbusch 2003). Only the sample sees it.
TEST(HMatrix, WhatCrossesMissIsFoundByTheSample) {
    MpiComm comm;
    const auto geometry = geometries(1200)[6].geometry;  // two clouds
    const auto& points = geometry.points;
    const auto fill = entries([&](Index i, Index j) {
        const Point &x = points[static_cast<std::size_t>(i)], &y = points[static_cast<std::size_t>(j)];
        return (x[1] > 0.3) == (y[1] > 0.3) ? 1 / (norm(x - y) + 1e-2) : 0;
    });
    for (const auto pivoting : {Pivoting::aca, Pivoting::aca_plus}) {
        HMatrixOptions options;
        options.epsilon = 1e-4;
        options.pivoting = pivoting;
        const HMatrix H(comm, geometry, fill, options);
        EXPECT_LE(product_error(H, fill, 2), options.epsilon);
    }
}

TEST(HMatrix, NoiseIsFilledDensely) {
    MpiComm comm;
    const auto geometry = geometries(600)[6].geometry;  // two clouds: two large blocks
    const auto smooth = fill_of(some_kernels[0], geometry),
               noise = entries([](Index i, Index j) { return uniform(1, i, j); });
    for (const double epsilon : {1e-3, 1e-8}) {
        HMatrixOptions options;
        options.epsilon = epsilon;
        const HMatrix H(comm, geometry, noise, options), usual(comm, geometry, smooth, options);
        EXPECT_GT(H.statistics().refilled, 10);
        EXPECT_LT(usual.statistics().refilled, H.statistics().refilled / 2);
        EXPECT_GT(static_cast<double>(H.statistics().values), 0.99 * 600 * 600);
        EXPECT_LE(product_error(H, noise, 2), epsilon);
    }
}

TEST(HMatrix, SymmetricKernelsAreStoredOnce) {
    MpiComm alone(MPI_COMM_SELF);
    const auto geometry = geometries(2000).front().geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    HMatrixOptions options;
    const HMatrix whole(alone, geometry, fill, options);
    options.symmetric = true;
    const HMatrix half(alone, geometry, fill, options);
    EXPECT_LT(static_cast<double>(half.statistics().values), 0.6 * static_cast<double>(whole.statistics().values));
    EXPECT_LT(half.statistics().bytes, 0.6 * whole.statistics().bytes);
    EXPECT_LE(product_error(half, fill, 2), options.epsilon);
}

TEST(HMatrix, ZeroBlocksTakeNothing) {
    MpiComm comm;
    const auto geometry = geometries(800)[2].geometry;  // a line
    const auto fill = entries([&](Index i, Index j) {
        const double distance =
            std::abs(geometry.points[static_cast<std::size_t>(i)][0] - geometry.points[static_cast<std::size_t>(j)][0]);
        return std::max(0.0, 0.05 - distance);
    });
    HMatrixOptions options;
    options.leaf = 16;
    const HMatrix H(comm, geometry, fill, options);
    EXPECT_GT(H.statistics().zero_blocks, H.statistics().low_rank_blocks / 2);
    EXPECT_LE(product_error(H, fill, 2), options.epsilon);
    // A rank needs its neighbours' columns alone.
    if (comm.size() == 4) {
        EXPECT_LT(H.received(), 600 - 200);
    }
}

TEST(HMatrix, SmallerThanALeaf) {
    MpiComm comm;
    for (const Index n : {1, 2, 7, 8, 9, 63})
        for (const auto& [name, geometry] : geometries(n)) {
            const auto fill = fill_of(some_kernels[1], geometry);
            const HMatrix H(comm, geometry, fill);
            EXPECT_LE(product_error(H, fill, 2), 1e-6) << name << ", n = " << n;
            EXPECT_EQ(all_sum(comm, Global{H.local_rows()}), n);
        }
}

TEST(HMatrix, SinglePrecisionKeepsTheTolerance) {
    MpiComm comm;
    const auto geometry = geometries(800).front().geometry;
    for (const auto& kernel : some_kernels)
        for (const double epsilon : {1e-3, 1e-6}) {
            const auto fill = fill_of(kernel, geometry);
            HMatrixOptions options;
            options.epsilon = epsilon;
            options.precision = Precision::single_or_double;
            const HMatrix H(comm, geometry, fill, options);
            options.precision = Precision::double_only;
            const HMatrix twice(comm, geometry, fill, options);
            EXPECT_GT(H.statistics().single, 0.9) << kernel.name << epsilon;
            EXPECT_EQ(twice.statistics().single, 0);
            EXPECT_LT(H.statistics().bytes, 0.6 * twice.statistics().bytes);
            EXPECT_LE(product_error(H, fill, 1), epsilon) << kernel.name;
        }
}

/// Column by column of U and V as short as ε allows: nothing is lost, and much of the numbers are integers.
TEST(HMatrix, ShortNumbersKeepTheTolerance) {
    MpiComm comm;
    const auto geometry = geometries(1000)[6].geometry;  // two clouds: half of the entries are in large low-rank blocks
    for (const auto& kernel : {some_kernels[0], some_kernels[4]})
        for (const double epsilon : {1e-3, 1e-6, 1e-9}) {
            const auto fill = fill_of(kernel, geometry);
            HMatrixOptions options;
            options.epsilon = epsilon;
            const HMatrix H(comm, geometry, fill, options);
            options.precision = Precision::single_or_double;
            const HMatrix longer(comm, geometry, fill, options);
            EXPECT_GT(H.statistics().in_8_bits, 0) << kernel.name << epsilon;
            EXPECT_GT(H.statistics().in_16_bits, 0) << kernel.name << epsilon;
            EXPECT_LT(H.statistics().bytes, (epsilon >= 1e-3 ? 0.6 : 1) * longer.statistics().bytes)
                << kernel.name << epsilon;
            EXPECT_LE(product_error(H, fill, 2), epsilon) << kernel.name;
        }
}

/// A column that is zero but for one entry has hardly anything in common with others: scales are its own.
TEST(HMatrix, ScalesAreThoseOfColumns) {
    MpiComm comm;
    const auto geometry = geometries(400).front().geometry;
    const auto fill = entries([&](Index i, Index j) { return (i == j ? 1 : 1e-4) * std::pow(10.0, j % 9); });
    HMatrixOptions options;
    options.epsilon = 1e-3;
    const HMatrix H(comm, geometry, fill, options);
    EXPECT_GT(H.statistics().in_16_bits, 0.1);
    EXPECT_LE(product_error(H, fill, 2), options.epsilon);
    for (const auto& block : H.diagonal_blocks())
        for (Index j = 0; j < block.rows; ++j)
            for (Index i = 0; i < block.rows; ++i) {
                const Index row = H.original(block.begin + i), col = H.original(block.begin + j);
                double value = 0;
                fill({&row, 1}, {&col, 1}, &value);
                ASSERT_NEAR(block.values[static_cast<std::size_t>(j * block.rows + i)], value,
                            std::pow(10.0, col % 9) / 65000);
            }
}

/// Beyond the range of single precision all numbers are doubles.
TEST(HMatrix, HugeAndTinyNumbersAreDoubles) {
    MpiComm comm;
    const auto geometry = geometries(400).front().geometry;
    const auto plain = fill_of(some_kernels[0], geometry);
    for (const double factor : {1e60, 1e-60}) {
        const Fill fill = [&](std::span<const Index> rows, std::span<const Index> cols, double* out) {
            plain(rows, cols, out);
            for (std::size_t k = 0; k < rows.size() * cols.size(); ++k) out[k] *= factor;
        };
        HMatrixOptions options;
        options.epsilon = 1e-3;
        const HMatrix H(comm, geometry, fill, options);
        EXPECT_EQ(H.statistics().single + H.statistics().in_16_bits + H.statistics().in_8_bits, 0);
        EXPECT_LE(product_error(H, fill, 2), options.epsilon);
    }
}

TEST(HMatrix, RankOne) {
    MpiComm comm;
    const auto geometry = geometries(1000).front().geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    HMatrixOptions options;
    options.max_rank = 1;
    const HMatrix H(comm, geometry, fill, options);
    EXPECT_EQ(H.statistics().max_rank, 1);
    EXPECT_LT(product_error(H, fill, 2), 0.3);
}

void expect_refused(const Geometry& geometry, const Fill& fill, const HMatrixOptions& options,
                    const std::string& message) {
    MpiComm comm;
    try {
        const HMatrix H(comm, geometry, fill, options);
        ADD_FAILURE() << "accepted, instead of: " << message;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
}

TEST(HMatrix, BadInputIsRefusedOnAllRanks) {
    auto geometry = geometries(400).front().geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    HMatrixOptions options;
    options.epsilon = 0;
    expect_refused(geometry, fill, options, "between 0 and 1");
    options.epsilon = 1e-3;
    options.leaf = 4;
    expect_refused(geometry, fill, options, "leaf=4");
    options.leaf = 32;
    options.eta = -1;
    expect_refused(geometry, fill, options, "eta=-1");
    options.eta = 2;
    double announced = 0;
    options.announce = [&](const HMatrixEstimate& estimate) { announced = estimate.peak; };
    options.memory_limit = 1e4;
    expect_refused(geometry, fill, options, "GB on a rank");
    EXPECT_GT(announced, 1e4);
    options.memory_limit = 1e9;
    expect_refused(geometry, entries([](Index i, Index j) { return i == 3 && j == 3 ? NAN : 1.0 + i + j * j; }),
                   options, "the kernel is nan at points 4 and 4");
    expect_refused(
        geometry, [](auto, auto, double*) { throw InputError("the kernel's own trouble"); }, options, "own trouble");
    std::atomic<bool> interrupt = true;
    options.interrupt = &interrupt;
    expect_refused(geometry, fill, options, "interrupted");
    geometry.points[5][1] = NAN;
    expect_refused(geometry, fill, {}, "point 6");
    expect_refused({}, fill, {}, "at least one point");
}

TEST(HMatrix, TheEstimateIsAnEstimate) {
    MpiComm comm;
    const auto geometry = geometries(3000).front().geometry;
    for (const double epsilon : {1e-3, 1e-6}) {
        HMatrixOptions options;
        options.epsilon = epsilon;
        double stored = 0;
        options.announce = [&](const HMatrixEstimate& estimate) { stored = estimate.stored; };
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        EXPECT_NEAR(stored, H.statistics().bytes, 0.25 * H.statistics().bytes);
    }
}

}  // namespace
}  // namespace stretto
