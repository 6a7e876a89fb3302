// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/model/execution_time.hpp"
#include "stretto/model/trial.hpp"

using namespace stretto;

namespace {

/// y = 2 x, counted.
struct Twice {
    int* applied;
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        ++*applied;
        for (Index row = 0; row < x.rows(); ++row)
            for (int j = 0; j < x.columns(); ++j) y(row, j) = 2 * x(row, j);
    }
    double bytes(int columns) const { return 16.0 * columns; }
};

TEST(Trial, TimesEachPartAndAgreesOverRanks) {
    MpiComm comm;
    int products = 0, preconditioners = 0;
    const Twice A{&products}, M{&preconditioners};
    for (const int vectors : {0, 1, 7}) {
        products = preconditioners = 0;
        const auto times = time_parts(comm, A, M, 100, 3, vectors, 1, {4});
        EXPECT_EQ(products, 5);
        EXPECT_EQ(preconditioners, 5);
        for (const double each : {times.product, times.preconditioner, times.reduction}) {
            EXPECT_GT(each, 0);
            EXPECT_EQ(all_max(comm, each), all_min(comm, each));
        }
    }
    EXPECT_EQ(time_parts(comm, A, Identity{}, 100, 1, 2).preconditioner, 0);
}

TEST(Trial, TimesIterationsOfMethodsThatLast) {
    MpiComm comm;
    int products = 0;
    const Twice A{&products};
    EXPECT_FALSE(time_iteration(comm, A, Identity{}, 50, 1, "cg", 2, 1, {1}));  // it is there after one
}

TEST(Trial, TimesTheTextOfAMethod) {
    const MpiComm comm;
    for (const auto* method : {"cg", "gmres:m=5", "s_step_cg", "pipelined_bicgstab"}) {
        const auto text = time_text(trace_iteration(method, Formulation::merged, true), 1000, 4, comm.size());
        EXPECT_TRUE(std::isfinite(text.iteration) && text.iteration >= 0) << method;
        EXPECT_TRUE(std::isfinite(text.value) && text.value >= 0) << method;
    }
}

// Times given by hand: the parts as measured, a pass by memory or by the processor, whichever takes longer.
TEST(Trial, TakesThePlaceOfWhatIsComputed) {
    const TrialTimes times{1e-3, 2e-3, 5e-4};
    ModelSystem system;
    system.N = 1e5;
    system.trial = [&](int) -> const TrialTimes& { return times; };
    system.boundary = [](int) { return Boundary{.rows = 1e5}; };
    const ModelMachine machine{.memory_bandwidth = 8e9, .cache_bandwidth = 8e9, .kernel = 1};
    auto cg = trace_iteration("cg", Formulation::merged, true);
    double vectors = 0;
    for (const auto& event : cg.events) vectors += event.vectors;
    for (const double value : {0.0, 1e-6}) {
        cg.text = TextTime{1e-4, value};
        const auto time = ExecutionTime(machine, system, 2, 1)(cg, 1);
        EXPECT_NEAR(time.products, 1e-3, 1e-12);
        EXPECT_NEAR(time.preconditioner, 2e-3, 1e-12);
        EXPECT_NEAR(time.sums, cg.sums() * 5e-4, 1e-9);
        EXPECT_EQ(time.exchanges, 0);
        EXPECT_NEAR(time.vectors, 1e-4 + std::max(2e5 * value, 2e-4 * vectors), 1e-9);
    }
}

}  // namespace
