// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/linear_system.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "allocations.hpp"
#include "stretto/io/matrix_market.hpp"
#include "systems.hpp"

namespace stretto {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Entries of this rank's rows, zeros left out, of a partition of one's choice.
struct Given {
    std::vector<Global> start{0}, columns;
    std::vector<double> values;
};
Given rows_of(const Partition& partition, int rank, const Formula& entry) {
    Given given;
    for (Global i = partition.first(rank); i < partition.first(rank + 1); ++i) {
        for (Global j = 0; j < partition.rows(); ++j)
            if (const double value = entry(i, j); value != 0) {
                given.columns.push_back(j);
                given.values.push_back(value);
            }
        given.start.push_back(static_cast<Global>(given.columns.size()));
    }
    return given;
}
LinearSystem system_of(Comm& comm, Global n, const Formula& entry, SystemOptions options = {}) {
    auto partition = Partition::even(n, comm.size());
    auto given = rows_of(partition, comm.rank(), entry);
    return {comm,
            DistributedRows{std::move(partition),
                            {std::move(given.start), std::move(given.columns), std::move(given.values)}},
            std::move(options)};
}

double grid(Global i, Global j) {  // 7 × 9, five points
    if (i == j) return 4;
    const auto [low, high] = std::minmax(i, j);
    return high == low + 9 || (high == low + 1 && high % 9 != 0) ? -1 : 0;
}
constexpr Global n = 63;
double wind(Global i, Global j) { return grid(i, j) * (i < j ? 0.5 : 1); }

std::vector<double> right_hand_side(const LinearSystem& system, int columns = 1) {
    std::vector<double> b;
    const Global first = system.partition().first(system.comm().rank());
    for (Index i = 0; i < system.local_rows(); ++i)
        for (int j = 0; j < columns; ++j) b.push_back(uniform(3, first + i, j));
    return b;
}
std::vector<double> solution(LinearSystem& system, const std::string& method, int columns = 1) {
    const auto b = right_hand_side(system, columns);
    std::vector<double> x(b.size());
    const auto result = system.solve({b.data(), system.local_rows(), columns}, {x.data(), system.local_rows(), columns},
                                     {.method = method, .rtol = 1e-10});
    EXPECT_TRUE(result.converged()) << method;
    return x;
}

const std::vector<std::string> all_steps{
    "", "equilibrate", "rcm", "metis", "nonzeros", "metis,rcm", "equilibrate,metis", "equilibrate,rcm,nonzeros"};

TEST(LinearSystem, IsTheSameHoweverItIsGiven) {
    MpiComm comm;
    const std::string file =
        (std::filesystem::temp_directory_path() / fmt::format("stretto_system_{}.mtx", comm.size())).string();
    auto by_rows = system_of(comm, n, grid);
    {
        const auto partition = Partition::even(n, comm.size());
        auto given = rows_of(partition, comm.rank(), grid);
        write_matrix(comm, file, partition, {given.start, given.columns, given.values});
    }
    auto by_file = LinearSystem::load(comm, file);
    MPI_Barrier(comm.mpi());
    if (comm.rank() == 0) std::filesystem::remove(file);
    auto by_name = LinearSystem::load(comm, "poisson2d:9x7");

    // Compressed rows, each backwards, with its diagonal in two halves.
    Given given = rows_of(Partition::even(n, comm.size()), comm.rank(), grid), turned;
    const Global first = Partition::even(n, comm.size()).first(comm.rank());
    for (std::size_t i = 0; i + 1 < given.start.size(); ++i) {
        for (auto k = given.start[i + 1]; k-- > given.start[i];) {
            const Global column = given.columns[static_cast<std::size_t>(k)];
            const bool diagonal = column == first + static_cast<Global>(i);
            for (int half = 0; half < (diagonal ? 2 : 1); ++half) {
                turned.columns.push_back(column);
                turned.values.push_back(given.values[static_cast<std::size_t>(k)] / (diagonal ? 2 : 1));
            }
        }
        turned.start.push_back(static_cast<Global>(turned.columns.size()));
    }
    const std::vector<int> start(turned.start.begin(), turned.start.end());
    auto by_arrays = LinearSystem::from_rows(comm, std::span<const int>(start), std::span<const Global>(turned.columns),
                                             std::span<const double>(turned.values));

    // The arrays of a program, where they are; on one rank they are the compressed rows.
    const std::vector<Index> offsets(given.start.begin(), given.start.end()),
        places(given.columns.begin(), given.columns.end()), turned_places(turned.columns.begin(), turned.columns.end());
    auto by_views = LinearSystem::over_rows(comm, offsets, places, given.values);
    if (comm.size() == 1) {
        EXPECT_EQ(by_views.matrix().row(0).values.data(), given.values.data());
    }
    auto by_turned_views = LinearSystem::over_rows(comm, start, turned_places, turned.values);

    // Entries, every rank some from everywhere.
    std::vector<Entry<double>> entries;
    for (Global i = 0; i < n; ++i)
        for (Global j = 0; j < n; ++j)
            if (grid(i, j) != 0 && (i + j) % comm.size() == comm.rank()) entries.push_back({i, j, grid(i, j)});
    auto by_entries = LinearSystem::from_entries(comm, n, entries);

    const auto x = solution(by_rows, "pipelined_cg", 2);
    for (auto* other : {&by_file, &by_name, &by_arrays, &by_views, &by_turned_views, &by_entries}) {
        EXPECT_EQ(other->matrix().nonzeros(), by_rows.matrix().nonzeros());
        EXPECT_EQ(other->remarks(2), by_rows.remarks(2));
        EXPECT_EQ(solution(*other, "pipelined_cg", 2), x);
    }
    auto twice = given.values;
    for (double& value : twice) value *= 2;
    by_views.update_values(twice);
    by_rows.update_values(twice);
    EXPECT_EQ(solution(by_views, "pipelined_cg", 2), solution(by_rows, "pipelined_cg", 2));
}

/// What stretto solve did step by step.
TEST(LinearSystem, DoesWhatItsPartsDo) {
    MpiComm comm;
    for (const std::string prepare : {"", "equilibrate,metis"}) {
        auto system = system_of(comm, n, wind, {.precond = "block_jacobi:ilu0", .prepare = prepare});
        const auto partition = Partition::even(n, comm.size());
        auto given = rows_of(partition, comm.rank(), wind);
        const PreparedSystem parts(comm, {partition, {given.start, given.columns, given.values}},
                                   parse_prepare(prepare), false);
        const auto M = parts.preconditioner("block_jacobi:ilu0");
        auto b = right_hand_side(system), x = b;
        std::ranges::fill(x, 0.25);
        auto moved_b = parts.forward(b, 1), moved_x = parts.forward(x, 1);
        const Index rows = parts.matrix().local_rows();
        SolveOptions options;
        options.method = "bicgstab";
        const auto expected =
            solve<double>(comm, parts.matrix(), *M, {moved_b.data(), rows, 1}, {moved_x.data(), rows, 1}, options);
        const auto result = system.solve(b, x, options);
        auto back = x;
        RowMoves::Packed packed;
        parts.back(moved_x, 1, back, packed);
        EXPECT_EQ(x, back) << prepare;
        EXPECT_EQ(result.iterations, expected.iterations);
        EXPECT_EQ(result.relative_residual(), expected.relative_residual());
        const auto remarks = system.remarks();
        for (const auto& remark : parts.remarks()) EXPECT_EQ(std::ranges::count(remarks, remark), 1) << remark;
    }
}

TEST(LinearSystem, SolvesWithTheTranspose) {
    MpiComm comm;
    const auto turned = [](Global i, Global j) { return wind(j, i); };
    for (const double sign : {1.0, -1.0}) {
        auto straight = system_of(comm, n, [&](Global i, Global j) { return sign * turned(i, j); });
        const auto b = right_hand_side(straight);
        const auto expected = solution(straight, "bicgstab");
        for (const auto& prepare : all_steps) {
            auto system = system_of(comm, n, [&](Global i, Global j) { return sign * wind(i, j); },
                                    {.precond = "block_jacobi:ilu0", .prepare = prepare});
            auto solver = system.solver({.method = "bicgstab", .rtol = 1e-10});
            std::vector<double> x(b.size());
            const auto rows = static_cast<Index>(b.size());
            EXPECT_TRUE(solver.solve_transposed({b.data(), rows, 1}, {x.data(), rows, 1}).converged()) << prepare;
            for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], 1e-7) << prepare;
        }
    }
}

TEST(LinearSystem, TellsOfRepairsAlsoWhereRowsAreScaled) {
    MpiComm comm;
    // Without fill row 1 loses its pivot in every pair: 1 − 1 · 1.
    const auto pairs = [](Global i, Global j) { return i / 2 == j / 2 ? 1.0 : i - j == 2 || j - i == 2 ? 0.1 : 0.0; };
    for (const std::string prepare : {"", "equilibrate"}) {
        auto system = system_of(comm, n, pairs, {.precond = "block_jacobi:ilu0", .prepare = prepare});
        const auto* M = system.preconditioner();
        ASSERT_TRUE(M);
        EXPECT_TRUE(M->repaired()) << prepare;
    }
}

TEST(LinearSystem, SolvesANegativeDefiniteMatrixByItsNegative) {
    MpiComm comm;
    auto plus = system_of(comm, n, grid, {.methods = {"cg"}});
    auto minus =
        system_of(comm, n, [](Global i, Global j) { return -grid(i, j); }, {.precond = "jacobi", .methods = {"cg"}});
    EXPECT_FALSE(plus.negated());
    EXPECT_TRUE(minus.negated());
    const auto x = solution(plus, "cg"), y = solution(minus, "cg");
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], -y[i], 1e-8);
    EXPECT_EQ(std::ranges::count_if(minus.remarks(), [](auto& text) { return text.starts_with("negative diagonal"); }),
              1);
}

TEST(LinearSystem, RefusesMethodsForSpdMatricesWhereThereIsNone) {
    MpiComm comm;
    auto system = system_of(comm, n, wind);
    expect_part(refusal_of([&] { system.check("cg"); }), "cg needs a symmetric matrix, and this one is not");
    expect_part(refusal_of([&] { solution(system, "pipelined_cg"); }), "pipelined_cg needs a symmetric matrix");
    expect_part(refusal_of([&] { (void)system.solver({.method = "cg"}); }), "symmetric");
    EXPECT_EQ(refusal_of([&] { system.check("bicgstab"); }), "");
    expect_part(refusal_of([&] { system_of(comm, n, wind, {.precond = "jacobi", .methods = {"cg"}}); }),
                "cg needs a symmetric matrix");
    auto factored = system_of(comm, n, grid, {.precond = "block_jacobi:ilut"});
    expect_part(refusal_of([&] { factored.check("cg"); }),
                "cg needs a symmetric preconditioner, and block_jacobi:ilut is not");
    EXPECT_EQ(refusal_of([&] { system_of(comm, n, wind, {.insist = true}).check("cg"); }), "");
    expect_part(
        refusal_of([&] { system_of(comm, n, grid, {.precond = "amg:functions=5", .methods = {"improved_bicgstab"}}); }),
        "which amg does not have: bicgstab takes it");  // before the set-up, which refuses five of 63 rows
    expect_part(refusal_of([&] { system.check("nothing"); }), "there is no method 'nothing'");
    expect_part(refusal_of([&] { system.check("gmres:n=2"); }), "n");
}

TEST(LinearSystem, NamesWhatIsWrongByRowAndColumn) {
    MpiComm comm;
    const auto with = [](double value) {
        return [value](Global i, Global j) { return i == 40 && j == 41 ? value : grid(i, j); };
    };
    expect_part(refusal_of([&] { system_of(comm, n, with(nan)); }), "row 41, column 42: the value is nan");
    std::vector<Entry<double>> entries;
    if (comm.rank() == comm.size() - 1) entries = {{0, 0, 1}, {2, 3, 1}};
    expect_part(refusal_of([&] { LinearSystem::from_entries(comm, 3, entries); }),
                "row 3, column 4: outside the 3 × 3 matrix");
    const auto rows = [&](std::vector<Global> start, std::vector<Global> columns, std::vector<double> values) {
        return refusal_of([&] { LinearSystem::from_rows(comm, std::move(start), std::move(columns), values); });
    };
    const Global all = 2 * comm.size();
    expect_part(rows({0, 1, 2}, {0, all}, {1, 1}), fmt::format("row 2, column {}: outside", all + 1));
    expect_part(rows({0, 1, 3}, {0, 1}, {1, 1}), "row offsets of rank 0 must start at 0");
    expect_part(rows({0, 2, 1}, {0, 1}, {1, 1}), "row offsets of rank 0");
    expect_part(rows({0, 1, 2}, {0, 1}, {1}), "1 values for 2 entries");
    expect_part(rows({}, {}, {}), "was given no row offsets");
    expect_part(refusal_of([&] { system_of(comm, n, grid, {.prepare = "scale"}); }), "there is no step 'scale'");
}

TEST(LinearSystem, RefusesVectorsThatDoNotFit) {
    MpiComm comm;
    auto system = system_of(comm, n, grid);
    auto b = right_hand_side(system);
    std::vector<double> longer(b.size() + 1);
    expect_part(refusal_of([&] { system.solve(b, longer); }), "x is");
    expect_part(refusal_of([&] { system.solve(longer, b); }), "b is");
    expect_part(refusal_of([&] { system.solve(b, b); }), "x overlaps b");
    expect_part(refusal_of([&] { system.update_values(longer); }), "values for");
    auto fixed = system_of(comm, n, grid, {.keep_entries = false});
    expect_part(refusal_of([&] { fixed.update_values(b); }), "keep_entries");
}

TEST(LinearSystem, TakesRanksWithoutRowsAndTinyMatrices) {
    MpiComm comm;
    for (const Global rows : {1, 2})
        for (const auto& prepare : all_steps) {
            auto system =
                system_of(comm, rows, [](Global i, Global j) { return i == j ? 4.0 : -1.0; }, {.prepare = prepare});
            solution(system, "cg");
        }
    // All rows on the last rank.
    std::vector<Global> first(static_cast<std::size_t>(comm.size()) + 1, 0);
    first.back() = n;
    const auto given = rows_of(Partition(first), comm.rank(), grid);
    auto system = LinearSystem::from_rows(comm, given.start, given.columns, given.values, {.prepare = "nonzeros"});
    EXPECT_EQ(system.local_rows(), comm.rank() + 1 == comm.size() ? n : 0);
    solution(system, "cg");
    auto empty = LinearSystem::from_entries(comm, 1, {});  // a row of zeros
    EXPECT_EQ(empty.structure().structural_rank, 0);
    const std::vector<double> one(static_cast<std::size_t>(empty.local_rows()), 1.0);
    auto x = one;
    EXPECT_FALSE(empty.solve(one, x, {.method = "bicgstab"}).converged());
}

TEST(LinearSystem, SaysSoOfSingularRows) {
    MpiComm comm;
    auto system = system_of(comm, n, [](Global i, Global j) { return i == 5 ? 0.0 : wind(i, j); });
    const auto remarks = system.remarks();
    EXPECT_EQ(std::ranges::count_if(remarks, [](auto& text) { return text.starts_with("structurally singular"); }), 1);
}

/// To the bit what a system made with the new values does: also where their sign and symmetry are others.
TEST(LinearSystem, TakesOtherValues) {
    MpiComm comm;
    const auto old = [](Global i, Global j) { return grid(i, j) * (i < 8 ? 1e3 : 1); };
    const std::vector<std::pair<Formula, std::string>> others{
        {[](Global i, Global j) { return grid(i, j) * (1 + 0.5 * uniform(9, i) + 0.5 * uniform(9, j)) + (i == j); },
         "cg"},
        {[](Global i, Global j) { return -grid(i, j); }, "cg"},
        {[](Global i, Global j) { return wind(i, j) * std::pow(10.0, i % 4); }, "bicgstab"}};
    for (const auto& prepare : all_steps)
        for (const std::string precond : {"none", "jacobi", "block_jacobi:ilu0"})
            for (const auto& [formula, method] : others) {
                const SystemOptions options{.precond = precond, .prepare = prepare};
                auto system = system_of(comm, n, old, options), fresh = system_of(comm, n, formula, options);
                auto solver = system.solver({.method = "bicgstab", .rtol = 1e-10});
                const auto values = rows_of(system.partition(), comm.rank(), formula).values;
                const auto* matrix = &system.matrix();
                system.update_values(values);
                EXPECT_EQ(&system.matrix(), matrix);
                EXPECT_EQ(system.negated(), fresh.negated());
                // Whether rows are reordered is measured, and may be decided otherwise the second time.
                const bool measured = prepare.find("rcm") != std::string::npos;
                if (!measured) {
                    EXPECT_EQ(system.remarks(), fresh.remarks()) << prepare;
                    EXPECT_EQ(solution(system, method), solution(fresh, method)) << prepare << " " << precond;
                }
                const auto b = right_hand_side(system);
                std::vector<double> x(b.size()), y(b.size());
                EXPECT_TRUE(solver.solve(b, x).converged()) << prepare;
                EXPECT_TRUE(fresh.solve(b, y, {.method = "bicgstab", .rtol = 1e-10}).converged());
                for (std::size_t i = 0; i < x.size(); ++i)
                    EXPECT_NEAR(x[i], y[i], measured ? 1e-6 : 0) << prepare << " " << precond;
            }
}

// Also behind the scaling it follows them in the memory it has; what cannot is made anew, which takes some.
TEST(LinearSystem, JacobiFollowsOtherValuesWithoutMemory) {
    MpiComm comm;
    if (comm.size() > 1 || !allocations_are_counted()) return;  // MPI libraries may allocate
    const auto taken = [&](const std::string& precond, const std::string& prepare) {
        auto system = system_of(comm, n, grid, {.precond = precond, .prepare = prepare});
        const auto values = rows_of(system.partition(), comm.rank(), grid).values;
        const auto before = allocations.load();
        system.update_values(values);
        return allocations.load() - before;
    };
    for (const std::string prepare : {"", "equilibrate"}) {
        EXPECT_EQ(taken("jacobi", prepare), taken("none", prepare)) << prepare;
        EXPECT_GT(taken("chebyshev", prepare), taken("none", prepare)) << prepare;
    }
}

TEST(LinearSystem, WaitsForOtherValuesWhereItRefusedSome) {
    MpiComm comm;
    auto system = system_of(comm, n, grid, {.precond = "block_jacobi", .methods = {"cg"}});
    auto solver = system.solver({.method = "cg"});
    const auto b = right_hand_side(system);
    std::vector<double> x(b.size());
    const auto values = [&](const Formula& entry) { return rows_of(system.partition(), comm.rank(), entry).values; };
    expect_part(refusal_of([&] { system.update_values(values(wind)); }), "cg needs a symmetric matrix");
    expect_part(refusal_of([&] { solver.solve(b, x); }), "waits for other values");
    system.update_values(values(grid));
    EXPECT_TRUE(solver.solve(b, x).converged());
}

TEST(LinearSystem, TakesOtherValuesInTheOrderOfTheEntries) {
    MpiComm comm;
    const Global rows = 2 * comm.size();
    const auto mine = static_cast<Global>(comm.rank());
    // Twice the same place, and one entry that belongs to another rank.
    std::vector<Entry<double>> entries{
        {2 * mine, 2 * mine, 1}, {2 * mine, 2 * mine, 2}, {(2 * mine + 3) % rows, (2 * mine + 3) % rows, 5}};
    auto system = LinearSystem::from_entries(comm, rows, entries);
    system.update_values(std::vector<double>{1, 3, 8});
    EXPECT_EQ(std::ranges::max(system.matrix().diagonal()), 8);
    EXPECT_EQ(std::ranges::min(system.matrix().diagonal()), 4);
    auto arrays = LinearSystem::from_rows(comm, {0, 1, 4}, {2 * mine, 2 * mine + 1, 2 * mine, 2 * mine + 1},
                                          std::vector<double>{4, 1, 0.5, 2});
    EXPECT_EQ(arrays.matrix().diagonal(), (std::vector<double>{4, 3}));
    arrays.update_values(std::vector<double>{8, 2, 0.5, 5});
    EXPECT_EQ(arrays.matrix().diagonal(), (std::vector<double>{8, 7}));
    expect_part(refusal_of([&] { arrays.update_values(std::vector<double>{8, 2, nan, 5}); }), "the value is nan");
}

TEST(LinearSystem, TellsWhatTheJsonOfASolveHas) {
    MpiComm comm;
    auto system = system_of(comm, n, grid, {.precond = "jacobi", .prepare = "equilibrate"});
    const auto b = right_hand_side(system);
    std::vector<double> x(b.size());
    const auto result = system.solve(b, x, {.method = "pipelined_cg:check=10"});
    const auto info = system.info({.method = "pipelined_cg:check=10", .rtol = 1e-7, .max_iterations = 33});
    const auto json = nlohmann::json::parse(result_json(comm, info, result));
    EXPECT_EQ(json["method"], "pipelined_cg");
    EXPECT_EQ(json["options"], "check=10");
    EXPECT_EQ(json["rtol"], 1e-7);
    EXPECT_EQ(json["max_iterations"], 33);
    EXPECT_EQ(json["rows"], n);
    EXPECT_EQ(json["status"], "converged");
    EXPECT_EQ(json["prepare"], "equilibrate");
    EXPECT_EQ(json["structure"]["symmetric"], true);
    EXPECT_EQ(json["total"]["blocking_reductions"],
              json["total"]["reductions"].get<int>() - json["total"]["hidden_reductions"].get<int>());
    EXPECT_GT(json["precond_bytes"], 0);
}

}  // namespace
}  // namespace stretto
