// SPDX-License-Identifier: BSD-3-Clause
// Solve a generated problem: mpirun -n 2 poisson
#include <cstdio>
#include <stretto/stretto.hpp>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        auto [partition, rows] = stretto::generate(comm, "poisson3d:40");
        const stretto::CsrMatrix<double> A(comm, partition, std::move(rows));

        const auto n = A.local_rows();
        std::vector<double> b(static_cast<std::size_t>(n), 1.0), x(b.size(), 0.0);

        stretto::SolveOptions options;
        options.method = "pipelined_cg";
        options.rtol = 1e-10;
        const auto result =
            stretto::solve<double>(comm, A, stretto::Identity{}, {b.data(), n, 1}, {x.data(), n, 1}, options);

        if (comm.rank() == 0)
            std::printf("%s after %d iterations, ‖b − Ax‖/‖b‖ = %.2e\n", stretto::name(result.status).data(),
                        result.iterations, result.relative_residual());
        exit_code = result.converged() ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
