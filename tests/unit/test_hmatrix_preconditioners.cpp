// SPDX-License-Identifier: BSD-3-Clause
// Preconditioners made of hierarchical matrices.
#include <gtest/gtest.h>

#include "hmatrix_cases.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/precond/diagonal_blocks.hpp"
#include "stretto/precond/inner_iterations.hpp"
#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

TEST(DiagonalBlocks, EverywhereIsTheSameAsInParts) {
    MpiComm comm;
    const auto geometry = geometries(500)[1].geometry;
    HMatrixOptions options;
    options.leaf = 16;
    const HMatrix H(comm, geometry, fill_of(some_kernels[4], geometry), options);
    const DiagonalBlocks parts(H), whole(H, true);
    std::vector<double> r(500), z(500, NAN), w(500, NAN);
    for (Index i = 0; i < 500; ++i) r[static_cast<std::size_t>(i)] = uniform(3, i);
    const auto all = [](std::vector<double>& x) { return MultiVector<double>(x.data(), 500, 1); };
    for (const bool transposed : {false, true}) {
        const auto apply = [&](const DiagonalBlocks& M, MultiVector<double> from, MultiVector<double> to) {
            transposed ? M.apply_transpose(from, to) : M.apply(from, to);
        };
        apply(parts, H.rows_of(all(r), comm.rank()), H.rows_of(all(z), comm.rank()));
        H.start_gather(all(z)).wait();
        apply(whole, all(r), all(w));
        EXPECT_EQ(z, w);
    }
}

TEST(InnerIterations, FlexibleMethodsTakeThem) {
    MpiComm comm;
    const auto geometry = geometries(800).front().geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    HMatrixOptions options;
    const HMatrix H(comm, geometry, fill, options);
    options.max_rank = 1;
    options.partition = H.partition();
    const InnerIterations inner(HMatrix(comm, geometry, fill, options), 20);
    const Index n = H.local_rows();
    for (const int m : {1, 2}) {
        const auto size = static_cast<std::size_t>(n * m);
        std::vector<double> b(size), x(size);
        for (std::size_t i = 0; i < size; ++i) b[i] = std::sin(0.1 * static_cast<double>(i));
        int plain = 0;
        for (const char* method : {"gmres", "gmres:flexible=1", "gmres:flexible=1,orth=mgs", "bicgstab"}) {
            std::ranges::fill(x, 0.0);
            SolveOptions solver;
            solver.method = method;
            const bool first = plain == 0;
            const AnyOperator<double> M = first ? AnyOperator<double>() : AnyOperator<double>(inner);
            const auto result = solve<double>(comm, H, M, {b.data(), n, m}, {x.data(), n, m}, solver);
            EXPECT_TRUE(result.converged()) << method;
            if (first)
                plain = result.iterations;
            else
                EXPECT_LT(result.iterations, plain / 2) << method;
        }
    }
    EXPECT_THROW((Solver<double>(comm, H, inner, n, 1, {.method = "cg"})), InputError) << "M must not vary";
}

TEST(HMatrixPreconditioners, TheTableMakesThem) {
    MpiComm comm;
    const auto geometry = geometries(800).front().geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    const HMatrix H(comm, geometry, fill);
    const HMatrixOrigin origin{&geometry, &fill, {}, false};
    const Index n = H.local_rows();
    std::vector<double> b(static_cast<std::size_t>(n)), x(b.size());
    for (Index i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] = uniform(4, H.original(i));
    EXPECT_EQ(make_preconditioner("none", H), nullptr);
    int plain = 0;
    for (const std::string spec : {"none", "block_jacobi", "inner", "inner:iterations=3"}) {
        const auto chosen = choose_preconditioner(spec, MatrixKind::hierarchical);
        const auto M = make_preconditioner(spec, H, origin);
        std::ranges::fill(x, 0.0);
        SolveOptions options;
        options.method = "bicgstab";
        const auto result = solve<double>(comm, H, M ? AnyOperator<double>(*M) : AnyOperator<double>(),
                                          {b.data(), n, 1}, {x.data(), n, 1}, options);
        EXPECT_TRUE(result.converged()) << spec;
        if (!M) {
            plain = result.iterations;
            continue;
        }
        EXPECT_LE(result.iterations, M->varies() ? plain / 2 : plain + 5) << spec;
        EXPECT_EQ(chosen.symmetric(), M->symmetric()) << spec;
        EXPECT_EQ(chosen.kind->varies, M->varies()) << spec;
        EXPECT_GT(all_sum(comm, M->stored()), 0) << spec;
    }
}

TEST(HMatrixPreconditioners, RefuseWhatTheyCannotDo) {
    MpiComm comm;
    const auto geometry = geometries(100).front().geometry;
    const auto fill = fill_of(some_kernels[0], geometry);
    const HMatrix H(comm, geometry, fill);
    const auto refuses = [&](const std::string& spec, const HMatrixOrigin& origin, const std::string& words) {
        try {
            (void)make_preconditioner(spec, H, origin);
            ADD_FAILURE() << spec << " was accepted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        }
    };
    refuses("amg", {}, "'amg' for hierarchical matrices; there are: none, block_jacobi, inner");
    refuses("block_jacobi:ilu0", {}, "unexpected argument 'ilu0'");
    refuses("inner:iterations=0", {}, "option iterations=0");
    refuses("inner", {}, "needs the geometry and the kernel");
    refuses("inner", {&geometry, &fill, {}, true}, "inner works with distributed vectors only");
    EXPECT_THROW((void)choose_preconditioner("inner", MatrixKind::sparse), InputError);
    EXPECT_THROW((void)choose_preconditioner("jacobi", MatrixKind::hierarchical), InputError);
}

// One coarse matrix serves solves with any number of columns; its vectors are made once for each.
TEST(InnerIterations, ColumnsTogetherAreNearColumnsOneByOne) {
    MpiComm comm;
    const auto geometry = geometries(400).front().geometry;
    HMatrixOptions options;
    options.max_rank = 1;
    HMatrix coarse(comm, geometry, fill_of(some_kernels[0], geometry), options);
    const Index n = coarse.local_rows();
    constexpr int m = 3;
    const InnerIterations inner(std::move(coarse), 20);
    std::vector<double> r(static_cast<std::size_t>(n) * m), z(r.size()), one(static_cast<std::size_t>(n)), image(one);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = uniform(6, i);
    inner.apply({r.data(), n, m}, {z.data(), n, m});
    for (int c = 0; c < m; ++c) {
        for (Index i = 0; i < n; ++i) one[static_cast<std::size_t>(i)] = r[static_cast<std::size_t>(i * m + c)];
        inner.apply({one.data(), n, 1}, {image.data(), n, 1});
        double error = 0, size = 0;
        for (Index i = 0; i < n; ++i) {
            const double value = image[static_cast<std::size_t>(i)];
            error += std::pow(z[static_cast<std::size_t>(i * m + c)] - value, 2);
            size += value * value;
        }
        EXPECT_LE(all_sum(comm, error), 1e-4 * all_sum(comm, size));
    }
    EXPECT_THROW(inner.apply_transpose({one.data(), n, 1}, {image.data(), n, 1}), InputError);
}

// Where the inner method breaks down at once, or its numbers leave double precision, the blocks on the diagonal stand
// in.
TEST(InnerIterations, WhatBreaksDownIsLeftToTheBlocks) {
    MpiComm comm;
    const auto geometry = geometries(200).front().geometry;
    for (const double size : {0.0, 1e-200, 1e140}) {
        HMatrixOptions options;
        options.max_rank = 1;
        const Fill fill = entries([size](Index i, Index j) { return i == j ? size : size / (2 + std::abs(i - j)); });
        HMatrix coarse(comm, geometry, fill, options);
        const DiagonalBlocks blocks(coarse);
        const Index n = coarse.local_rows();
        const InnerIterations inner(std::move(coarse), 5);
        std::vector<double> r(static_cast<std::size_t>(n)), z(r.size(), NAN);
        for (Index i = 0; i < n; ++i) r[static_cast<std::size_t>(i)] = uniform(6, i);
        inner.apply({r.data(), n, 1}, {z.data(), n, 1});
        for (const double value : z) ASSERT_TRUE(std::isfinite(value)) << size;
        if (size > 0) continue;
        std::vector<double> expected(r.size());
        blocks.apply({r.data(), n, 1}, {expected.data(), n, 1});
        EXPECT_EQ(z, expected);
    }
}

}  // namespace
}  // namespace stretto
