// SPDX-License-Identifier: BSD-3-Clause
// Whole solves on the emulated device, beside those of the processor.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "stretto/precond/table.hpp"
#include "systems.hpp"
#include "tested_device.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

Result on_device(const CsrMatrix<double>& A, const Preconditioner* M, Values& b, Values& x, const SolveOptions& options,
                 bool transposed = false) {
    const auto solver = tested_device().solver(A, M, b.view().columns(), options);
    return solver->solve(b.view(), x.view(), transposed);
}

using Case = std::tuple<const Method*, const char*>;

struct DeviceSolves : testing::TestWithParam<Case> {
    MpiComm comm;
    const Method& method = *std::get<0>(GetParam());
    const std::string precond = std::get<1>(GetParam());

    void compare(const std::string& problem_spec, int columns, double rtol) {
        const auto A = problem(comm, problem_spec);
        tested_device().check(precond, A);
        const auto M = make_preconditioner(precond, A);
        Values b(A, columns, random_values), here(A, columns), there(A, columns);
        SolveOptions options;
        options.method = method.name;
        options.rtol = rtol;
        const auto host = M ? solve<double>(comm, A, *M, b.view(), here.view(), options)
                            : solve<double>(comm, A, Identity{}, b.view(), here.view(), options);
        const auto device = on_device(A, M.get(), b, there, options);
        const auto what = problem_spec + ", columns: " + std::to_string(columns);
        EXPECT_EQ(device.status, host.status) << what;
        // Sums are added up in another order, which methods near breakdowns multiply.
        EXPECT_NEAR(device.iterations, host.iterations, 2 + 0.3 * host.iterations) << what;
        EXPECT_EQ(device.vectors, host.vectors);
        for (const double residual : true_residuals(A, b, there)) EXPECT_LE(residual, rtol * (1 + 1e-6)) << what;
        EXPECT_LE(distance(comm, here, there), 1e-4 * all_max(comm, largest(here))) << what;
    }
    static double largest(const Values& x) {
        double most = 0;
        for (const double value : x.data()) most = std::max(most, std::abs(value));
        return most;
    }
};

TEST_P(DeviceSolves, EndWhereThoseOfTheProcessorDo) {
    const bool symmetric = method.needs != Needs::any;
    compare(symmetric ? "poisson2d:13x11" : "convdiff2d:13x11,peclet=30", 1, 1e-8);          // rows repeat
    compare(symmetric ? "jump2d:11x9,contrast=100" : "convdiff2d:9x11,peclet=30", 3, 1e-8);  // rows are sliced
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
    std::string name = fmt::format("{}_{}", std::get<0>(info.param)->name, std::get<1>(info.param));
    std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return name;
}
/// Every method with every preconditioner that it takes and that is built.
std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Method* const method : methods())
        for (const char* const precond :
             {"none", "jacobi", "chebyshev:degree=2", "block_jacobi:ilu0,blocks=10", "block_jacobi:sai", "amg"})
            if (const bool multigrid = std::string_view(precond) == "amg";
                (method->needs == Needs::any || choose_preconditioner(precond, MatrixKind::sparse).symmetric()) &&
                !(multigrid && (method->transpose || !amg_is_built())))
                all.emplace_back(method, precond);
    return all;
}
INSTANTIATE_TEST_SUITE_P(Methods, DeviceSolves, testing::ValuesIn(cases()), name_of);

struct OnTheDevice : Solves {};

TEST_F(OnTheDevice, ASecondSolveHasTheSameBits) {
    const auto A = problem(comm, "jump2d:11x9,contrast=100");
    Values b(A, 2, random_values), x(A, 2), y(A, 2);
    SolveOptions options;
    options.method = "pipelined_cg";
    const auto solver = tested_device().solver(A, nullptr, 2, options);
    const int iterations = solver->solve(b.view(), x.view(), false).iterations;
    EXPECT_EQ(solver->solve(b.view(), y.view(), false).iterations, iterations);
    EXPECT_EQ(x.data(), y.data());
}

/// Vectors in its memory, an odd number of values and from an odd place on, too; b stays as it is.
TEST_F(OnTheDevice, VectorsThatAreThereAlreadyGiveTheSameBits) {
    const auto A = problem(comm, "convdiff2d:11x9,peclet=10");
    for (const int columns : {1, 2}) {
        Values b(A, columns, random_values), x(A, columns), there(A, columns);
        SolveOptions options;
        options.method = "pipelined_bicgstab";
        const auto solver = tested_device().solver(A, nullptr, columns, options);
        const int iterations = solver->solve(b.view(), x.view(), false).iterations;
        const auto size = b.data().size();
        for (const std::size_t from : {0, 1}) {
            const auto of = tested_device().memory(size + from), to = tested_device().memory(size + from);
            const auto view = [&](const std::shared_ptr<void>& memory) {
                return VectorsThere{reinterpret_cast<std::uintptr_t>(memory.get()) + from * sizeof(double),
                                    A.local_rows(), columns};
            };
            const auto at = [&](const std::shared_ptr<void>& memory) {
                return reinterpret_cast<void*>(view(memory).address);
            };
            tested_device().send(b.data().data(), at(of), size);
            EXPECT_EQ(solver->solve_there(view(of), view(to), false, false).iterations, iterations);
            tested_device().bring(at(to), there.view().data(), size);
            EXPECT_EQ(there.data(), x.data());
            tested_device().bring(at(of), there.view().data(), size);
            EXPECT_EQ(there.data(), b.data());
            tested_device().copy(at(of), at(to), size);
            EXPECT_EQ(solver->solve_there(view(of), view(to), true, false).status, Status::converged);
            tested_device().bring(at(to), there.view().data(), size);
            for (std::size_t i = 0; i < size; ++i) there.view().data()[i] *= -1;
            for (const double residual : true_residuals(A, b, there)) EXPECT_LE(residual, options.rtol * (1 + 1e-6));
        }
        expect_part(refusal_of([&] {
                        solver->solve_there(
                            {reinterpret_cast<std::uintptr_t>(b.data().data()), A.local_rows(), columns},
                            {0, A.local_rows(), columns}, false, false);
                    }),
                    "b is not in the memory of the device");
    }
}

TEST_F(OnTheDevice, TransposedSystemsAreSolved) {
    const auto A = problem(comm, "convdiff2d:9x7,peclet=10");
    Values expected(A, 1, random_values), b(A, 1), x(A, 1);
    A.apply_transpose(expected.view(), b.view());
    SolveOptions options;
    options.method = "gmres";
    options.rtol = 1e-10;
    EXPECT_TRUE(on_device(A, nullptr, b, x, options, true).converged());
    EXPECT_LT(distance(comm, x, expected), 1e-6);
}

TEST_F(OnTheDevice, TransposedPreconditionersAreThoseOfTheProcessor) {
    const auto A = problem(comm, "convdiff2d:9x7,peclet=10");
    Values expected(A, 1, random_values), b(A, 1);
    A.apply_transpose(expected.view(), b.view());
    SolveOptions options;
    options.method = "gmres";
    options.rtol = 1e-10;
    for (const auto* const precond : {"chebyshev", "block_jacobi:sai", "block_jacobi:ilut,blocks=5"}) {
        const auto M = make_preconditioner(precond, A);
        Values start(A, 1);
        EXPECT_TRUE(on_device(A, M.get(), b, start, options, true).converged()) << precond;
        EXPECT_LT(distance(comm, start, expected), 1e-6) << precond;
    }
}

/// No kernel of its own where a group of one column follows.
TEST_F(OnTheDevice, JacobiIsAStatementOfTheGroupBehindIt) {
    const auto A = problem(comm, "poisson2d:13x11");
    const auto M = make_preconditioner("jacobi", A);
    for (const int columns : {1, 2}) {
        Trace trace;
        SolveOptions options;
        options.trace = &trace;
        Values b(A, columns, random_values), x(A, columns);
        const auto result = on_device(A, M.get(), b, x, options);
        ASSERT_TRUE(result.converged());
        const auto kernels = std::ranges::count(trace.spans(), std::string_view("diagonal"), &Trace::Span::name);
        EXPECT_EQ(kernels > 0, columns > 1);
        EXPECT_EQ(result.per_iteration.preconditionings, 1);
    }
}

TEST_F(OnTheDevice, NewValuesOfTheMatrixReachThePreconditioner) {
    auto A = problem(comm, "poisson2d:13x11");
    for (const auto* const precond :
         {"jacobi", "block_jacobi:lu,blocks=10", "block_jacobi:sai", "amg:update=products", "amg:update=lagged"}) {
        if (std::string_view(precond).starts_with("amg") && !amg_is_built()) continue;
        const auto M = make_preconditioner(precond, A);
        auto values = A.local().values;
        for (double& value : values) value *= 4;
        A.update_values(values);
        ASSERT_TRUE(M->update(1));
        Values b(A, 1, random_values), here(A, 1), there(A, 1);
        const auto host = solve<double>(comm, A, *M, b.view(), here.view(), SolveOptions{});
        EXPECT_EQ(on_device(A, M.get(), b, there, SolveOptions{}).iterations, host.iterations) << precond;
        EXPECT_LT(distance(comm, here, there), 1e-6) << precond;
    }
}

TEST_F(OnTheDevice, ResidualsNearRoundingAreRecomputed) {
    const auto A = problem(comm, "poisson2d:9x7");
    Values b(A, 1, random_values), x(A, 1);
    SolveOptions options;
    options.rtol = 1e-13;  // which asks for b − A x in twice the precision
    EXPECT_TRUE(on_device(A, nullptr, b, x, options).converged());
}

TEST_F(OnTheDevice, BreakdownsAndColumnsThatEndBeforeOthersAreAsOnTheProcessor) {
    const auto A = matrix(comm, 8, [](Global i, Global j) { return i == j ? (i < 4 ? 1.0 : -1.0) : 0.0; });
    Values b(A, 2, [](Global row, int j) { return j == 0 ? 1.0 : row < 4; }), x(A, 2), y(A, 2);
    SolveOptions options;
    const auto device = on_device(A, nullptr, b, x, options);
    const auto host = solve<double>(comm, A, Identity{}, b.view(), y.view(), options);
    for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ(device.columns[j].status, host.columns[j].status);
}

TEST_F(OnTheDevice, ASingularSystemIsSolvedInItsRange) {
    const auto A = problem(comm, "neumann2d:9x7");
    const NullSpace constants(comm, {std::vector<double>(static_cast<std::size_t>(A.local_rows()), 1.0)});
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    SolveOptions options;
    options.null_space = &constants;
    const auto device = on_device(A, nullptr, b, x, options);
    EXPECT_EQ(device.status, solve<double>(comm, A, Identity{}, b.view(), y.view(), options).status);
    EXPECT_LT(distance(comm, x, y), 1e-6);
}

TEST_F(OnTheDevice, WhatIsNotThereIsSaid) {
    EXPECT_EQ(find_device("cpu"), nullptr);
    const auto A = problem(comm, "poisson2d:30x30");
    for (const auto* const precond :
         {"none", "jacobi", "chebyshev", "block_jacobi:sai", "block_jacobi:lu,blocks=15", "amg"})
        EXPECT_NO_THROW(tested_device().check(precond, A)) << precond;
    expect_part(
        refusal_of([&] { tested_device().check("additive_schwarz", A); }),
        fmt::format(
            "--precond additive_schwarz is not there on the device {}: ask for --precond amg, chebyshev, jacobi",
            tested_device().name()));
    const auto enough = (all_max(comm, Global{A.local_rows()}) + 63) / 64;
    expect_part(refusal_of([&] { tested_device().check("block_jacobi:ilu0", A); }),
                fmt::format("--precond block_jacobi:inner=ilu0,blocks={} or more", enough));
    if (amg_is_built())
        expect_part(refusal_of([&] { tested_device().check("amg:cycle=hypre", A); }),
                    "--precond amg without cycle=hypre");
}

}  // namespace
