// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/latency_comm.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto {
namespace {

/// A machine whose reductions take as long as several products of small problems.
KnownMachine slow_network() {
    KnownMachine machine;
    machine.model.ranks_per_node = 1;
    machine.model.memory_bandwidth = 1e10;
    machine.model.cache = 1;
    machine.model.cache_bandwidth = 1e10;
    machine.model.kernel = 5e-7;
    machine.model.all_reduce = PowerLaw{.c0 = 1e-4, .c1 = 0, .n0 = 0, .n1 = 0};
    machine.model.exchange = TwoLaws{.limit = 1e4, .small = {.c0 = 1e-6}, .large = {.c0 = 1e-6}};
    return machine;
}

PartTimes parts_of(double product, double reduction) {
    PartTimes parts;
    parts.rows = 1e4;
    parts.product = product;
    parts.vector = product / 5;
    parts.kernel = 1e-7;
    parts.reduction = reduction;
    parts.bandwidth = 1e10;
    return parts;
}

TEST(Choice, IsTheSameTwiceAndOnAllRanksWithAMachine) {
    MpiComm comm;
    std::string before;
    for (int time = 0; time < 2; ++time) {
        auto system = LinearSystem::load(comm, "poisson2d:30", {.precond = "auto", .machine = slow_network()});
        std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0), x(b.size());
        const auto result = system.solve(b, x, {.method = "auto"});
        EXPECT_TRUE(result.converged());
        const auto& choice = system.choice();
        EXPECT_TRUE(choice.parts.of_machine);
        const auto text = choice.method + " " + choice.precond;
        EXPECT_EQ(text, broadcast(comm, text, 0));
        EXPECT_FALSE(choice.reasons.empty());
        EXPECT_EQ(text, time > 0 ? before : text);
        before = text;
    }
}

TEST(Choice, DepthFollowsTheLatency) {
    const auto depth = [](double reduction, const std::string& asked = "deep_pipelined_cg:l=auto") {
        const auto method = with_depth(parts_of(1e-5, reduction), asked, 0);
        return std::stoi(method.substr(method.find("l=") + 2));
    };
    // Work of half the bytes hides half as much.
    EXPECT_GT(depth(5e-5, "refine:inner=deep_pipelined_cg,l=auto"), depth(5e-5));
    EXPECT_EQ(depth(1e-6), 1);
    EXPECT_GT(depth(2e-4), depth(1e-5));
    EXPECT_LE(depth(1), 6);
    EXPECT_EQ(with_depth(parts_of(1e-5, 1e-5), "deep_pipelined_cg:l=3", 0), "deep_pipelined_cg:l=3");
    EXPECT_EQ(without_automatic("pipelined_s_step_cg:l=auto,s=4"), "pipelined_s_step_cg:s=4");
    EXPECT_TRUE(has_automatic_depth("s_step_cg:s=auto"));
    EXPECT_FALSE(has_automatic_depth("s_step_cg"));
}

TEST(Choice, SaysWhyWithTheTimesThatDecided) {
    const auto parts = parts_of(4e-6, 3.1e-5);
    const auto ranked = rank_methods(parts, "cg", "none", 0, 1000);
    EXPECT_LE(ranked.front().seconds(), ranked.back().seconds());
    EXPECT_NE(ranked.front().step.method, "cg");
    const auto why = why_method(parts, "deep_pipelined_cg:l=3", 0);
    EXPECT_NE(why.find("reduction 31 µs, product 4 µs: depth 3 hides it"), std::string::npos) << why;
    EXPECT_NE(why.find("l = 4 would cost another vector"), std::string::npos) << why;
    const auto quick = rank_methods(parts_of(1e-3, 1e-6), "cg", "none", 0, 1000);
    EXPECT_EQ(quick.front().step.method, "cg");
}

/// Tridiagonal, its diagonal positive, and not definite.
LinearSystem not_definite(Comm& comm, SystemOptions options) {
    constexpr Global n = 300;
    std::vector<Entry<double>> entries;
    if (comm.rank() == 0)
        for (Global i = 0; i < n; ++i) {
            entries.push_back({i, i, 1 + 0.02 * static_cast<double>(i % 7)});
            if (i > 0) {
                entries.push_back({i, i - 1, 2});
                entries.push_back({i - 1, i, 2});
            }
        }
    return LinearSystem::from_entries(comm, n, std::move(entries), std::move(options));
}

TEST(Choice, ChangesItsMindAtARestart) {
    MpiComm comm;
    auto system = not_definite(comm, {.precond = "auto", .machine = slow_network(), .trial_budget = 0});
    std::vector<double> b(static_cast<std::size_t>(system.local_rows())), x(b.size());
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = uniform(3, system.partition().first(comm.rank()) + static_cast<Global>(i));
    int last = -1, seen = 0;
    const std::string first = system.choice().method;
    auto result = system.solve(b, x, {.method = "auto", .rtol = 1e-10, .monitor = [&](const IterationInfo& info) {
                                          EXPECT_GE(info.iteration, last);
                                          last = info.iteration;
                                          ++seen;
                                          return true;
                                      }});
    EXPECT_TRUE(result.converged()) << name(result.status);
    EXPECT_LE(result.relative_residual(), 1e-10);
    EXPECT_EQ(seen, result.iterations + 1);
    EXPECT_EQ(system.choice().changes.empty(), first != "cg");
    EXPECT_NE(system.choice().method, "cg");
    for (const auto& other : system.choice().runners_up) {
        const auto& [method, precond] = std::pair(other.step.method, other.step.precond);
        EXPECT_TRUE(first != "cg" || other.left || (!method.ends_with("cg") && !precond.ends_with("cholesky")))
            << method << " with " << precond;
    }
    // Once more: what was found is begun with.
    std::ranges::fill(x, 0.0);
    auto again = system.solve(b, x, {.method = "auto", .rtol = 1e-10});
    EXPECT_TRUE(again.converged());
    EXPECT_TRUE(system.choice().changes.empty());
}

TEST(Choice, ATrialShowsWhatIsNotDefinite) {
    MpiComm mpi;
    LatencyComm comm(mpi, parse_latency("20ms"));
    auto system = not_definite(comm, {.precond = "auto", .machine = slow_network(), .trial_budget = 0.9});
    EXPECT_NE(system.choice().method, "cg");
    ASSERT_FALSE(system.choice().trials.empty());
    EXPECT_NE(system.choice().trials.back().find("not definite"), std::string::npos) << system.choice().trials.back();
}

TEST(Choice, TriesWithinItsBudget) {
    MpiComm comm;
    const auto choice = [&](double budget) {
        const auto system = LinearSystem::load(comm, "poisson2d:40",
                                               {.precond = "auto", .machine = slow_network(), .trial_budget = budget});
        for (const auto& trial : system.choice().trials) EXPECT_EQ(trial, broadcast(comm, trial, 0));
        return system.choice();
    };
    EXPECT_TRUE(choice(0).trials.empty());
    EXPECT_TRUE(choice(1e-4).trials.empty());
    EXPECT_FALSE(choice(0.5).trials.empty());
}

TEST(Choice, FindsOutHowReductionsAdvanceWhereThatPays) {
    MpiComm comm;
    if (comm.size() > 2) GTEST_SKIP() << "the probe takes long where ranks share cores";
    const auto told = [&](SystemOptions options) {
        options.precond = "auto";
        auto system = LinearSystem::load(comm, "poisson2d:40", std::move(options));
        (void)system.solver({.method = "auto"});
        return std::ranges::count_if(system.choice().trials, [](const std::string& trial) {
            return trial.find("progress mode") != std::string::npos;
        });
    };
    EXPECT_EQ(told({.probe = true}), 0);  // it takes longer than this solve
    EXPECT_EQ(told({.trial_budget = 1e9}), 0);
    EXPECT_EQ(told({.trial_budget = 1e9, .probe = true}), comm.size() > 1 ? 1 : 0);
}

/// A diagonal and one entry beside it.
LinearSystem bidiagonal(Comm& comm, double diagonal, SystemOptions options) {
    constexpr Global n = 2000;
    std::vector<Entry<double>> entries;
    if (comm.rank() == 0)
        for (Global i = 0; i < n; ++i) {
            entries.push_back({i, i, diagonal});
            entries.push_back({i, (i * 7 + 1) % n, 1});
        }
    return LinearSystem::from_entries(comm, n, std::move(entries), std::move(options));
}

TEST(Choice, KnowsADiagonalThatOutweighsTheRest) {
    MpiComm comm;
    const auto by = [&](double diagonal) {
        return bidiagonal(comm, diagonal, {.precond = "auto", .machine = slow_network(), .trial_budget = 0})
            .choice()
            .expected;
    };
    EXPECT_LT(by(1000).iterations, 20);
    const auto weaker = by(1.5);
    EXPECT_TRUE(weaker.step.precond != "jacobi" || weaker.iterations > 20) << weaker.iterations;
}

/// Each row couples with some twenty neighbours, in no order, and its diagonal outweighs none of them: nothing solves
/// with it but by chance.
LinearSystem scattered(Comm& comm, SystemOptions options) {
    constexpr Global n = 8000, couplings = 24, width = 120;
    std::vector<Entry<double>> entries;
    if (comm.rank() == 0)
        for (Global i = 0; i < n; ++i) {
            entries.push_back({i, i, 1});
            for (Global k = 1; k < couplings; ++k)
                entries.push_back(
                    {i, (i + (i * 131 + k * k * 17) % width - width / 2 + n) % n, uniform(9, i, static_cast<int>(k))});
        }
    return LinearSystem::from_entries(comm, n, std::move(entries), std::move(options));
}

TEST(Choice, CountsFactorsWhileAnAttemptGetsNowhere) {
    MpiComm comm;
    auto system = scattered(comm, {.precond = "auto", .machine = slow_network(), .trial_budget = 1e-6});
    const auto counted = [&] {
        return std::ranges::count_if(system.choice().trials,
                                     [](const std::string& trial) { return trial.starts_with("complete factors: "); });
    };
    EXPECT_EQ(counted(), 0);
    std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1), x(b.size());
    system.solve(b, x, {.method = "auto", .max_iterations = 400});
    EXPECT_LE(counted(), 1);
    // On several ranks, overlapping blocks may come before a direct solve.
    if (comm.size() == 1) {
        EXPECT_EQ(counted(), 1);
    }
    for (const auto& trial : system.choice().trials) EXPECT_EQ(trial, broadcast(comm, trial, 0));
}

TEST(Choice, APreconditionerIsMadeForTheMethodThatFollows) {
    MpiComm comm;
    auto machine = slow_network();
    machine.model.all_reduce = PowerLaw{.c0 = 1e-7, .c1 = 0, .n0 = 0, .n1 = 0};
    auto system =
        LinearSystem::load(comm, "poisson3d:12", {.precond = "auto", .methods = {"auto"}, .machine = machine});
    ASSERT_TRUE(system.choice().method.ends_with("cg")) << system.choice().method;
    const std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1);
    int unsymmetric = 0;  // which CG would refuse
    for (const auto& tried : system.trials({b.data(), system.local_rows(), 1}, 3, 1e-8)) {
        EXPECT_EQ(tried.ended.find("needs a"), std::string::npos) << tried.step.precond << ": " << tried.ended;
        unsymmetric += tried.step.precond == "block_jacobi:ilut";
    }
    EXPECT_EQ(unsymmetric, 1);
}

TEST(Choice, CountsTheFactorsOfADirectSolve) {
    MpiComm mpi;
    LatencyComm comm(mpi, parse_latency("20ms"));
    const auto system = not_definite(comm, {.precond = "auto", .machine = slow_network(), .trial_budget = 0.9});
    const auto& trials = system.choice().trials;
    ASSERT_FALSE(trials.empty());
    // A tridiagonal matrix of 300 rows: no fill, an entry of L in each row but the first of a rank.
    const int rows = (300 + comm.size() - 1) / comm.size();
    const auto expected = fmt::format("complete factors: {} entries", 2 * comm.size() * (rows - 1));
    EXPECT_EQ(trials.front().substr(0, expected.size()), expected);
}

/// Iterations that are assumed before anything has run.
double assumed(Comm& comm, const std::string& problem, const std::string& precond) {
    const auto system = LinearSystem::load(comm, problem, {.precond = "auto", .machine = slow_network()});
    const auto& choice = system.choice();
    if (choice.expected.step.precond == precond) return choice.expected.iterations;
    for (const auto& other : choice.runners_up)
        if (other.step.precond == precond) return other.iterations;
    ADD_FAILURE() << precond << " is not among what may solve " << problem;
    return 1;
}

TEST(Choice, ExpectsMoreOfIncompleteFactorsWhereRowsCoupleAlongLines) {
    MpiComm comm;
    const auto gain = [&](const std::string& problem) {
        return assumed(comm, problem, "none") /
               assumed(comm, problem, "block_jacobi:ic0");  // their diagonal is constant
    };
    EXPECT_GT(gain("aniso2d:60"), 2 * gain("poisson2d:60"));
    EXPECT_GT(gain("poisson2d:60"), 1.5);
}

TEST(Choice, LooksForLinesAndHubs) {
    MpiComm comm;
    const auto structure = [&](Global n, const auto& row) {
        std::vector<Entry<double>> entries;
        if (comm.rank() == 0)
            for (Global i = 0; i < n; ++i) row(i, entries);
        return LinearSystem::from_entries(comm, n, std::move(entries), {.precond = "jacobi"}).structure();
    };
    constexpr Global n = 200;
    const auto tridiagonal = structure(n, [](Global i, auto& entries) {
        entries.push_back({i, i, 4});
        if (i > 0) entries.push_back({i, i - 1, -1});
        if (i + 1 < n) entries.push_back({i, i + 1, -1});
    });
    EXPECT_DOUBLE_EQ(tridiagonal.pair_share, 1);
    EXPECT_EQ(tridiagonal.longest_row, 2);
    EXPECT_FALSE(tridiagonal.has_hubs());
    const auto star = structure(n, [](Global i, auto& entries) {
        entries.push_back({i, i, 400});
        if (i > 0) entries.push_back({i, 0, -1});
        if (i > 0) entries.push_back({0, i, -1});
    });
    EXPECT_EQ(star.longest_row, n - 1);
    EXPECT_TRUE(star.has_hubs());
    EXPECT_NEAR(star.pair_share, (n - 1 + 2.0 / (n - 1)) / n, 1e-12);
}

TEST(Choice, TakesTheLatencyFromAnEmulatedNetwork) {
    MpiComm mpi;
    LatencyComm comm(mpi, parse_latency("2ms"));
    auto system = LinearSystem::load(comm, "poisson2d:20", {.precond = "auto"});
    EXPECT_NEAR(system.choice().parts.reduction, 2e-3, 1e-9);
    EXPECT_EQ(system.choice().parts.remains, 0);
}

TEST(Choice, DepthIsRefusedWhereThereIsNone) {
    MpiComm comm;
    auto system = LinearSystem::load(comm, "poisson2d:8", {.precond = "jacobi"});
    EXPECT_THROW(system.solver({.method = "cg:l=auto"}), InputError);
    EXPECT_THROW(system.solver({.method = "deep_pipelined_cg:warmup=auto"}), InputError);
    EXPECT_NO_THROW(system.solver({.method = "deep_pipelined_cg:l=auto"}));
}

}  // namespace
}  // namespace stretto
