// SPDX-License-Identifier: BSD-3-Clause
// The solver that stays: what a second solve does not do again, what it keeps, and what may be asked of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "allocations.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };
constexpr auto other_values = [](Global row, int j) { return uniform(6, row, j); };

std::string problem_for(const Method& method) {
    return method.needs != Needs::any ? "jump2d:23x31,contrast=100" : "convdiff2d:23x31,peclet=30";
}

/// Every test here runs for every method of the registry.
struct SolverTest : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();

    SolveOptions options() const {
        SolveOptions o;
        o.method = method.name;
        o.history = true;
        return o;
    }
};

TEST_P(SolverTest, ASecondSolveAllocatesNothing) {
    if (comm.size() > 1) GTEST_SKIP() << "MPI allocates for its requests";
    const auto A = problem(comm, problem_for(method));
    const Jacobi M(A);
    for (const int columns : {1, 3}) {
        Solver<double> solver(comm, A, M, A.local_rows(), columns, options());
        Values b(A, columns, random_values), x(A, columns);
        ASSERT_TRUE(solver.solve(b.view(), x.view()).converged());
        for (int again = 0; again < 3; ++again) {
            std::ranges::fill(x.view().values(), 0.0);
            const auto before = allocations.load();
            const auto& result = solver.solve(b.view(), x.view());
            const auto allocated = allocations.load() - before;
            EXPECT_TRUE(result.converged());
            // Events are texts, and what is said of one is not kept.
            if (again > 0 && result.events.empty()) {
                EXPECT_EQ(allocated, 0) << columns << " columns";
            }
        }
    }
}

TEST_P(SolverTest, PartsAddUpToTheSolve) {
    const auto A = problem(comm, problem_for(method));
    const Jacobi M(A);
    Solver<double> solver(comm, A, M, A.local_rows(), 3, options());
    Values b(A, 3, random_values), x(A, 3);
    for (int again = 0; again < 2; ++again) {
        std::ranges::fill(x.view().values(), 0.0);
        const auto& result = solver.solve(b.view(), x.view());
        Counts all, parts;
        for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard}) all += result.ledger.at(phase);
        int iterations = 0;
        double seconds = 0;
        for (const auto& part : result.parts) {
            EXPECT_EQ(part.loop.empty(), part.iterations == 0) << part.loop;
            parts += part.counts;
            iterations += part.iterations;
            seconds += part.seconds;
        }
        EXPECT_EQ(iterations, result.iterations);
        EXPECT_EQ(parts.applies, all.applies);
        EXPECT_EQ(parts.preconditionings, all.preconditionings);
        EXPECT_EQ(parts.reductions, all.reductions);
        EXPECT_EQ(parts.hidden_reductions, all.hidden_reductions);
        EXPECT_NEAR(seconds, result.solve_seconds, 0.1 * result.solve_seconds);
    }
}

TEST_P(SolverTest, WhatAnEarlierSolveLeftChangesNothing) {
    const auto A = problem(comm, problem_for(method));
    const Jacobi M(A);
    for (const int columns : {1, 3})
        for (const bool preconditioned : {false, true}) {
            const AnyOperator<double> inverse = preconditioned ? AnyOperator<double>(M) : AnyOperator<double>();
            Values b(A, columns, random_values), other(A, columns, other_values), x(A, columns), y(A, columns);
            Solver<double> fresh(comm, A, inverse, A.local_rows(), columns, options()),
                used(comm, A, inverse, A.local_rows(), columns, options());
            const auto expected = fresh.solve(b.view(), x.view());
            (void)used.solve(other.view(), y.view());
            used.forget();
            std::ranges::fill(y.view().values(), 0.0);
            const auto& result = used.solve(b.view(), y.view());
            EXPECT_EQ(result.history, expected.history);
            EXPECT_EQ(result.iterations, expected.iterations);
            EXPECT_TRUE(std::ranges::equal(x.view().values(), y.view().values()));
            EXPECT_EQ(result.ledger.at(Phase::iteration).reductions, expected.ledger.at(Phase::iteration).reductions);
        }
}

TEST_P(SolverTest, ASolveThatBrokeDownSpoilsNoLaterOne) {
    const auto A = problem(comm, problem_for(method));
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 2, options());
    Values bad(A, 2, [](Global row, int) { return row == 3 ? std::numeric_limits<double>::quiet_NaN() : 1.0; }),
        b(A, 2, random_values), x(A, 2);
    EXPECT_EQ(solver.solve(bad.view(), x.view()).status, Status::not_finite);
    std::ranges::fill(x.view().values(), 0.0);
    EXPECT_TRUE(solver.solve(b.view(), x.view()).converged());
    for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1.0000001e-8);
}

TEST_P(SolverTest, FromZeroTheFirstResidualTakesNoProduct) {
    const auto A = problem(comm, problem_for(method));
    Values b(A, 1, random_values), x(A, 1);
    auto o = options();
    o.max_iterations = 0;
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 1, o);
    for (const double guess : {0.0, 1.0}) {
        std::ranges::fill(x.view().values(), guess);
        const auto& result = solver.solve(b.view(), x.view());
        EXPECT_EQ(result.ledger.at(Phase::setup).applies, guess == 0 ? 0 : 1);
        EXPECT_EQ(result.ledger.at(Phase::setup).reductions, guess == 0 ? 1 : 2);
        EXPECT_EQ(result.status, Status::max_iterations);
    }
    o.zero_guess = true;
    Solver<double> clears(comm, A, Identity{}, A.local_rows(), 1, o);
    const auto& result = clears.solve(b.view(), x.view());
    EXPECT_EQ(result.ledger.at(Phase::setup).applies, 0);
    EXPECT_EQ(x.view()(0), A.local_rows() > 0 ? 0.0 : x.view()(0));
}

TEST_P(SolverTest, TheMonitorSeesIterationZeroAndMayEndTheSolve) {
    const auto A = problem(comm, problem_for(method));
    Values b(A, 2, random_values), x(A, 2, other_values);
    const auto initial = true_residuals(A, b, x);  // relative
    for (const int last : {0, 1, 4}) {
        Values y = x;
        std::vector<int> seen;
        auto o = options();
        o.monitor = [&](const IterationInfo& info) {
            seen.push_back(info.iteration);
            EXPECT_EQ(info.residuals.size(), 2u);
            if (info.iteration == 0) {
                EXPECT_NEAR(info.relative_residual, std::max(initial[0], initial[1]), 1e-12);
            }
            return info.iteration < last;
        };
        const auto result = solve<double>(comm, A, Identity{}, b.view(), y.view(), o);
        EXPECT_EQ(result.status, Status::interrupted);
        ASSERT_EQ(static_cast<int>(seen.size()), last + 1);
        for (int k = 0; k <= last; ++k) EXPECT_EQ(seen[static_cast<std::size_t>(k)], k);
        EXPECT_EQ(result.iterations, last);
    }
}

TEST_P(SolverTest, TheMonitorIsToldTheResidualThatEndsTheSolve) {
    const auto A = problem(comm, problem_for(method));
    Values b(A, 2, random_values), x(A, 2);
    double last = 0, target = 0;
    auto o = options();
    o.monitor = [&](const IterationInfo& info) {
        last = info.relative_residual;
        target = info.target;
        return true;
    };
    EXPECT_TRUE(solve<double>(comm, A, Identity{}, b.view(), x.view(), o).converged());
    EXPECT_GT(last, 0);
    EXPECT_LE(last, target);
}

TEST_P(SolverTest, WhatNobodyRecomputedIsNotCalledVerified) {
    const auto A = problem(comm, problem_for(method));
    Values b(A, 1, random_values), x(A, 1), y(A, 1);
    auto o = options();
    const auto verified = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    o.verify = Verify::recurrence;
    o.iterate = Iterate::last;
    const auto believed = solve<double>(comm, A, Identity{}, b.view(), y.view(), o);
    EXPECT_TRUE(verified.verified);
    EXPECT_EQ(verified.status, Status::converged);
    EXPECT_FALSE(believed.verified);
    EXPECT_EQ(believed.status, Status::passed_unverified);
    EXPECT_FALSE(believed.converged());
    EXPECT_TRUE(believed.passed());
    EXPECT_LE(true_residuals(A, b, y)[0], 1e-6);
    const bool computes_itself = method.classic == "gmres";  // where a cycle ends
    EXPECT_EQ(believed.ledger.at(Phase::setup).applies + !computes_itself, verified.ledger.at(Phase::setup).applies);
}

TEST_P(SolverTest, SolvesWithTheTranspose) {
    const auto A = problem(comm, problem_for(method));
    const Jacobi M(A);
    Values b(A, 2, random_values), x(A, 2), Atx(A, 2);
    Solver<double> solver(comm, A, M, A.local_rows(), 2, options());
    const auto& result = solver.solve_transposed(b.view(), x.view());
    EXPECT_TRUE(result.converged());
    A.apply_transpose(x.view(), Atx.view());
    EXPECT_LE(distance(comm, Atx, b), 1e-6);
    std::ranges::fill(x.view().values(), 0.0);
    EXPECT_TRUE(solver.solve(b.view(), x.view()).converged());
    for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1.0000001e-8);
}

std::string method_name(const testing::TestParamInfo<const Method*>& info) { return std::string(info.param->name); }
/// Loops with their iterations and products, those of a warm-up marked.
std::string in_words(const std::vector<Part>& parts) {
    std::string text;
    for (const auto& part : parts)
        text += std::string(part.loop) + (part.warm_up ? " warm-up " : " ") + std::to_string(part.iterations) +
                " with " + std::to_string(part.counts.applies) + "; ";
    return text;
}

TEST(Parts, TellIterationsOfAPaperFromThoseBeforeAndFromOtherLoops) {
    MpiComm comm;
    Space<double> V(comm, 4, 1, 1, 1, Formulation::merged);
    Columns columns(1);
    Recorder<double> recorder(V.ledger(), columns);
    columns.reset(100);
    recorder.reset();
    const auto iterate = [&](int k, Phase phase, int products) {
        V.ledger().at(phase).applies += products;
        columns.go_to(k);
        recorder.iteration_done();
    };
    V.ledger().at(Phase::setup).applies += 1;
    columns.begin_run([](int) { return 1.0; });
    recorder.begin_run("one");
    iterate(1, Phase::setup, 1);
    iterate(2, Phase::setup, 1);
    iterate(3, Phase::iteration, 5);  // a block of three
    iterate(4, Phase::iteration, 0);
    iterate(5, Phase::iteration, 0);
    iterate(6, Phase::setup, 1);  // on the way back
    iterate(7, Phase::iteration, 1);
    V.ledger().at(Phase::safeguard).applies += 2;
    recorder.end_run();
    columns.begin_run([](int) { return 1.0; });
    recorder.begin_run("two");
    iterate(1, Phase::iteration, 1);
    recorder.end_run();
    V.ledger().at(Phase::setup).applies += 1;
    EXPECT_EQ(in_words(recorder.parts()), " 0 with 2; one warm-up 3 with 3; one 4 with 8; two 1 with 1; ");
}

TEST(Parts, OfClassicMethodsAreOneLoop) {
    MpiComm comm;
    const auto A = problem(comm, "poisson2d:20");
    for (const std::string method : {"cg", "bicgstab", "gmres"}) {
        Values b(A, 1, random_values), x(A, 1);
        const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), {.method = method});
        EXPECT_TRUE(result.converged()) << method;
        ASSERT_EQ(result.parts.size(), 2U) << method;
        EXPECT_EQ(result.parts[1].loop, method);
        EXPECT_EQ(result.parts[1].iterations, result.iterations);
        EXPECT_FALSE(result.parts[1].warm_up);
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, SolverTest, testing::ValuesIn(methods()), method_name);

struct OneSolver : testing::Test {
    MpiComm comm;
};

/// Hands no rows on, and has no transpose.
struct Plain {
    const CsrMatrix<double>* A;
    void apply(MultiVector<double> x, MultiVector<double> y) const { A->apply(x, y); }
    double bytes(int) const { return 0; }
};

TEST_F(OneSolver, RefusesOnAllRanksWhatOneRankBrings) {
    const auto A = problem(comm, "poisson2d:9x7");
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 1);
    Values b(A, 1, random_values), x(A, 1), two(A, 2);
    const bool mine = comm.rank() == comm.size() - 1 && A.local_rows() > 0;
    EXPECT_THROW(solver.solve(b.view(), mine ? b.view() : x.view()), InputError) << "x is b";
    EXPECT_THROW(solver.solve(mine ? two.view() : b.view(), x.view()), InputError) << "two columns";
    EXPECT_TRUE(solver.solve(b.view(), x.view()).converged()) << "and goes on afterwards";
    const Plain plain{&A};
    Solver<double> without(comm, plain, Identity{}, A.local_rows(), 1);
    EXPECT_THROW(without.solve_transposed(b.view(), x.view()), InputError);
    EXPECT_THROW(solver.set_tolerances(-1, 0, 10), InputError);
}

/// As docs/results.md has it.
TEST(Status, HasNumbersOfPetscAndSciPy) {
    using enum Status;
    for (const auto& [status, petsc, scipy] : {std::tuple(converged, 2, 0),
                                               {least_squares, 1, 7},
                                               {passed_unverified, 2, 0},
                                               {max_iterations, -3, 7},
                                               {stagnated, -5, 7},
                                               {gave_up, -3, 7},
                                               {breakdown, -5, -10},
                                               {indefinite_matrix, -10, -10},
                                               {indefinite_preconditioner, -8, -10},
                                               {not_finite, -9, -10},
                                               {interrupted, -3, 7}}) {
        EXPECT_EQ(petsc_reason(status), petsc) << name(status);
        EXPECT_EQ(scipy_info(status, 7), scipy) << name(status);
    }
    EXPECT_EQ(scipy_info(gave_up, 0), 1) << "never that of convergence";
}

TEST_F(OneSolver, TakesOtherTolerances) {
    const auto A = problem(comm, "poisson2d:30");
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 1);
    Values b(A, 1, random_values), x(A, 1);
    const int loose = [&] {
        solver.set_tolerances(1e-2, 0, 1000);
        return solver.solve(b.view(), x.view()).iterations;
    }();
    solver.set_tolerances(1e-10, 0, 1000);
    const auto& result = solver.solve(b.view(), x.view());
    EXPECT_TRUE(result.converged());
    EXPECT_GT(result.iterations, loose / 2);
    EXPECT_LE(result.relative_residual(), 1e-10);
}

TEST_F(OneSolver, AGuessThatIsTheSolutionEndsAtOnce) {
    const auto A = problem(comm, "poisson2d:30");
    Solver<double> solver(comm, A, Identity{}, A.local_rows(), 1);
    Values b(A, 1, random_values), x(A, 1);
    ASSERT_TRUE(solver.solve(b.view(), x.view()).converged());
    const auto& again = solver.solve(b.view(), x.view());
    EXPECT_EQ(again.iterations, 0);
    EXPECT_EQ(again.status, Status::converged);
    EXPECT_TRUE(again.verified);
}

/// A matrix that counts how often it was asked for a residual in twice the precision.
struct CountsResiduals {
    const CsrMatrix<double>& A;
    int* residuals;

    void apply(MultiVector<double> x, MultiVector<double> y) const { A.apply(x, y); }
    void residual(MultiVector<double> b, MultiVector<double> x, MultiVector<double> r) const {
        ++*residuals;
        A.residual(b, x, r);
    }
    double bytes(int columns) const { return A.bytes(columns); }
};
struct WithNormBound : CountsResiduals {
    double bound;
    double norm_bound() const { return bound; }
};

TEST_F(OneSolver, ResidualsAreInTwiceThePrecisionWhereRoundingMayDecide) {
    const auto A = problem(comm, "poisson2d:30");
    Values b(A, 1, random_values);
    const auto asked = [&](const auto& op, double rtol, int& residuals) {
        Values x(A, 1);
        SolveOptions o;
        o.method = "gmres";  // which recomputes b − A x itself, last thing
        o.rtol = rtol;
        residuals = 0;
        EXPECT_TRUE(solve<double>(comm, op, Identity{}, b.view(), x.view(), o).converged());
        return residuals;
    };
    int residuals = 0;
    for (const double rtol : {1e-6, 1e-10}) {
        EXPECT_EQ(asked(WithNormBound{{A, &residuals}, A.norm_bound()}, rtol, residuals), 0);
        EXPECT_EQ(asked(WithNormBound{{A, &residuals}, 1e16}, rtol, residuals), 1);
        EXPECT_EQ(asked(CountsResiduals{A, &residuals}, rtol, residuals), 1) << "nothing is known of rounding";
    }
    EXPECT_GE(asked(WithNormBound{{A, &residuals}, A.norm_bound()}, 1e-14, residuals), 1);
}

TEST_F(OneSolver, KeepsShiftsFromSolveToSolve) {
    const auto A = problem(comm, "poisson2d:40");
    Values b(A, 1, random_values), x(A, 1);
    for (const std::string method : {"deep_pipelined_cg:l=2", "pipelined_gmres:l=2", "s_step_gmres:s=4"}) {
        SolveOptions o;
        o.method = method;
        Solver<double> solver(comm, A, Identity{}, A.local_rows(), 1, o);
        const auto blocking = [&] {
            std::ranges::fill(x.view().values(), 0.0);
            const auto& result = solver.solve(b.view(), x.view());
            EXPECT_TRUE(result.converged()) << method;
            return blocking_reductions(result);
        };
        const auto first = blocking(), second = blocking();
        EXPECT_LE(second, first) << method;  // what finds the shifts hides its reductions, too
        solver.forget();
        EXPECT_EQ(blocking(), first) << method;
    }
}

TEST_F(OneSolver, OneIterationOfCgTakesOneProductAndOneToVerify) {
    const auto A = problem(comm, "poisson2d:40");
    const Jacobi M(A);
    Values b(A, 1, random_values), x(A, 1);
    SolveOptions o;
    o.max_iterations = 1;
    o.zero_guess = true;
    for (const auto verify : {Verify::true_residual, Verify::recurrence}) {
        o.verify = verify;
        o.iterate = verify == Verify::recurrence ? Iterate::last : Iterate::best;
        Solver<double> solver(comm, A, M, A.local_rows(), 1, o);
        (void)solver.solve(b.view(), x.view());
        const auto& result = solver.solve(b.view(), x.view());
        Counts all = result.ledger.at(Phase::setup);
        all += result.ledger.at(Phase::iteration);
        const bool verified = verify == Verify::true_residual;
        EXPECT_EQ(all.applies, verified ? 2 : 1);
        EXPECT_EQ(all.preconditionings, 2);
        EXPECT_EQ(all.reductions, verified ? 5 : 4);  // ‖b‖, (r, M⁻¹r), two of the iteration; ‖b − Ax‖
        EXPECT_EQ(result.iterations, 1);
    }
}

}  // namespace
