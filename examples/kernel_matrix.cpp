// SPDX-License-Identifier: BSD-3-Clause
// A dense matrix of your own as a hierarchical matrix: points in space and a function of two of them. Here kriging: a
// field is measured at scattered points; the weights of its interpolation solve with the covariance of all pairs.
#include <cmath>
#include <cstdio>
#include <stretto/stretto.hpp>
#include <vector>

using stretto::Index;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        constexpr Index n = 4000;
        stretto::DenseMatrix matrix;  // the same on every rank
        auto& points = matrix.geometry.points;
        for (Index i = 0; i < n; ++i)
            points.push_back({stretto::uniform(1, i, 0), stretto::uniform(1, i, 1), stretto::uniform(1, i, 2)});
        // The function is compiled into the loops that fill blocks.
        matrix.fill = stretto::entries([&points](Index i, Index j) {
            const auto &a = points[static_cast<std::size_t>(i)], &b = points[static_cast<std::size_t>(j)];
            return std::exp(-std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])) + (i == j ? 0.01 : 0.0);
        });
        matrix.symmetric = matrix.positive_definite = true;

        stretto::DenseSystem system(comm, matrix, {.precond = "auto", .hmatrix = "epsilon=1e-6", .rtol = 1e-4});

        std::vector<double> b, x(n);  // whole on every rank, in the order of the points
        for (const auto& point : points) b.push_back(std::sin(3 * point[0]));
        stretto::SolveOptions options;
        options.method = "auto";
        options.rtol = 1e-4;
        const auto result = system.solve({b.data(), n, 1}, {x.data(), n, 1}, options);
        const double bytes = system.matrix().statistics().bytes;
        if (comm.rank() == 0)
            std::printf(
                "%s after %d iterations, ‖b − Ax‖/‖b‖ with the function itself %.1e; %.1f MB, %.0f %% of a dense "
                "matrix\n",
                stretto::name(result.status).data(), result.iterations, system.kernel_residuals()[0], 1e-6 * bytes,
                100 * bytes / (8.0 * n * n));
        exit_code = result.converged() ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
