// SPDX-License-Identifier: BSD-3-Clause
// Many solves with one system: the heat equation on a square, implicit Euler steps, (I + τ A) u_new = u_old. The solver
// is made once; each step starts from the temperature of the last one. Half-way the step τ is doubled: other values for
// the same entries.
#include <cmath>
#include <cstdio>
#include <stretto/stretto.hpp>
#include <vector>

using stretto::Entry, stretto::Global, stretto::LinearSystem;

constexpr Global side = 60;  // cells along an edge; outside it is cold

/// Entries of I + τ A for the cells of this rank, always in the same order.
std::vector<Entry<double>> step_matrix(const stretto::Partition& partition, int rank, double tau) {
    std::vector<Entry<double>> entries;
    for (Global cell = partition.first(rank); cell < partition.first(rank + 1); ++cell) {
        const Global x = cell % side, y = cell / side;
        entries.push_back({cell, cell, 1 + 4 * tau});
        if (x > 0) entries.push_back({cell, cell - 1, -tau});
        if (x < side - 1) entries.push_back({cell, cell + 1, -tau});
        if (y > 0) entries.push_back({cell, cell - side, -tau});
        if (y < side - 1) entries.push_back({cell, cell + side, -tau});
    }
    return entries;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int exit_code = 0;
    {
        stretto::MpiComm comm(MPI_COMM_WORLD);
        const auto partition = stretto::Partition::even(side * side, comm.size());
        auto system = LinearSystem::from_entries(comm, side * side, step_matrix(partition, comm.rank(), 5.0),
                                                 {.precond = "block_jacobi:ic0"});
        auto solver = system.solver({.method = "cg", .rtol = 1e-9});

        // Warm in the middle of the square.
        const auto rows = static_cast<std::size_t>(system.local_rows());
        std::vector<double> now(rows), next(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            const Global cell = partition.first(comm.rank()) + static_cast<Global>(i);
            now[i] = std::abs(cell % side - side / 2) < 8 && std::abs(cell / side - side / 2) < 8 ? 1 : 0;
        }
        double before = 0;
        for (const double value : now) before += value;
        before = stretto::all_sum(comm, before);

        for (int step = 1; step <= 20; ++step) {
            if (step == 11) {
                std::vector<double> values;
                for (const auto& entry : step_matrix(partition, comm.rank(), 10.0)) values.push_back(entry.value);
                system.update_values(values);  // the solver stays
            }
            next = now;  // the initial guess
            const auto& result = solver.solve(now, next);
            std::swap(now, next);
            if (!result.converged()) exit_code = 1;
            if (comm.rank() == 0 && step % 5 == 0)
                std::printf("step %2d: %s after %d iterations\n", step, stretto::name(result.status).data(),
                            result.iterations);
        }
        double heat = 0;
        for (const double value : now) heat += value;
        heat = stretto::all_sum(comm, heat);
        if (comm.rank() == 0) std::printf("%.1f %% of the heat is left\n", 100 * heat / before);
        if (!(heat > 0 && heat < before)) exit_code = 1;
    }
    MPI_Finalize();
    return exit_code;
}
