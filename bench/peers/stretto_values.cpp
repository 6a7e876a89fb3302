// SPDX-License-Identifier: BSD-3-Clause
// Solves a sequence of systems whose values change in the same places (values.hpp), with Stretto:
//
//     mpirun -n 2 stretto_values PROBLEM RTOL MAX_IT METHOD PRECOND TIMES
//
// Rank 0 prints a JSON object: seconds of all set-ups, updates included, and of all solves, iterations, the largest
// ‖b − Ax‖/‖b‖.
#include <algorithm>
#include <optional>

#include "harness.hpp"
#include "stretto/system/linear_system.hpp"
#include "values.hpp"

int main(int argc, char** argv) {
    using namespace stretto;
    return peers::with_mpi(argc, argv, [&] {
        if (argc != 7) throw std::invalid_argument("usage: stretto_values PROBLEM RTOL MAX_IT METHOD PRECOND TIMES");
        MpiComm comm(MPI_COMM_WORLD);
        DistributedRows problem = load_problem(comm, argv[1]);
        const LocalRows<double> rows = problem.rows;
        const Global first = problem.partition.first(comm.rank());
        SolveOptions options;
        options.rtol = std::stod(argv[2]);
        options.max_iterations = std::stoi(argv[3]);
        options.method = argv[4];
        std::optional<LinearSystem> system;
        std::optional<SystemSolver> solver;
        double setup = 0, solve = 0, residual = 0;
        bool claims = true;
        std::vector<int> iterations;
        for (int k = 0; k < std::stoi(argv[6]); ++k) {
            const peers::Changed changed(rows, first, k);
            if (k == 0) problem.rows.values = changed.values;
            setup += peers::seconds([&] {
                if (k > 0) return system->update_values(changed.values);
                SystemOptions how;
                how.precond = argv[5];
                system.emplace(comm, std::move(problem), how);
                solver.emplace(system->solver(options));
            });
            std::vector<double> x(changed.b.size());
            const Result* result = nullptr;
            solve += peers::seconds([&] { result = &solver->solve(changed.b, x); });
            claims = claims && result->converged();
            residual = std::max(residual, result->relative_residual());
            iterations.push_back(result->iterations);
        }
        if (comm.rank() == 0)
            fmt::print("{}\n", peers::ordered_json{{"claims", claims},
                                                   {"iterations", iterations},
                                                   {"residual", residual},
                                                   {"setup", setup},
                                                   {"solve", solve}}
                                   .dump());
    });
}
