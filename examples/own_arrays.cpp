// SPDX-License-Identifier: BSD-3-Clause
// A matrix of your own, in compressed rows: each rank has some consecutive rows, with global columns. Here convection
// and diffusion along a line, 1000 cells a rank, with two right-hand sides.
#include <cstdio>
#include <span>
#include <stretto/stretto.hpp>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 1;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        constexpr int rows = 1000;
        const long first = long{rows} * comm.rank(), all = long{rows} * comm.size();

        std::vector<int> start{0};  // of each row in the other two, and where the last one ends
        std::vector<long> columns;  // global, in any order
        std::vector<double> values;
        for (long i = first; i < first + rows; ++i) {
            const auto put = [&](long column, double value) {
                if (column < 0 || column >= all) return;
                columns.push_back(column);
                values.push_back(value);
            };
            put(i, 2.2);
            put(i - 1, -1.4);
            put(i + 1, -0.6);
            start.push_back(static_cast<int>(columns.size()));
        }
        auto system =
            stretto::LinearSystem::from_rows(comm, std::span<const int>(start), std::span<const long>(columns), values,
                                             {.precond = "block_jacobi:ilu0"});
        if (comm.rank() == 0) std::printf("%s\n", stretto::hint(system.structure(), comm.size()).c_str());

        // The two values of a row are neighbours.
        constexpr int m = 2;
        std::vector<double> b(std::size_t{rows} * m), x(b.size());
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = i % m == 0 ? 1.0 : static_cast<double>(i % 7);
        const auto result = system.solve({b.data(), rows, m}, {x.data(), rows, m}, {.method = "bicgstab"});
        for (const auto& column : result.columns)
            if (comm.rank() == 0)
                std::printf("%s after %d iterations, ‖b − Ax‖/‖b‖ = %.2e\n", stretto::name(column.status).data(),
                            column.iterations, column.relative_residual);
        exit_code = result.converged() ? 0 : 1;
    }
    MPI_Finalize();
    return exit_code;
}
