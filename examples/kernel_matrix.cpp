// SPDX-License-Identifier: BSD-3-Clause
// A dense matrix of your own as a hierarchical matrix: points in space and a function of two of them. Here kriging: a
// field is measured at scattered points; the weights of its interpolation solve with the covariance of all pairs.
#include <cmath>
#include <cstdio>
#include <stretto/stretto.hpp>
#include <vector>

using stretto::Index, stretto::Point;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        stretto::Geometry geometry;  // the same on every rank
        for (Index i = 0; i < 4000; ++i)
            geometry.points.push_back(
                {stretto::uniform(1, i, 0), stretto::uniform(1, i, 1), stretto::uniform(1, i, 2)});

        // The function is compiled into the loops that fill blocks.
        const auto covariance = stretto::entries([&p = geometry.points](Index i, Index j) {
            const auto &a = p[static_cast<std::size_t>(i)], &b = p[static_cast<std::size_t>(j)];
            return std::exp(-std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])) + (i == j ? 0.01 : 0.0);
        });

        stretto::HMatrixOptions options;
        options.epsilon = 1e-5;
        options.symmetric = true;
        const stretto::HMatrix A(comm, geometry, covariance, options);

        const Index n = A.local_rows();
        std::vector<double> b(static_cast<std::size_t>(n)), x(b.size(), 0.0);
        for (Index i = 0; i < n; ++i)  // rows are in the order of the clusters
            b[static_cast<std::size_t>(i)] = std::sin(3 * geometry.points[static_cast<std::size_t>(A.original(i))][0]);

        const stretto::DiagonalBlocks blocks(A);
        stretto::SolveOptions solver;
        solver.method = "cg";
        solver.rtol = 1e-5;
        const auto result = stretto::solve<double>(comm, A, blocks, {b.data(), n, 1}, {x.data(), n, 1}, solver);
        if (comm.rank() == 0)
            std::printf("%s after %d iterations; %.1f MB, %.0f %% of a dense matrix\n",
                        stretto::name(result.status).data(), result.iterations, 1e-6 * A.statistics().bytes,
                        100 * A.statistics().bytes / (8.0 * 4000 * 4000));
        exit_code = result.converged() ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
