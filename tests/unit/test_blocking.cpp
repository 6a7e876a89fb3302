// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "systems.hpp"

using namespace stretto;

namespace {

// What a short solve waits for beside its iterations: ‖b‖, and b − A x at the end.
struct BlockingTest : testing::TestWithParam<std::tuple<std::string, int>> {
    MpiComm comm;

    Result run(const std::string& method) const {
        auto& ours = const_cast<MpiComm&>(comm);
        const auto A = problem(ours, "convdiff2d:20,peclet=20");
        const Jacobi M(A);
        const int m = std::get<1>(GetParam());
        Values b(A, m, [](Global row, int j) { return uniform(3, row, j); }), x(A, m);
        SolveOptions options;
        options.method = method;
        auto result = solve<double>(ours, A, M, b.view(), x.view(), options);
        EXPECT_TRUE(result.converged());
        return result;
    }
};

TEST_P(BlockingTest, StartAndEndBlockTwice) {
    const auto& method = std::get<0>(GetParam());
    const auto result = run(method);
    const std::int64_t own = method == "bicgstab"            ? 3 * result.iterations
                             : method == "improved_bicgstab" ? result.iterations + 1
                                                             : 0;
    EXPECT_EQ(blocking_reductions(result), own + 2);
}

// The residual that a cycle ends with is the verification: no product follows it.
TEST(RestartedTest, ResidualsAreComputedOnce) {
    MpiComm comm;
    const auto A = problem(comm, "convdiff2d:20,peclet=20");
    for (const auto* method : {"gmres:m=200", "s_step_gmres:m=200"}) {
        Values b(A, 1, [](Global row, int j) { return uniform(3, row, j); }), x(A, 1);
        const auto result = solved(comm, A, b, x, method, 1e-8, true);
        std::int64_t products = 0;
        for (const auto phase : {Phase::setup, Phase::safeguard}) products += result.ledger.at(phase).applies;
        EXPECT_EQ(products, 1) << method;
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, BlockingTest,
                         testing::Combine(testing::Values("bicgstab", "improved_bicgstab", "reordered_bicgstab",
                                                          "pipelined_bicgstab"),
                                          testing::Values(1, 4)));

}  // namespace
