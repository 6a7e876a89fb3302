// SPDX-License-Identifier: BSD-3-Clause
// Loops of methods as one kernel, beside those that launch kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/driver/registry.hpp"
#include "stretto/execute/device/emulated.hpp"
#include "stretto/precond/table.hpp"
#include "systems.hpp"
#include "tested_device.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

/// Solves on one rank, with the same method on the same device.
struct OneKernel : testing::Test {
    MpiComm comm{MPI_COMM_SELF};
    SolveOptions options;
    int loops = 0;  // that were one kernel

    OneKernel() { options.history = true; }
    ~OneKernel() override { unsetenv("STRETTO_ONE_KERNEL"); }

    Result solve_as(const char* one_kernel, const CsrMatrix<double>& A, const Preconditioner* M, Values& b, Values& x) {
        setenv("STRETTO_ONE_KERNEL", one_kernel, 1);
        EmulatedDevice::record(true);
        const auto result = tested_device().solver(A, M, b.view().columns(), options)->solve(b.view(), x.view(), false);
        loops = 0;
        for (const auto& span : EmulatedDevice::recorded()) loops += span.name == "a whole loop";
        EmulatedDevice::record(false);
        return result;
    }
    bool emulated() const { return tested_device().name() == "emulated"; }
};

/// Methods whose loops may be one kernel.
constexpr const char* loops_of[] = {"cg",       "single_reduction_cg", "pipelined_cg", "predict_and_recompute_cg",
                                    "bicgstab", "reordered_bicgstab"};

struct OfMethod : OneKernel, testing::WithParamInterface<std::tuple<const char*, const char*>> {
    const Method& method = find_method(std::get<0>(GetParam()));
    const std::string precond = std::get<1>(GetParam());

    /// `near`: iterations that may lie between, for sums are added up in another order.
    void compare(const std::string& spec, double near) {
        options.method = method.name;
        const auto A = problem(comm, spec);
        const auto M = make_preconditioner(precond, A);
        Values b(A, 1, random_values), x(A, 1), y(A, 1);
        const auto launched = solve_as("0", A, M.get(), b, y);
        if (emulated()) {
            EXPECT_EQ(loops, 0);
        }
        const auto one = solve_as("1", A, M.get(), b, x);
        if (emulated()) {
            EXPECT_EQ(loops, 1) << spec;
        }
        EXPECT_EQ(one.status, launched.status) << spec;
        EXPECT_NEAR(one.iterations, launched.iterations, near) << spec;
        EXPECT_EQ(one.vectors, launched.vectors);
        EXPECT_LE(true_residuals(A, b, x)[0], options.rtol * (1 + 1e-6)) << spec;
        EXPECT_LE(distance(comm, x, y), 1e-4) << spec;
        ASSERT_GE(one.history.size(), 10U);
        for (std::size_t k = 0; k < 10; ++k) EXPECT_NEAR(one.history[k] / launched.history[k], 1, 1e-8) << k;
        // What an iteration does is what the table of methods says.
        const bool preconditioned = precond != "none";
        EXPECT_NEAR(one.per_iteration.applies, method.applies, 1e-9);
        EXPECT_NEAR(one.per_iteration.preconditionings, preconditioned ? method.preconditionings : 0, 1e-9);
        EXPECT_NEAR(one.per_iteration.reductions, method.reductions, 1e-9);
        EXPECT_NEAR(one.per_iteration.hidden_reductions,
                    preconditioned ? method.hidden_reductions_preconditioned : method.hidden_reductions, 1e-9);
        EXPECT_GE(one.per_iteration.vector_reads, launched.per_iteration.vector_reads);
        EXPECT_GE(one.per_iteration.bytes, launched.per_iteration.bytes);
    }
};

TEST_P(OfMethod, SolvesAsKernelsDoThatAreLaunched) {
    const bool symmetric = method.needs != Needs::any;
    compare(symmetric ? "poisson2d:13x11" : "convdiff2d:13x11,peclet=30", 2);
    compare(symmetric ? "jump2d:31x29,contrast=100" : "convdiff2d:29x31,peclet=5", 15);
}
std::string name_of(const testing::TestParamInfo<std::tuple<const char*, const char*>>& about) {
    return std::string(std::get<0>(about.param)) + "_" + std::get<1>(about.param);
}
INSTANTIATE_TEST_SUITE_P(Methods, OfMethod,
                         testing::Combine(testing::ValuesIn(loops_of), testing::Values("none", "jacobi")), name_of);

TEST_F(OneKernel, EndsAtTheLimitAndAtOnce) {
    const auto A = problem(comm, "poisson2d:13x11");
    Values b(A, 1, random_values), x(A, 1), zero(A, 1);
    options.max_iterations = 7;
    for (const char* const method : loops_of) {
        options.method = method;
        for (const char* const as : {"0", "1"}) {
            Values y(A, 1);
            const auto result = solve_as(as, A, nullptr, b, y);
            EXPECT_EQ(result.status, Status::max_iterations) << method;
            EXPECT_EQ(result.iterations, 7) << method;
            EXPECT_EQ(solve_as(as, A, nullptr, zero, y).iterations, 0) << method;
        }
    }
}

TEST_F(OneKernel, BreaksDownAsKernelsDoThatAreLaunched) {
    const auto indefinite = matrix(comm, 40, [](Global i, Global j) { return i == j ? (i < 20 ? 1.0 : -2.0) : 0.0; });
    const auto rotation = matrix(comm, 40, [](Global i, Global j) {
        return i == j + 1 ? 1.0 : j == i + 1 ? -1.0 : 0.0;
    });
    Values b(indefinite, 1, [](Global, int) { return 1.0; });
    for (const auto* const A : {&indefinite, &rotation})
        for (const char* const method : loops_of) {
            options.method = method;
            Values x(*A, 1), y(*A, 1);
            const auto one = solve_as("1", *A, nullptr, b, x), launched = solve_as("0", *A, nullptr, b, y);
            EXPECT_EQ(one.status, launched.status) << method;
            EXPECT_EQ(one.iterations, launched.iterations) << method;
        }
}

/// Residuals are replaced within the kernel, and another method goes on where that is not to go on.
TEST_F(OneKernel, ReplacesResidualsAndHandsOver) {
    const auto A = problem(comm, "jump2d:31x29,contrast=100");
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    for (const auto& [method, ends] : {std::pair("pipelined_cg:check=10,gap=0,replacements=1000", "residual replaced"),
                                       {"pipelined_cg:check=10,gap=0,replacements=2", "going on with"}}) {
        options.method = method;
        const auto one = solve_as("1", A, nullptr, b, x), launched = solve_as("0", A, nullptr, b, y);
        EXPECT_TRUE(one.converged() && launched.converged());
        EXPECT_NEAR(one.iterations, launched.iterations, 20);
        const auto said = [&](const Result& result) {
            return std::ranges::any_of(result.events,
                                       [&](const Event& event) { return event.text.find(ends) != std::string::npos; });
        };
        EXPECT_TRUE(said(one) && said(launched)) << method;
        x = Values(A, 1);
        y = Values(A, 1);
    }
}

TEST_F(OneKernel, HasTheSameBitsInEverySolve) {
    const auto A = problem(comm, "jump2d:31x29,contrast=100");
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    options.method = "pipelined_cg";
    solve_as("1", A, nullptr, b, x);
    solve_as("1", A, nullptr, b, y);
    EXPECT_EQ(x.data(), y.data());
}

/// Monitors, true residuals and several columns take the host.
TEST_F(OneKernel, IsNotForWhatTheHostMustSee) {
    if (!emulated()) GTEST_SKIP() << "it is the emulated device that tells";
    const auto A = problem(comm, "poisson2d:13x11");
    Values b(A, 1, random_values), x(A, 1), two(A, 2, random_values), y(A, 2);
    options.method = "cg";
    EXPECT_TRUE(solve_as("1", A, nullptr, two, y).converged());
    EXPECT_EQ(loops, 0);
    options.true_history = true;
    EXPECT_TRUE(solve_as("1", A, nullptr, b, x).converged());
    EXPECT_EQ(loops, 0);
    options.true_history = false;
    int told = 0;
    options.monitor = [&](const IterationInfo&) { return ++told < 5; };
    Values z(A, 1);
    EXPECT_EQ(solve_as("1", A, nullptr, b, z).status, Status::interrupted);
    EXPECT_EQ(loops, 0);
}

}  // namespace
