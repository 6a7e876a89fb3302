// SPDX-License-Identifier: BSD-3-Clause
// Singular systems: what is recognised, what is removed, what the answer is called.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "null_space_cases.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto {
namespace {

std::vector<std::string> names(const Structure& structure) {
    std::vector<std::string> all;
    for (const auto& vector : structure.null_vectors) all.push_back(vector.name());
    return all;
}
using Names = std::vector<std::string>;

TEST(NullSpace, IsRecognised) {
    MpiComm comm;
    for (const int threads : {1, 3}) {
        const auto found = [&](Global n, const Formula& entry) {
            return names(analyse(comm, rows_of(comm, n, entry), threads));
        };
        EXPECT_EQ(found(size, neumann), Names{"constants"});
        EXPECT_EQ(found(size, ring), Names{"constants"});
        EXPECT_EQ(found(size, [](Global i, Global j) { return neumann(i, j) / 3; }), Names{"constants"});
        EXPECT_EQ(found(2 * size, neumann_twice), (Names{"component 1 of 2", "component 2 of 2"}));
        EXPECT_EQ(found(3 * size,
                        [](Global i, Global j) { return i % 3 == j % 3 ? neumann(i / 3, j / 3) + (i % 3 == 1) : 0; }),
                  (Names{"component 1 of 3", "component 3 of 3"}));
        EXPECT_EQ(found(size, [](Global i, Global j) { return neumann(i, j) + (i == j ? 1e-9 : 0); }), Names{});
        EXPECT_EQ(found(size, [](Global i, Global j) { return neumann(i, j) + (i == j && i == 7 ? 1 : 0); }), Names{});
    }
    for (const std::string problem : {"neumann2d:7", "neumann3d:3x4x5", "neumann2d:1"})
        EXPECT_EQ(names(analyse(comm, generate(comm, problem))), Names{"constants"}) << problem;
    EXPECT_EQ(names(analyse(comm, generate(comm, "poisson2d:7"))), Names{});
}

TEST(NullSpace, IsMadeOrthonormal) {
    MpiComm comm;
    const auto rows = static_cast<std::size_t>(comm.rank() == 0 ? 3 : 2);
    std::vector<double> ones(rows, 1), numbers, both;
    for (std::size_t i = 0; i < rows; ++i) numbers.push_back(static_cast<double>(comm.rank()) + static_cast<double>(i));
    for (const double number : numbers) both.push_back(2 * number - 5);
    const NullSpace space(comm, {ones, numbers, both, std::vector<double>(rows)});
    ASSERT_EQ(space.size(), 2);
    for (const auto& a : space.vectors())
        for (const auto& b : space.vectors()) {
            double sum = 0;
            for (std::size_t i = 0; i < rows; ++i) sum += a[i] * b[i];
            EXPECT_NEAR(all_sum(comm, sum), &a == &b ? 1 : 0, 1e-14);
        }
    expect_part(refusal_of([&] { NullSpace(comm, std::vector<std::vector<double>>(17, ones)); }), "17 null vectors");
}

/// Every method, with every kind of preconditioner, for one column and several, finds the shortest solution, whether b
/// is in the range or not, and says which of these it was.
TEST(NullSpace, EveryMethodFindsTheShortestSolution) {
    MpiComm comm;
    std::vector<std::string> preconditioners{"none", "jacobi", "block_jacobi:ilu0", "block_jacobi:cholesky",
                                             "chebyshev:degree=3"};
    if (has_amg(problem(comm, "poisson2d:3"))) preconditioners.emplace_back("amg");
    const auto exact = shortest_solutions(5);
    for (const auto& precond : preconditioners) {
        auto system = system_of(comm, size, neumann, {.precond = precond});
        for (const Method* method : methods()) {
            if (method->transpose && precond == "amg") continue;
            for (const int columns : {1, 5})
                for (const double constant : {0.0, 3.0}) {
                    const std::string what =
                        fmt::format("{}, {}, {} columns, {}", method->name, precond, columns, constant);
                    // Every second column has a constant part and so is outside of the range.
                    const auto part = [&](int j) { return j % 2 == 0 ? constant : 0; };
                    const auto b = local(system, columns, [&](Global i, int j) { return in_range(i, j) + part(j); });
                    const auto expected = local(system, columns, [&](Global i, int j) {
                        return exact[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
                    });
                    auto x = local(system, columns, [](Global i, int j) { return uniform(7, i, j) + 4; });
                    const SolveOptions options{
                        .method = std::string(method->name), .rtol = 1e-11, .max_iterations = 2000};
                    const auto result = solved(system, b, x, columns, options);
                    EXPECT_LE(largest_difference(comm, x, expected), 1e-8) << what;
                    for (int j = 0; j < columns; ++j) {
                        const auto& column = result.columns[static_cast<std::size_t>(j)];
                        const bool outside = part(j) != 0;
                        EXPECT_EQ(column.status, outside ? Status::least_squares : Status::converged) << what;
                        EXPECT_LE(column.projected_residual, 1.01e-11) << what;
                        EXPECT_NEAR(column.outside_range > 0.5, outside, 1e-12) << what;
                        EXPECT_NEAR(column.relative_residual, outside ? column.outside_range : 0, 1e-10) << what;
                    }
                    EXPECT_EQ(result.converged(), constant == 0) << what;
                    EXPECT_TRUE(result.projected);
                }
        }
    }
}

TEST(NullSpace, CostsNoReductionInAnIteration) {
    MpiComm comm;
    for (const Method* method : methods())
        for (const std::string precond : {"none", "jacobi"}) {
            std::vector<Counts> counts;
            for (const std::string null_space : {"auto", "none"}) {
                auto system = LinearSystem::load(comm, "neumann2d:40", {.precond = precond, .null_space = null_space});
                const auto b = local(system, 1, [](Global i, int) { return i % 2 == 0 ? 1.0 : -1.0; });
                std::vector<double> x(b.size());
                const auto result = solved(system, b, x, 1, {.method = std::string(method->name), .max_iterations = 9});
                counts.push_back(result.ledger.at(Phase::iteration));
                EXPECT_EQ(result.status, Status::max_iterations) << method->name;
            }
            EXPECT_EQ(counts[0].reductions, counts[1].reductions) << method->name;
            EXPECT_EQ(counts[0].hidden_reductions, counts[1].hidden_reductions) << method->name;
            EXPECT_EQ(counts[0].vectors.reads, counts[1].vectors.reads) << method->name;
        }
}

TEST(NullSpace, OfSystemsThatArePrepared) {
    MpiComm comm;
    const auto exact = shortest_solutions(1);
    for (const std::string steps : {"equilibrate", "metis,rcm", "equilibrate,nonzeros"})
        for (const double sign : {1.0, -1.0}) {
            auto system = system_of(comm, size, [&](Global i, Global j) { return sign * neumann(i, j); },
                                    {.precond = "block_jacobi:ic0", .prepare = steps});
            const auto b = local(system, 1, [](Global i, int j) { return in_range(i, j) + 1; });
            EXPECT_NEAR(system.outside_range({b.data(), system.local_rows(), 1}).at(0), 0.87, 0.02);
            std::vector<double> x(b.size());
            EXPECT_EQ(solved(system, b, x, 1, {.rtol = 1e-11}).status, Status::least_squares) << steps;
            const auto expected =
                local(system, 1, [&](Global i, int) { return sign * exact[static_cast<std::size_t>(i)][0]; });
            EXPECT_LE(largest_difference(comm, x, expected), 1e-8) << steps << ' ' << sign;
        }
}

TEST(NullSpace, NothingIsLeftWhereAllOfBIsOutside) {
    MpiComm comm;
    auto system = LinearSystem::load(comm, "neumann3d:7");
    const auto b = local(system, 1, [](Global, int) { return 0.1; });
    auto x = local(system, 1, [](Global i, int) { return uniform(1, i, 0); });
    const auto result = solved(system, b, x, 1, {});
    EXPECT_EQ(result.status, Status::least_squares);
    EXPECT_EQ(result.iterations, 0);
    EXPECT_EQ(largest_difference(comm, x, std::vector<double>(x.size())), 0);
    ASSERT_EQ(result.events.size(), 2U);
    expect_part(result.events[0].text, "b is outside of the range of A by 1.00e+00 of its length");
    expect_part(result.events[1].text, "a least-squares solution");
}

TEST(NullSpace, ATinyPartOutsideLeavesBInRange) {
    MpiComm comm;
    auto system = system_of(comm, size, neumann);
    for (const auto& [part, status] : {std::pair(1e-12, Status::converged), std::pair(1e-9, Status::converged),
                                       std::pair(1e-7, Status::least_squares)}) {
        const auto b = local(system, 1, [part = part](Global i, int j) { return in_range(i, j) + part; });
        std::vector<double> x(b.size());
        const auto result = solved(system, b, x, 1, {.rtol = 1e-8});
        EXPECT_EQ(result.status, status) << part;
        EXPECT_EQ(result.relative_residual() <= 1e-8, status == Status::converged) << part;
        EXPECT_EQ(result.events.empty(), status == Status::converged) << part;
    }
}

TEST(NullSpace, NoneIsAsBefore) {
    MpiComm comm;
    auto system = system_of(comm, size, neumann, {.null_space = "none"});
    EXPECT_EQ(system.null_space(), nullptr);
    const auto b = local(system, 1, [](Global i, int j) { return in_range(i, j); });
    auto x = local(system, 1, [](Global, int) { return 5.0; });
    const auto result = solved(system, b, x, 1, {});
    EXPECT_TRUE(result.converged());
    EXPECT_FALSE(result.projected);
    double sum = 0;
    for (const double value : x) sum += value;
    EXPECT_NEAR(all_sum(comm, sum), 5 * size, 1e-6);  // what the guess had
    const auto outside = local(system, 1, [](Global i, int j) { return in_range(i, j) + 1; });
    EXPECT_FALSE(solved(system, outside, x, 1, {}).passed());
    EXPECT_GT(system.outside_range({outside.data(), system.local_rows(), 1}).at(0), 0.5);
}

TEST(NullSpace, ComesFromAFile) {
    MpiComm comm;
    const auto partition = Partition::even(2 * size, comm.size());
    const auto file = [&](const char* name, const std::function<double(Global, int)>& f) {
        std::vector<double> values;
        for (Global i = partition.first(comm.rank()); i < partition.first(comm.rank() + 1); ++i)
            for (int j = 0; j < 2; ++j) values.push_back(f(i, j));
        const auto path =
            (std::filesystem::temp_directory_path() / fmt::format("stretto_{}_{}.mtx", name, comm.size())).string();
        write_array(comm, path, partition, values, 2);
        MPI_Barrier(comm.mpi());
        return path;
    };
    const auto path = file("null", [](Global i, int j) { return j == 0 || i < size ? 2.0 : 0.0; });
    auto system = system_of(comm, 2 * size, two_grids, {.null_space = path});
    ASSERT_NE(system.null_space(), nullptr);
    EXPECT_EQ(system.null_space()->size(), 2);
    // In the range of neither grid, though the constants of both together do not see it.
    const auto b = local(system, 1, [](Global i, int) { return in_range(i % size, 0) + (i < size ? 1 : -1); });
    std::vector<double> x(b.size());
    EXPECT_EQ(solved(system, b, x, 1, {.rtol = 1e-10}).status, Status::least_squares);
    const auto exact = shortest_solutions(1);
    const auto expected = local(system, 1, [&](Global i, int) { return exact[static_cast<std::size_t>(i % size)][0]; });
    EXPECT_LE(largest_difference(comm, x, expected), 1e-7);

    auto constants = system_of(comm, 2 * size, two_grids);
    EXPECT_FALSE(solved(constants, b, x, 1, {.max_iterations = 500}).passed());  // they are not all of it

    const auto wrong = file("wrong", [](Global i, int j) { return j == 0 ? 1 : static_cast<double>(i); });
    const auto refused = [&](const std::string& null_space, const Formula& entry) {
        return refusal_of([&] { system_of(comm, 2 * size, entry, {.null_space = null_space}); });
    };
    expect_part(refused(wrong, two_grids), "A takes column 2 not to zero");
    expect_part(refused("missing.mtx", two_grids), "neither a file nor auto, constant or none");
    const auto shifted = [](Global i, Global j) { return two_grids(i, j) + (i == j ? 1 : 0); };
    expect_part(refused("constant", shifted), "A takes constants not to zero");
    EXPECT_EQ(refused("constant", two_grids), "");
    MPI_Barrier(comm.mpi());
    if (comm.rank() == 0)
        for (const auto& each : {path, wrong}) std::filesystem::remove(each);
}

/// A flow through 20 pipes in a row: the pressures at their ends are given but for a constant.
double pipes(Global i, Global j) {
    constexpr Global flows = 20;
    if (i > j) return pipes(j, i);
    if (i < flows && i == j) return 2;
    return i < flows && j == flows + i ? -1 : i < flows && j == flows + i + 1 ? 1 : 0;
}

TEST(NullSpace, IsAPressureWithoutADiagonal) {
    MpiComm comm;
    auto system = system_of(comm, 41, pipes);
    ASSERT_NE(system.null_space(), nullptr);
    expect_part(fmt::format("{}", fmt::join(system.remarks(), "\n")), "rows whose diagonal is zero");
    const std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0);
    auto x = b;
    auto solver = system.solver({.method = "minres", .rtol = 1e-10});
    EXPECT_EQ(solver.solve(b, x).status, Status::least_squares);
    ASSERT_FALSE(solver.next().empty());
    EXPECT_EQ(solver.next().front().more, "--null-space constant");
}

TEST(NullSpace, FollowsNewValues) {
    MpiComm comm;
    auto system = system_of(comm, size, neumann);
    auto solver = system.solver({.rtol = 1e-10});
    const auto b = local(system, 1, [](Global i, int j) { return in_range(i, j) + 1; });
    std::vector<double> x(b.size());
    EXPECT_EQ(solver.solve(b, x).status, Status::least_squares);
    const auto values = rows_of(comm, size, neumann).rows.values;
    const auto regular =
        rows_of(comm, size, [](Global i, Global j) { return neumann(i, j) + (i == j ? 0.5 : 0); }).rows.values;
    for (int round = 0; round < 2; ++round) {
        system.update_values(regular);
        EXPECT_EQ(system.null_space(), nullptr);
        EXPECT_EQ(solver.solve(b, x).status, Status::converged);
        system.update_values(values);
        ASSERT_NE(system.null_space(), nullptr);
        EXPECT_EQ(solver.solve(b, x).status, Status::least_squares);
    }
}

TEST(NullSpace, OfAnOperatorOfOnesOwn) {
    MpiComm comm;
    const auto A = matrix(comm, size, ring);
    const NullSpace constants(comm, {std::vector<double>(static_cast<std::size_t>(A.local_rows()), 1.0)});
    Values b(A, 2, [](Global i, int j) { return in_range(i, j) + j; }), x(A, 2);
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 2, {.method = "bicgstab", .null_space = &constants});
    for (const bool transposed : {false, true}) {
        const auto& result =
            transposed ? solver.solve_transposed(b.view(), x.view()) : solver.solve(b.view(), x.view());
        EXPECT_EQ(result.columns[0].status, Status::converged);
        EXPECT_EQ(result.columns[1].status, Status::least_squares);
        EXPECT_EQ(result.status, Status::least_squares);
    }
    const NullSpace short_one(comm, {std::vector<double>(static_cast<std::size_t>(A.local_rows()) + 1, 1.0)});
    expect_part(refusal_of([&] {
                    Solver<double>(comm, A, Identity{}, A.local_rows(), 1,
                                   {.method = "gmres", .null_space = &short_one});
                }),
                "a null vector has");
}

TEST(NullSpace, AmgSolvesToTheLastDigits) {
    MpiComm comm;
    if (!has_amg(problem(comm, "poisson2d:3"))) GTEST_SKIP() << "built without hypre";
    auto system = LinearSystem::load(comm, "neumann3d:16", {.precond = "amg"});
    const auto b = local(system, 3, [](Global i, int j) { return uniform(9, i, j); });
    for (const std::string method : {"cg", "pipelined_cg", "minres", "bicgstab", "gmres"}) {
        std::vector<double> x(b.size());
        const auto result = solved(system, b, x, 3, {.method = method, .rtol = 1e-12});
        EXPECT_EQ(result.status, Status::least_squares) << method;
        EXPECT_LE(result.iterations, 30) << method;
    }
    auto twice = system_of(comm, 2 * size, neumann_twice, {.precond = "amg"});
    const auto c = local(twice, 1, [](Global i, int j) { return in_range(i / 2, j) + static_cast<double>(i % 2); });
    std::vector<double> x(c.size());
    EXPECT_EQ(solved(twice, c, x, 1, {.rtol = 1e-12}).status, Status::least_squares);
    const auto exact = shortest_solutions(1);
    const auto expected = local(twice, 1, [&](Global i, int) { return exact[static_cast<std::size_t>(i / 2)][0]; });
    EXPECT_LE(largest_difference(comm, x, expected), 1e-9);
}

TEST(NullSpace, WhatTheRecurrenceBelievesIsNoMore) {
    MpiComm comm;
    auto system = system_of(comm, size, neumann);
    const auto b = local(system, 2, [](Global i, int j) { return in_range(i, j) + j; });
    std::vector<double> x(b.size());
    const auto result = solved(system, b, x, 2, {.verify = Verify::recurrence});
    EXPECT_FALSE(result.verified);
    EXPECT_EQ(result.columns[0].status, Status::passed_unverified);
    EXPECT_EQ(result.columns[1].status, Status::least_squares);
    EXPECT_EQ(result.status, Status::least_squares);
}

TEST(NullSpace, IsInTheJson) {
    MpiComm comm;
    auto system = LinearSystem::load(comm, "neumann2d:6");
    const auto b = local(system, 1, [](Global i, int) { return i == 3 ? 1.0 : 0.0; });
    std::vector<double> x(b.size());
    const auto result = solved(system, b, x, 1, {});
    auto info = system.info();
    info.method = "cg";
    const auto json = nlohmann::json::parse(result_json(comm, info, result));
    EXPECT_EQ(json["status"], "least_squares");
    EXPECT_EQ(json["converged"], false);
    EXPECT_EQ(json["structure"]["null_vectors"], nlohmann::json::array({"constants"}));
    EXPECT_EQ(json["null_space"]["removed"], true);
    EXPECT_EQ(json["null_space"]["range_known"], true);
    EXPECT_NEAR(json["columns_detail"][0]["outside_range"], 1.0 / 6, 1e-12);
    EXPECT_LE(json["columns_detail"][0]["projected_residual"], 1e-8);
    auto regular = LinearSystem::load(comm, "poisson2d:6");
    info = regular.info();
    info.method = "cg";
    const auto other = nlohmann::json::parse(result_json(comm, info, solved(regular, b, x, 1, {})));
    EXPECT_TRUE(other["null_space"].is_null());
    EXPECT_TRUE(other["columns_detail"][0]["outside_range"].is_null());
}

}  // namespace
}  // namespace stretto
