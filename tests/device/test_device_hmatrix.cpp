// SPDX-License-Identifier: BSD-3-Clause
// Products with hierarchical matrices on the emulated device, beside those of the processor, and solves with them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <ranges>

#include "device/hmatrix/diagonal_blocks.hpp"
#include "device/hmatrix/operator.hpp"
#include "device/hmatrix/study.hpp"
#include "hmatrix_cases.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/execute/device/emulated.hpp"
#include "tested_device.hpp"

namespace stretto {
namespace {

using D = EmulatedDevice;

std::vector<double> random_vector(const HMatrix& H, int m) {
    std::vector<double> x;
    for (Index i = 0; i < H.local_rows(); ++i)
        for (int c = 0; c < m; ++c) x.push_back(uniform(3, H.original(i), c));
    return x;
}

/// y = A x, or Aᵀ x, on the device.
template <class Operator>
std::vector<double> on_device(const Operator& A, const std::vector<double>& x, int m, bool transposed) {
    const DeviceArray<double, D> from(x), to(x.size());
    const auto rows = static_cast<Index>(x.size() / static_cast<std::size_t>(m));
    const MultiVector<on_emulated> X(from.data(), rows, m), Y(to.data(), rows, m);
    if (transposed)
        A.apply_transpose(X, Y);
    else
        A.apply(X, Y);
    std::vector<double> y(x.size());
    D::download(to.data(), y.data(), y.size() * sizeof(double));
    return y;
}
std::vector<double> on_host(const HMatrix& H, std::vector<double> x, int m, bool transposed) {
    std::vector<double> y(x.size());
    const MultiVector<double> X(x.data(), H.local_rows(), m), Y(y.data(), H.local_rows(), m);
    if (transposed)
        H.apply_transpose(X, Y);
    else
        H.apply(X, Y);
    return y;
}

struct DeviceHMatrices : testing::Test {
    MpiComm comm;
    HMatrixOptions options;
    DeviceHMatrices() {
        options.leaf = 16;
        options.threads = 2;  // which share panels
    }
    void compare(const HMatrix& H, int m, const std::string& what, const BatchScheme& scheme = one_launch) {
        const DeviceHMatrix<D> A(H, scheme);
        const auto x = random_vector(H, m);
        for (const bool transposed : {false, true}) {
            const auto expected = on_host(H, x, m, transposed), found = on_device(A, x, m, transposed);
            ASSERT_LE(difference(found, expected), 1e-12 * all_max(comm, largest(expected)))
                << what << ", m = " << m << (transposed ? ", transposed" : "") << ", " << scheme.name;
            // A GPU adds atomically in any order, and a block's own rows in one.
            if (scheme.disjoint) {
                ASSERT_EQ(on_device(A, x, m, transposed), found) << what;
            }
        }
    }
};

TEST_F(DeviceHMatrices, MultiplyAsOnTheProcessor) {
    for (const auto& [name, geometry] : geometries(400))
        for (const auto& kernel : {some_kernels[0], some_kernels[4]})
            for (const auto& [precision, epsilon] :
                 {std::pair(Precision::automatic, 1e-6), std::pair(Precision::automatic, 1e-3),
                  std::pair(Precision::automatic, 1e-10), std::pair(Precision::single_or_double, 1e-6),
                  std::pair(Precision::double_only, 1e-6)}) {
                options.symmetric = kernel.name != "unsymmetric";
                options.precision = precision;
                options.epsilon = epsilon;
                compare(HMatrix(comm, geometry, fill_of(kernel, geometry), options), 1, name + ", " + kernel.name);
            }
}

TEST_F(DeviceHMatrices, MultiplyManyColumns) {
    const auto geometry = geometries(500)[6].geometry;
    for (const bool symmetric : {false, true}) {
        options.symmetric = symmetric;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        for (const int m : {2, 3, 4, 7, 8, 9, 16, 17, 64}) compare(H, m, "clouds");
    }
}

TEST_F(DeviceHMatrices, MultiplyWhateverNumbersPanelsAreStoredIn) {
    const auto geometry = geometries(700)[0].geometry;
    std::vector<double> forward(5), adjoint(5);
    for (const auto& [precision, epsilon] :
         {std::pair(Precision::automatic, 1e-3), std::pair(Precision::automatic, 1e-6),
          std::pair(Precision::double_only, 1e-6)}) {
        options.symmetric = true;  // mirrored dense blocks are added without values
        options.precision = precision;
        options.epsilon = epsilon;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        const auto steps = H.steps();
        const ProductPlan plan = plan_product(H, steps, one_launch);
        for (const PanelRange& range : plan.forward_rest.ranges) {  // 16 bytes are loaded at once
            EXPECT_EQ((range.column.place >> PanelColumn::bits) % 2, 0);
            EXPECT_EQ(range.column.place % 2, 0);
        }
        for (const PanelRun& run : plan.forward_rest.runs) forward[run.stored] += 1;
        for (const PanelGroup& group : plan.adjoint_here.groups) adjoint[static_cast<std::size_t>(group.stored())] += 1;
        for (const int m : {1, 2, 7, 8, 9, 16, 17}) compare(H, m, "sphere");
    }
    for (std::size_t stored = 0; stored < forward.size(); ++stored) {
        EXPECT_GT(all_max(comm, forward[stored]), 0) << stored;
        const double most = all_max(comm, adjoint[stored]);
        EXPECT_EQ(most > 0, static_cast<Stored>(stored) != Stored::nowhere) << stored;
    }
}

TEST_F(DeviceHMatrices, PanelsAreLargeAndSmall) {
    const auto geometry = geometries(2001)[1].geometry;
    options.leaf = 200;  // dense blocks of hundreds of rows
    options.epsilon = 1e-3;
    compare(HMatrix(comm, geometry, fill_of(some_kernels[0], geometry), options), 1, "large leaves");
    options.leaf = 64;
    options.eta = 100;  // and low-rank blocks of thousands
    compare(HMatrix(comm, geometry, fill_of(some_kernels[2], geometry), options), 3, "large blocks");
}

TEST_F(DeviceHMatrices, ChunksAreFull) {
    // One has the most columns of a chunk, one the most runs; what goes on in the next chunk is multiplied, too.
    const auto fullest = [&](const Geometry& geometry, double epsilon, auto&& of) {
        options.leaf = 8;
        options.epsilon = epsilon;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        const auto steps = H.steps();
        double most = 0;
        for (const PanelChunk& chunk : plan_product(H, steps, one_launch).forward_rest.chunks)
            most = std::max<double>(most, of(chunk));
        for (const int m : {1, 6}) compare(H, m, "full chunks");
        return all_max(comm, most);
    };
    const double columns = fullest(geometries(4001)[1].geometry, 1e-4, [](const PanelChunk& c) { return c.columns; });
    const double runs = fullest(geometries(601)[2].geometry, 1e-8, [](const PanelChunk& c) { return c.runs; });
    EXPECT_EQ(columns, columns_of_chunk);
    if (comm.size() == 1) {
        EXPECT_EQ(runs, runs_of_chunk);
    }
}

TEST_F(DeviceHMatrices, WhatADeviceCannotCountIsRefused) {
    // A column more in a slab than its distance to the next one has bits for.
    const Index most = PanelColumn::most_slab_bytes / (panel_rows * sizeof(double));
    EXPECT_EQ(plan_panels({{0, 0, 0, panel_rows, 0, {.in_double = most}}}, panel_rows).chunks.size(),
              static_cast<std::size_t>((most + columns_of_chunk - 1) / columns_of_chunk));
    EXPECT_THROW(plan_panels({{0, 0, 0, panel_rows, 0, {.in_double = most + 1}}}, panel_rows), InputError);

    const auto geometry = geometries(100)[0].geometry;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
    constexpr Index all = std::numeric_limits<Index>::max();
    auto steps = H.steps();
    steps.products = all;  // and the transposed product needs more
    EXPECT_THROW(plan_transposed(H, steps, one_launch), InputError);
    // Parts of t: a block of threads has 128 rows of a panel's.
    constexpr Index rows = Index{1} << 26, blocks = rows / (most_slabs_adjoint * panel_rows);
    steps = H.steps();
    steps.adjoint_here = {{0, 0, 0, rows, 0, {.in_double = all / blocks + 1}}};
    EXPECT_THROW(plan_product(H, steps, one_launch), InputError);
}

TEST_F(DeviceHMatrices, EverySchemeOfBatchesGivesTheSame) {
    const auto geometry = geometries(401)[0].geometry;
    for (const bool symmetric : {false, true}) {
        options.symmetric = symmetric;
        const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
        std::size_t fewest = 1000, most = 0;
        for (BatchScheme scheme : std::views::transform(studied_schemes, &StudiedScheme::scheme)) {
            scheme.count = std::min(scheme.count, 17);  // so that there are many batches
            compare(H, 1, "sphere", scheme);
            compare(H, 5, "sphere", scheme);
            const std::size_t launches = DeviceHMatrix<D>(H, scheme).launches();
            fewest = std::min(fewest, launches);
            most = std::max(most, launches);
        }
        EXPECT_LE(fewest, 4u);
        EXPECT_GT(most, 20u);
    }
}

TEST_F(DeviceHMatrices, TheStudyReturnsTheProductOfEveryScheme) {
    const auto geometry = geometries(400)[0].geometry;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
    const auto x = random_vector(H, 2), expected = on_host(H, x, 2, false);
    const auto products = tested_device().compare_batches(H, x, 2, 1, false);
    EXPECT_EQ(products.size(), std::size(studied_schemes));
    for (const auto& product : products) {
        EXPECT_LE(difference(product.y, expected), 1e-12 * all_max(comm, largest(expected))) << product.scheme;
        EXPECT_GT(product.seconds, 0);
    }
    EXPECT_EQ(tested_device().compare_batches(H, x, 2, 1, true).size(), 1u);
    EXPECT_GT(tested_device().triad(100, 1), 0);
}

TEST_F(DeviceHMatrices, DiagonalBlocksMultiplyAsOnTheProcessor) {
    const auto geometry = geometries(500)[0].geometry;
    const HMatrix H(comm, geometry, fill_of(some_kernels[4], geometry), options);
    const DiagonalBlocks M(H);
    const DeviceDiagonalBlocks<D> there(M);
    for (const int m : {1, 3}) {
        auto x = random_vector(H, m);
        for (const bool transposed : {false, true}) {
            std::vector<double> expected(x.size());
            const MultiVector<double> X(x.data(), H.local_rows(), m), Y(expected.data(), H.local_rows(), m);
            transposed ? M.apply_transpose(X, Y) : M.apply(X, Y);
            EXPECT_LE(difference(on_device(there, x, m, transposed), expected), 1e-12 * largest(expected));
        }
    }
}

TEST_F(DeviceHMatrices, SolveInBothLayouts) {
    const auto geometry = geometries(600)[0].geometry;
    options.symmetric = true;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
    const int columns = 2;
    for (const bool replicated : {false, true})
        for (const bool preconditioned : {false, true})
            for (const char* const method : {"bicgstab", "pipelined_bicgstab", "cg"}) {
                const DiagonalBlocks M(H, replicated);
                SolveOptions how;
                how.method = method;
                how.rtol = 1e-6;
                const Index rows = replicated ? static_cast<Index>(H.rows()) : H.local_rows();
                std::vector<double> b, x(static_cast<std::size_t>(rows * columns)), y(x);
                for (Index i = 0; i < rows; ++i)
                    for (int c = 0; c < columns; ++c)
                        b.push_back(
                            uniform(7, replicated ? H.tree().order()[static_cast<std::size_t>(i)] : H.original(i), c));
                const MultiVector<double> B(b.data(), rows, columns), X(x.data(), rows, columns),
                    Y(y.data(), rows, columns);
                const auto solver =
                    tested_device().solver(H, preconditioned ? &M : nullptr, {.replicated = replicated}, columns, how);
                const Result found = solver->solve(B, X, false);
                MpiComm alone(MPI_COMM_SELF);
                const Replicated whole(H);
                const auto A = replicated ? AnyOperator<double>(whole) : AnyOperator<double>(H);
                const Result expected =
                    solve<double>(replicated ? alone : comm, A,
                                  preconditioned ? AnyOperator<double>(M) : AnyOperator<double>(), B, Y, how);
                EXPECT_TRUE(found.converged()) << method;
                EXPECT_NEAR(found.iterations, expected.iterations, 2 + 0.1 * expected.iterations) << method;
                EXPECT_LE(difference(x, y), 1e-3 * all_max(comm, largest(y)))
                    << method << (replicated ? ", replicated" : "");
            }
}

TEST_F(DeviceHMatrices, ASolveHasTheSameBitsAgain) {
    const auto geometry = geometries(400)[1].geometry;
    const HMatrix H(comm, geometry, fill_of(some_kernels[0], geometry), options);
    SolveOptions how;
    how.method = "bicgstab";
    const auto solver = tested_device().solver(H, nullptr, {}, 1, how);
    auto b = random_vector(H, 1);
    std::vector<double> x(b.size()), y(b.size());
    solver->solve({b.data(), H.local_rows(), 1}, {x.data(), H.local_rows(), 1}, false);
    solver->solve({b.data(), H.local_rows(), 1}, {y.data(), H.local_rows(), 1}, false);
    EXPECT_EQ(x, y);
}

TEST_F(DeviceHMatrices, OtherPreconditionersAreRefused) {
    const Accelerator& device = tested_device();
    EXPECT_NO_THROW(device.check_hierarchical("none"));
    EXPECT_NO_THROW(device.check_hierarchical("block_jacobi"));
    EXPECT_THROW(device.check_hierarchical("inner:iterations=3"), InputError);
}

}  // namespace
}  // namespace stretto
