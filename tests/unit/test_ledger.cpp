// SPDX-License-Identifier: BSD-3-Clause
// To what the seconds of a solve are booked.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string_view>
#include <thread>

#include "stretto/comm/latency_comm.hpp"
#include "systems.hpp"

using namespace stretto;
using namespace std::chrono_literals;

namespace {

TEST(Seconds, AreBookedOnce) {
    Ledger ledger;
    {
        const auto outer = ledger.time(Kernel::apply);
        std::this_thread::sleep_for(2ms);
        const auto inner = ledger.time(Kernel::halo);
        std::this_thread::sleep_for(20ms);
    }
    EXPECT_GE(ledger.seconds(Kernel::halo), 0.02);
    EXPECT_GE(ledger.seconds(Kernel::apply), 0.002);
    EXPECT_LT(ledger.seconds(Kernel::apply), ledger.seconds(Kernel::halo));
}

// What is between the kernels belongs to the phase that it passed in.
TEST(Seconds, GoToThePhaseTheyPassedIn) {
    Ledger ledger;
    {
        const auto outer = ledger.time(Kernel::small);
        std::this_thread::sleep_for(2ms);
        const auto phase = ledger.enter(Phase::iteration);
        std::this_thread::sleep_for(20ms);
        const auto inner = ledger.time(Kernel::vectors);
        std::this_thread::sleep_for(2ms);
    }
    const auto small = [&](Phase phase) { return ledger.at(phase).seconds[static_cast<std::size_t>(Kernel::small)]; };
    EXPECT_GE(small(Phase::setup), 0.002);
    EXPECT_GE(small(Phase::iteration), 0.02);
    EXPECT_GT(small(Phase::iteration), small(Phase::setup));
    EXPECT_LT(ledger.seconds(Kernel::vectors), ledger.seconds(Kernel::small));
}

TEST(Seconds, AddUpToTheSolve) {
    MpiComm mpi;
    const auto A = problem(mpi, "poisson3d:24");
    for (const auto* method : {"cg", "pipelined_cg", "gmres", "s_step_gmres"})
        for (const auto formulation : {Formulation::merged, Formulation::basic}) {
            SolveOptions options;
            options.method = method;
            options.max_iterations = 60;
            options.formulation = formulation;
            Result result;
            double booked = 0,
                   own_clock = 0;  // of the time that they are a part of; the best of some, others run here too
            for (int attempt = 0; attempt < 5; ++attempt) {
                Values b(A, 1, [](Global row, int) { return uniform(5, row); }), x(A, 1);
                const auto began = Clock::now();
                result = solve<double>(mpi, A, Identity{}, b.view(), x.view(), options);
                const double wall = to_seconds(Clock::now() - began);
                double sum = 0;
                for (const auto& [kernel, name] : kernels) sum += result.ledger.seconds(kernel);
                EXPECT_LE(sum, wall) << method;
                EXPECT_LE(result.per_iteration.wall, wall) << method;
                const auto& each = result.per_iteration.seconds;
                booked = std::max(booked, sum / wall);
                own_clock =
                    std::max(own_clock, std::accumulate(each.begin(), each.end(), 0.0) / result.per_iteration.wall);
            }
            EXPECT_GE(booked, 0.5) << method;  // the rest is set-up
            EXPECT_GE(own_clock, 0.5) << method;
            EXPECT_LE(own_clock, 1.5) << method;
            const auto of = [&](Kernel kernel) {
                return result.per_iteration.seconds[static_cast<std::size_t>(kernel)];
            };
            EXPECT_GT(of(Kernel::small), 0) << method;
            const bool merges_all = formulation == Formulation::merged && std::string_view(method).ends_with("cg");
            EXPECT_EQ(of(Kernel::dots) > 0, !merges_all) << method;
        }
}

TEST(Seconds, OfExchangesAreHalo) {
    MpiComm mpi;
    LatencyComm comm(mpi, {.message = 5ms});
    const auto A = problem(comm, "poisson2d:12");
    Values b(A, 1, [](Global, int) { return 1.0; }), x(A, 1);
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view());
    std::int64_t applies = 0;
    for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard})
        applies += result.ledger.at(phase).applies;
    if (A.neighbours() > 0) {
        EXPECT_GT(result.ledger.seconds(Kernel::halo), 0.9 * 0.005 * static_cast<double>(applies));
        EXPECT_GT(result.per_iteration.seconds[static_cast<std::size_t>(Kernel::halo)], 0.0045);
    } else {
        EXPECT_EQ(result.ledger.seconds(Kernel::halo), 0);
    }
}

}  // namespace
