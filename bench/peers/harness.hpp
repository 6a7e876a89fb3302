// SPDX-License-Identifier: BSD-3-Clause
// What the drivers of Stretto, PETSc and hypre share, so that all are measured alike:
//
//     mpirun -n 2 DRIVER PROBLEM METHOD PRECONDITIONERS FIRST MORE
//     mpirun -n 2 petsc_bench poisson3d:100 "cg -ksp_cg_single_reduction" none,jacobi 5 50
//
// A x = b for what stretto::load_problem makes of PROBLEM, Stretto's rows and their partition in every driver, b = 1,
// x₀ = 0. The time of an iteration is (T(FIRST + MORE) − T(FIRST)) / MORE, where T(n) is the time of a solve of exactly
// n iterations: what a solve does once, and its first iterations, cancel. Rank 0 prints one JSON object for each
// preconditioner.
//
//     mpirun -n 2 petsc_bench poisson2d:200 pipecg none,jacobi rtol=1e-12 20000
//
// solves instead, in at most so many iterations, as one who relies on the library would: what it says, and what
// ‖b − Ax‖/‖b‖ is.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/core/comm.hpp"
#include "stretto/matrix/problem.hpp"

namespace peers {

using nlohmann::ordered_json;

/// Seconds until the last rank is done, all having started together.
template <class Work>
double seconds(MPI_Comm comm, Work&& work) {
    MPI_Barrier(comm);
    const auto start = std::chrono::steady_clock::now();
    work();
    double mine = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), longest = 0;
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return longest;
}

/// T(n); a solve that ends early is an error.
template <class Solver>
double time_of(Solver& solver, int iterations) {
    solver.prepare(iterations);
    int done = 0;
    const double time = seconds(MPI_COMM_WORLD, [&] { done = solver.solve(); });
    if (done != iterations) throw std::runtime_error(fmt::format("ended after {} of {} iterations", done, iterations));
    return time;
}

/// `residual`, ‖b − Ax‖/‖b‖ after FIRST iterations, shows that two programs take the same steps. Where a solve is
/// short, both are repeated for half a second, and the shortest of each count.
template <class Solver>
void measure(Solver& solver, ordered_json& line, int first, int more) {
    constexpr double enough = 0.5;
    time_of(solver, first);  // touches all memory once
    line["residual"] = solver.residual();
    double start = INFINITY, all = INFINITY;
    for (double spent = 0; spent < enough;) {
        const double one = time_of(solver, first), other = time_of(solver, first + more);
        start = std::min(start, one);
        all = std::min(all, other);
        spent += one + other;
    }
    line["ms"] = 1e3 * (all - start) / more;
}

inline int positive(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1)
        throw std::invalid_argument(fmt::format("'{}' is not a positive number", text));
    return value;
}

/// The drivers' main. `Solver(comm, problem, method, precond, line)` sets up, and may add to the line;
/// `prepare(n)` makes ready for n iterations from x = 0, `solve()` does them and returns how many they were,
/// `residual()` is that of the last solve. `rely(rtol, n, line)`, where there is one, adds to the line what the library
/// says of a solve to that tolerance. Between MPI's start and end, `body` may start and end a library around
/// `run()`.
template <class Solver>
int main(int argc, char** argv, auto&& body) {
    MPI_Init(&argc, &argv);
    int exit_code = 0;
    try {
        if (argc != 6)
            throw std::invalid_argument(fmt::format("usage: {} PROBLEM METHOD PRECONDITIONER[,…] FIRST|rtol=RTOL MORE",
                                                    argc > 0 ? argv[0] : ""));
        const std::string name = argv[1], method = argv[2];
        constexpr std::string_view to_tolerance = "rtol=";
        const bool relies = std::string_view(argv[4]).starts_with(to_tolerance);
        const double rtol = relies ? std::stod(argv[4] + to_tolerance.size()) : 0;
        const int first = relies ? 1 : positive(argv[4]), more = positive(argv[5]);
        body([&] {
            stretto::MpiComm comm(MPI_COMM_WORLD);
            for (std::string_view rest = argv[3]; !rest.empty();) {
                const std::string precond(rest.substr(0, rest.find(',')));
                rest.remove_prefix(std::min(precond.size() + 1, rest.size()));
                ordered_json line{{"problem", name}, {"method", method}, {"precond", precond}, {"ranks", comm.size()}};
                try {
                    Solver solver(comm, stretto::load_problem(comm, name), method, precond, line);
                    if constexpr (requires { solver.rely(rtol, more, line); })
                        if (relies) solver.rely(rtol, more, line);
                    if (!relies) measure(solver, line, first, more);
                } catch (const std::runtime_error& error) {  // the same on every rank
                    line["error"] = error.what();
                }
                if (comm.rank() == 0) fmt::print("{}\n", line.dump());
                std::fflush(stdout);
            }
        });
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        exit_code = 2;
    }
    MPI_Finalize();
    return exit_code;
}

}  // namespace peers
