// SPDX-License-Identifier: BSD-3-Clause
// Whole solves as tasks, beside those of as many threads as there are tiles: to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "stretto/comm/latency_comm.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/linear_system.hpp"
#include "stretto/tasks/execution.hpp"
#include "stretto/testing/chaotic_comm.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

/// More rows than are left to one thread, on three ranks too.
std::string grid(const Method& method, int columns) {
    const char* const size = columns == 1 ? "166x160" : "97x90";
    return (method.needs == Needs::any ? "convdiff2d:" : "poisson2d:") + std::string(size);
}

struct Case {
    int threads, tiles;
    std::string precond;
    std::string communication = "any";
    int columns = 1;
    std::string storage = "auto";
};

/// Solves with tasks on `tasked` and with threads on `threaded`, the same rows, and compares.
void compare(Comm& tasked, Comm& threaded, const Method& method, const Case& c, int iterations = 24) {
    const int parts = c.threads * c.tiles;
    const auto made = [&](Comm& on) {
        auto [partition, rows] = generate(on, grid(method, c.columns));
        return CsrMatrix<double>(on, std::move(partition), std::move(rows), parts, Storage(c.storage));
    };
    const auto A = made(tasked), B = made(threaded);
    const auto preconditioner = [&](const CsrMatrix<double>& of) {
        return c.precond.empty() ? nullptr : make_preconditioner(c.precond, of);
    };
    const auto M = preconditioner(A), N = preconditioner(B);
    Values b(A, c.columns, random_values), x(A, c.columns), y(A, c.columns);
    SolveOptions options;
    options.method = method.name;
    options.threads = parts;
    options.max_iterations = iterations;
    options.history = true;
    const auto tasks = task_execution("tasks:tiles=" + std::to_string(c.tiles) + ",communication=" + c.communication);
    EXPECT_EQ(tasks->parts(c.threads), parts);
    const auto solver = tasks->solver(A, M.get(), c.columns, options);
    Solver<double> reference(threaded, B, N ? AnyOperator<double>(*N) : AnyOperator<double>(), B.local_rows(),
                             c.columns, options);
    const std::string what = fmt::format("{}, {} threads of {} tiles, {}", method.name, c.threads, c.tiles, c.precond);
    for (const bool again : {false, true}) {  // a second solve finds the graph as the first has left it
        const auto& result = solver->solve(b.view(), x.view(), false);
        const auto& expected = reference.solve(b.view(), y.view());
        EXPECT_EQ(result.status, expected.status) << what;
        EXPECT_EQ(result.iterations, expected.iterations) << what;
        EXPECT_EQ(result.history, expected.history) << what;
        EXPECT_EQ(x.data(), y.data()) << what << ", again: " << again;
    }
}

struct TaskSolves : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();
};

TEST_P(TaskSolves, HaveTheBitsOfThreads) {
    compare(comm, comm, method, {2, 2, ""});
    compare(comm, comm, method, {1, 3, "", "main"});
    if (comm.size() > 1) return;  // more would wait for processors
    for (const int threads : {1, 3, 4}) compare(comm, comm, method, {threads, 1, ""});
    compare(comm, comm, method, {2, 3, "", "main"});
}
TEST_P(TaskSolves, HaveTheBitsOfThreadsWithPreconditioners) {
    compare(comm, comm, method, {2, 2, "jacobi"});
    compare(comm, comm, method, {2, 1, "block_jacobi"});
    compare(comm, comm, method, {comm.size() > 1 ? 2 : 3, 1, "additive_schwarz"}, 8);
}
TEST_P(TaskSolves, HaveTheBitsOfThreadsForSeveralColumns) {
    compare(comm, comm, method, {2, 2, "", "any", 3});
    compare(comm, comm, method, {comm.size() > 1 ? 2 : 4, 1, "jacobi", "any", 3, "csr"});
    compare(comm, comm, method, {2, 2, "block_jacobi", "any", 4});
    compare(comm, comm, method, {2, 1, "additive_schwarz", "any", 4}, 8);
}
TEST_P(TaskSolves, HaveTheBitsOfThreadsWhereTilesArePutTogether) {
    compare(comm, comm, method, {2, 12, "jacobi"});
    compare(comm, comm, method, {1, 16, "block_jacobi:blocks=24"}, 12);
}
TEST_P(TaskSolves, HaveTheBitsOfThreadsWhenCommunicationIsLate) {
    LatencyComm late(comm, parse_latency("150us,message=80us,jitter=100us"));
    compare(late, comm, method, {2, 2, ""}, 12);
    ChaoticComm chaotic(comm, 7);
    compare(chaotic, comm, method, {2, 2, "jacobi"}, 12);
}

INSTANTIATE_TEST_SUITE_P(Methods, TaskSolves, testing::ValuesIn([] {
                             std::vector<const Method*> all(methods().begin(), methods().end());
                             return all;
                         }()),
                         [](const auto& of) { return std::string(of.param->name); });

struct TasksOfASystem : Solves {};

TEST_F(TasksOfASystem, SolveItToTheTolerance) {
    const auto tasks = task_execution("tasks");
    LinearSystem system = LinearSystem::load(
        comm, "jump2d:60", {.precond = "block_jacobi", .prepare = "equilibrate", .threads = 2, .device = tasks.get()});
    EXPECT_EQ(system.threads(), 2);
    EXPECT_EQ(system.info().device, "tasks");
    std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0), x(b.size());
    for (const auto* const method : {"cg", "pipelined_cg", "pipelined_gmres"})
        EXPECT_TRUE(system.solve(b, x, {.method = method, .rtol = 1e-9, .zero_guess = true}).converged()) << method;
}

TEST_F(TasksOfASystem, ReachTheLastDigits) {
    const auto tasks = task_execution("tasks:tiles=2");
    LinearSystem system = LinearSystem::load(comm, "poisson2d:120", {.threads = 2, .device = tasks.get()});
    std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0), x(b.size());
    EXPECT_TRUE(system.solve(b, x, {.rtol = 1e-12}).converged());  // asks for b − A x in twice the precision
}

TEST_F(TasksOfASystem, AreRefusedWithAReason) {
    const auto refusal = [](const std::string& text) {
        try {
            (void)task_execution(text);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(task_execution("threads"), nullptr);
    EXPECT_NE(refusal("fibres").find("threads, or tasks"), std::string::npos);
    EXPECT_NE(refusal("tasks:tiles=0").find("tiles"), std::string::npos);
    EXPECT_NE(refusal("tasks:communication=none").find("communication"), std::string::npos);
    EXPECT_NE(refusal("threads:tiles=2").find("no options"), std::string::npos);
    const auto tasks = task_execution("tasks");
    LinearSystem system = LinearSystem::load(comm, "poisson2d:9", {.device = tasks.get()});
    std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0), x(b.size());
    EXPECT_THROW(system.solve(b, x, {.formulation = Formulation::basic}), InputError);
}

}  // namespace
