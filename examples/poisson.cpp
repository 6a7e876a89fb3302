// SPDX-License-Identifier: BSD-3-Clause
// Solve a generated problem, or the matrix of a file: mpirun -n 2 poisson [MATRIX.mtx]
#include <cstdio>
#include <stretto/stretto.hpp>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        auto system = stretto::LinearSystem::load(comm, argc > 1 ? argv[1] : "poisson3d:40", {.precond = "jacobi"});
        std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0), x(b.size());
        const auto result = system.solve(b, x, {.method = "pipelined_cg", .rtol = 1e-10});
        if (comm.rank() == 0)
            std::printf("%s after %d iterations, ‖b − Ax‖/‖b‖ = %.2e\n", stretto::name(result.status).data(),
                        result.iterations, result.relative_residual());
        exit_code = result.converged() ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
