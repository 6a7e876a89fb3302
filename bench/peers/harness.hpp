// SPDX-License-Identifier: BSD-3-Clause
// What the drivers of Stretto and its peers share, so that all are measured alike:
//
//     mpirun -n 2 DRIVER PROBLEM
//
// sets up A x = b for what stretto::load_problem makes of PROBLEM: Stretto's rows and their partition in every driver,
// b = 1, x₀ = 0. Then it reads commands, a JSON object a line, and answers each with one; it rests in between, so that
// several drivers may wait for their turn on one machine.
//
//     {"do": "time", "method": "cg", "precond": "jacobi", "first": 5, "more": 50}
//
// runs first + more iterations; "ms": milliseconds for one of those after the first, on the slowest rank.
//
//     {"do": "residual", "method": "cg", "precond": "jacobi", "iterations": 5}
//
// "residual": ‖b − Ax‖/‖b‖ after so many; it shows that two programs take the same steps.
//
//     {"do": "solve", "method": "cg", "precond": "jacobi", "rtol": 1e-8, "max_iterations": 20000}
//
// solves as one who relies on the library would: "converged", "iterations", "seconds", "residual" (recomputed). With
// "times": 3 three times by one solver; the last is told, and the seconds of the "first".
//
//     {"do": "product"}
//
// "ms": milliseconds for y = A b alone, in the middle of several; "residual": ‖b − Ab‖/‖b‖, which shows that A is
// alike.
//
//     {"do": "short", "method": "cg", "precond": "jacobi", "verified": false}
//
// "ms": milliseconds of a solve of one iteration from x = 0 by a solver that is set up, in the middle of many: with the
// last iterate or, verified, with b − Ax recomputed.
//
// METHOD and PRECOND are in the program's own words.
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/io/problem.hpp"

namespace peers {

using nlohmann::ordered_json;

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double largest(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/// Seconds until the last rank is done, all having started together.
template <class Work>
double seconds(Work&& work) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    work();
    return largest(now() - start);
}

/// The clock at the ends of iterations.
class Stamps {
public:
    void operator()(int iteration) { stamps_.emplace_back(iteration, now()); }

    /// Of the iterations after `first`, up to `last`.
    double seconds_each(int first, int last) const {
        const auto after = [&](int k) {
            return std::ranges::lower_bound(stamps_, k, {}, &std::pair<int, double>::first);
        };
        const auto start = after(first), end = after(last);
        if (end == stamps_.end() || end->first <= start->first)
            throw std::runtime_error(fmt::format("ended at iteration {}", last));
        return (end->second - start->second) / (end->first - start->first);
    }

private:
    std::vector<std::pair<int, double>> stamps_;
};

/// (T(first + more) − T(first)) / more, for a program that says nothing between its iterations; both are
/// repeated for a second, and the shortest of each counts.
template <class Solver>
double difference(Solver& solver, int first, int more) {
    constexpr double enough = 1;
    double time[2] = {INFINITY, INFINITY};
    for (double spent = 0; spent < enough || (time[1] <= time[0] && spent < 10 * enough);)
        for (int k = 0; k < 2; ++k) {
            solver.prepare(first + k * more);
            const double one = seconds([&] { solver.solve(); });
            time[k] = std::min(time[k], one);
            spent += one;
        }
    if (time[1] <= time[0]) throw std::runtime_error("takes no longer for more iterations");
    return (time[1] - time[0]) / more;
}

/// Milliseconds of some work, in the middle of so many times after the first.
template <class Work>
double median_ms(int times, Work&& work) {
    std::vector<double> ms;
    for (int k = 0; k <= times; ++k) {
        const double time = 1e3 * seconds(work);
        if (k > 0) ms.push_back(time);
    }
    const auto middle = ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2);
    std::ranges::nth_element(ms, middle);
    return *middle;
}

/// Carries out a command. `System` has
///     multiply()   A b, which is forgotten
///     residual(v)  ‖b − Av‖/‖b‖
/// and may have product_costs(line); `System::Solver(system, method, precond)` has
///     prepare(n)    makes ready for n iterations from x = 0, without a tolerance
///     solve()       does them, and returns how many they were; solve(stamps) calls stamps(k) after each, and returns
///                   how many were the method's own
///     residual()    of the last solve
///     prepare_short(verified), solve_short()  one iteration by a solver that is set up; where it has that
///     rely(rtol, n, line) solves to a tolerance; adds to the line what the library says. Or, where it says nothing but
///                   how many iterations there were, set_tolerance(rtol)
template <class System>
void obey(System& system, const ordered_json& command, ordered_json& line) {
    const std::string what = command.at("do");
    if (what == "product") {
        line["ms"] = median_ms(31, [&] { system.multiply(); });
        line["residual"] = system.residual(system.b);
        if constexpr (requires { system.product_costs(line); }) system.product_costs(line);
        return;
    }
    typename System::Solver solver(system, command.at("method"), command.at("precond"));
    const auto expect = [](int done, int iterations) {
        if (done != iterations)
            throw std::runtime_error(fmt::format("ended after {} of {} iterations", done, iterations));
    };
    if (what == "time") {
        const int first = command.at("first"), more = command.at("more");
        double each = 0;
        if constexpr (requires(Stamps stamps) { solver.solve(stamps); }) {
            Stamps stamps;
            solver.prepare(first + more);
            const int own = solver.solve(stamps);
            if (own < first + more) line["ended_at"] = own;
            each = stamps.seconds_each(first, own);
        } else {
            each = difference(solver, first, more);
        }
        line["ms"] = 1e3 * largest(each);
        if constexpr (requires { solver.costs(line); }) solver.costs(line);
    } else if (what == "short") {
        if constexpr (requires { solver.prepare_short(true); }) {
            solver.prepare_short(command.at("verified"));
            line["ms"] = median_ms(101, [&] { solver.solve_short(); });
        } else {
            throw std::invalid_argument("short solves are not measured here");
        }
    } else if (what == "residual") {
        const int iterations = command.at("iterations");
        solver.prepare(iterations);
        expect(solver.solve(), iterations);
        line["residual"] = solver.residual();
    } else if (what == "solve") {
        const double rtol = command.at("rtol");
        const int most = command.at("max_iterations");
        if constexpr (requires { solver.set_tolerance(rtol); }) {
            solver.set_tolerance(rtol);
            solver.prepare(most);
            int done = 0;
            line["seconds"] = seconds([&] { done = solver.solve(); });
            line["iterations"] = done;
            line["converged"] = done < most;
        } else {
            solver.rely(rtol, most, line);
            line["first"] = line["seconds"];
            for (int more = command.value("times", 1) - 1; more > 0; --more) solver.rely(rtol, most, line);
        }
        line["residual"] = solver.residual();
    } else {
        throw std::invalid_argument("no command '" + what + "'");
    }
}

/// Rank 0's next line on every rank, empty at the end. Ranks that wait leave the processor to others.
inline std::string next_line(const stretto::Comm& comm) {
    const auto bcast = [](void* data, int bytes) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
        for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;)
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    std::string line;
    if (comm.rank() == 0) std::getline(std::cin, line);
    int size = static_cast<int>(line.size());
    bcast(&size, sizeof size);
    line.resize(static_cast<std::size_t>(size));
    bcast(line.data(), size);
    return line;
}

/// Calls work() between MPI's start and end. The exit code: 2, and a line, where it throws.
template <class Work>
int with_mpi(int argc, char** argv, Work&& work) {
    MPI_Init(&argc, &argv);
    int exit_code = 0;
    try {
        work();
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        exit_code = 2;
    }
    MPI_Finalize();
    return exit_code;
}

/// The drivers' main. `System(comm, problem, line)` sets up and adds to the first line what it is. Between MPI's start
/// and end, `body` may start and end a library around `run()`.
template <class System>
int main(int argc, char** argv, auto&& body) {
    return with_mpi(argc, argv, [&] {
        if (argc != 2) throw std::invalid_argument("one argument: a problem");
        body([&] {
            stretto::MpiComm comm(MPI_COMM_WORLD);
            const auto say = [&](const ordered_json& line) {
                if (comm.rank() == 0) fmt::print("{}\n", line.dump());
                std::fflush(stdout);
            };
            ordered_json about{{"problem", argv[1]}, {"ranks", comm.size()}};
            System system(comm, stretto::load_problem(comm, argv[1]), about);
            say(about);
            for (std::string text; !(text = next_line(comm)).empty();) {
                ordered_json line;
                try {
                    obey(system, ordered_json::parse(text), line);
                } catch (const std::exception& error) {  // the same on every rank
                    line["error"] = error.what();
                }
                say(line);
            }
        });
    });
}

}  // namespace peers
