// SPDX-License-Identifier: BSD-3-Clause
// Snapshots of a solve: that one goes on from them as if nothing had happened, and that files hold them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "stretto/core/parallel.hpp"
#include "stretto/io/checkpoint_file.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/system/complex_system.hpp"
#include "stretto/system/linear_system.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

constexpr auto random_values = [](Global row, int j) { return uniform(5, row, j); };

/// Keeps the last snapshot.
struct InMemory final : Checkpoint {
    std::string save(const Snapshot& snapshot) override {
        kept = snapshot;
        ++times;
        return {};
    }
    Snapshot kept;
    int times = 0;
};

/// Methods of which a snapshot has all that an iteration begins with; the others go on in the same Krylov space, or
/// from where they restart.
bool goes_on_exactly(const Method& method) {
    for (const auto* name : {"cg", "single_reduction_cg", "pipelined_cg", "predict_and_recompute_cg", "minres",
                             "bicgstab", "reordered_bicgstab"})
        if (method.name == name) return true;
    return false;
}

/// A file's name, the same on all ranks, in the folder of the test.
std::string file_for(const MpiComm& comm, const std::string& what) {
    return fmt::format("checkpoint_{}_{}.bin", what, comm.size());
}

struct CheckpointTest : testing::TestWithParam<const Method*> {
    MpiComm comm;
    const Method& method = *GetParam();
    std::string spec = std::string(method.name) + (method.classic == "gmres" ? ":m=20" : "");

    SolveOptions options() const {
        SolveOptions o;
        o.method = spec;
        return o;
    }
};

TEST_P(CheckpointTest, ASolveGoesOnAsIfNothingHadHappened) {
    const auto A = problem(comm, "jump2d:40x41,contrast=10");
    const Jacobi M(A);
    for (const int columns : {1, 3})
        for (const bool preconditioned : {false, true}) {
            SCOPED_TRACE(fmt::format("{} columns, {}", columns, preconditioned ? "jacobi" : "none"));
            const auto by = preconditioned ? AnyOperator<double>(M) : AnyOperator<double>();
            Values b(A, columns, random_values), x(A, columns);
            const auto whole = solve<double>(comm, A, by, b.view(), x.view(), options());
            ASSERT_TRUE(whole.converged());

            InMemory checkpoint;
            checkpoint.iterations = 21;
            auto broken_off = options();
            broken_off.checkpoint = &checkpoint;
            broken_off.max_iterations = whole.iterations * 2 / 3;
            std::ranges::fill(x.view().values(), 0.0);
            const auto first = solve<double>(comm, A, by, b.view(), x.view(), broken_off);
            EXPECT_FALSE(first.converged());
            ASSERT_GT(checkpoint.times, 0);
            EXPECT_TRUE(checkpoint.kept.loop == method.name || method.hands_over) << checkpoint.kept.loop;
            const int kept_after = checkpoint.kept.iteration;
            EXPECT_GE(kept_after, 21);
            EXPECT_LE(kept_after, broken_off.max_iterations);

            InMemory again;
            again.from = checkpoint.kept;
            auto goes_on = options();
            goes_on.checkpoint = &again;
            std::ranges::fill(x.view().values(), 7.0);
            const auto second = solve<double>(comm, A, by, b.view(), x.view(), goes_on);
            EXPECT_TRUE(second.converged());
            EXPECT_FALSE(again.from.has_value());
            EXPECT_EQ(second.resumed_after, kept_after);
            for (const double residual : true_residuals(A, b, x)) EXPECT_LE(residual, 1e-8);
            if (goes_on_exactly(method)) {
                EXPECT_EQ(second.iterations, whole.iterations);
            } else {
                EXPECT_LE(second.iterations, 1.2 * whole.iterations + 20);
                EXPECT_GT(second.iterations, kept_after);
            }
        }
}

TEST_P(CheckpointTest, AnInterruptedSolveLeavesOne) {
    const auto A = problem(comm, "jump2d:40x41,contrast=10");
    InMemory checkpoint;
    auto o = options();
    o.checkpoint = &checkpoint;
    o.monitor = [](const IterationInfo& info) { return info.iteration < 40; };
    Values b(A, 1, random_values), x(A, 1);
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), o);
    EXPECT_EQ(result.status, Status::interrupted);
    EXPECT_EQ(checkpoint.times, 1);
    EXPECT_GT(checkpoint.kept.iteration, 0);
    EXPECT_LE(checkpoint.kept.iteration, result.iterations);
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointTest, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& tested) { return std::string(tested.param->name); });

struct Checkpoints : testing::Test {
    MpiComm comm;
    SolveOptions options(Checkpoint& checkpoint, int limit = 100000) const {
        SolveOptions o;
        o.method = "pipelined_cg";
        o.checkpoint = &checkpoint;
        o.max_iterations = limit;
        return o;
    }
    void remove(const std::string& path) const {
        if (comm.rank() == 0) std::filesystem::remove(path);
        MPI_Barrier(comm.mpi());
    }
};

TEST_F(Checkpoints, RankZerosClockIsWhatCounts) {
    const auto A = problem(comm, "jump2d:40x41,contrast=10");
    InMemory checkpoint;
    checkpoint.seconds = 0;
    Values b(A, 1, random_values), x(A, 1);
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), options(checkpoint));
    EXPECT_TRUE(result.converged());
    EXPECT_GT(checkpoint.times, result.iterations / 4);
    EXPECT_EQ(all_min(comm, Global{checkpoint.times}), all_max(comm, Global{checkpoint.times}));
}

TEST_F(Checkpoints, AnotherPreconditionerGoesOnFromXAlone) {
    const auto A = problem(comm, "jump2d:40x41,contrast=1000");
    const Jacobi M(A);
    InMemory checkpoint;
    checkpoint.iterations = 60;
    Values b(A, 1, random_values), x(A, 1);
    (void)solve<double>(comm, A, Identity{}, b.view(), x.view(), options(checkpoint, 70));
    InMemory other;
    other.precond = "jacobi";
    other.from = checkpoint.kept;
    const auto result = solve<double>(comm, A, M, b.view(), x.view(), options(other));
    EXPECT_TRUE(result.converged());
    EXPECT_EQ(result.resumed_after, 60);
    // As one does that has never heard of more.
    std::ranges::copy(checkpoint.kept.vectors.front(), x.view().values().begin());
    SolveOptions anew;
    anew.method = "pipelined_cg";
    EXPECT_EQ(result.iterations, 60 + solve<double>(comm, A, M, b.view(), x.view(), anew).iterations);
}

TEST_F(Checkpoints, OfAnotherSystemIsRefused) {
    const auto A = problem(comm, "poisson2d:12");
    Values b(A, 1, random_values), x(A, 1);
    Snapshot other, columns, complex;
    other.vectors = {std::vector<double>(3)};
    columns.vectors = complex.vectors = {std::vector<double>(b.view().size())};
    columns.columns = 2;
    complex.is_complex = true;
    for (const auto& from : {other, columns, complex}) {
        InMemory checkpoint;
        checkpoint.from = from;
        EXPECT_THROW((void)solve<double>(comm, A, Identity{}, b.view(), x.view(), options(checkpoint)), InputError);
    }
}

// What is done every so many iterations is done where it would have been, and as often as it may.
TEST_F(Checkpoints, SafeguardsGoOn) {
    for (const auto* method : {"pipelined_cg", "reordered_bicgstab:refresh=30"}) {
        const auto A = problem(comm, *method == 'p' ? "jump2d:50" : "poisson2d:60");
        const Jacobi M(A);
        SolveOptions o;
        o.method = method;
        Values b(A, 1, random_values), whole(A, 1), x(A, 1);
        const auto all = solve<double>(comm, A, M, b.view(), whole.view(), o);
        ASSERT_TRUE(all.converged());
        const auto replaced = [](const Event& event) { return event.text == "residual replaced"; };
        if (*method == 'p') {
            EXPECT_GT(std::ranges::count_if(all.events, replaced), 0);
        }
        for (const int every : {17, 30}) {
            InMemory checkpoint;
            checkpoint.iterations = every;
            o.checkpoint = &checkpoint;
            o.max_iterations = all.iterations - 10;
            std::ranges::fill(x.view().values(), 0.0);
            (void)solve<double>(comm, A, M, b.view(), x.view(), o);
            checkpoint.from = checkpoint.kept;
            o.max_iterations = 100000;
            const auto rest = solve<double>(comm, A, M, b.view(), x.view(), o);
            EXPECT_EQ(rest.iterations, all.iterations) << method;
            EXPECT_TRUE(std::ranges::equal(x.view().values(), whole.view().values())) << method << ", every " << every;
        }
    }
}

TEST_F(Checkpoints, AFullDiskLeavesTheOneBefore) {
    const auto path = file_for(comm, "full");
    CheckpointFile file(comm, path);
    Snapshot snapshot;
    snapshot.vectors = {std::vector<double>(1000, 1.0 + comm.rank())};
    snapshot.iteration = 1;
    ASSERT_EQ(file.save(snapshot), "");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit little = before;
    little.rlim_cur = 2000;
    setrlimit(RLIMIT_FSIZE, &little);
    snapshot.iteration = 2;
    const auto failed = file.save(snapshot);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_NE(failed.find("cannot write " + path), std::string::npos) << failed;
    EXPECT_EQ(file.saved(), 1);
    EXPECT_EQ(read_checkpoint(comm, path, 1000).iteration, 1);
    EXPECT_FALSE(std::filesystem::exists(path + ".part"));
    remove(path);
}

TEST_F(Checkpoints, WhatCannotBeKeptIsSaidAndTheSolveGoesOn) {
    const auto A = problem(comm, "jump2d:40x41,contrast=10");
    CheckpointFile checkpoint(comm, "no_such_folder/file");
    checkpoint.iterations = 20;
    Values b(A, 1, random_values), x(A, 1);
    const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), options(checkpoint));
    EXPECT_TRUE(result.converged());
    EXPECT_EQ(checkpoint.saved(), 0);
    ASSERT_FALSE(result.events.empty());
    EXPECT_NE(result.events.front().text.find("no checkpoint: cannot write no_such_folder/file"), std::string::npos);
}

TEST_F(Checkpoints, AFileHoldsWhatWasKept) {
    const auto path = file_for(comm, "held");
    const Index rows = comm.rank() == comm.size() - 1 && comm.size() > 1 ? 0 : 5 + comm.rank();
    Snapshot snapshot{"cg:x=1", "jacobi", "cg", 17, 2, 9, true, {}, {0.1, -3e-300, 7}, {3, -1}, 2, true};
    for (int k = 0; k < 3; ++k) {
        snapshot.vectors.emplace_back();
        for (Index i = 0; i < 2 * rows; ++i) snapshot.vectors.back().push_back(uniform(k, comm.rank(), i));
    }
    CheckpointFile file(comm, path);
    for (int again = 0; again < 2; ++again) EXPECT_EQ(file.save(snapshot), "");
    EXPECT_EQ(file.saved(), 2);
    const auto read = read_checkpoint(comm, path, rows);
    EXPECT_EQ(read.method, snapshot.method);
    EXPECT_EQ(read.precond, snapshot.precond);
    EXPECT_EQ(read.loop, snapshot.loop);
    EXPECT_EQ(read.iteration, 17);
    EXPECT_EQ(read.run, 2);
    EXPECT_EQ(read.done, 9);
    EXPECT_TRUE(read.has_directions && read.is_complex);
    EXPECT_EQ(read.columns, 2);
    EXPECT_EQ(read.counts, snapshot.counts);
    EXPECT_EQ(read.vectors, snapshot.vectors);
    EXPECT_EQ(read.scalars, snapshot.scalars);

    // Cut off, of other rows, something else, not there.
    MPI_Barrier(comm.mpi());
    if (comm.rank() == 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
    MPI_Barrier(comm.mpi());
    EXPECT_THROW((void)read_checkpoint(comm, path, rows), InputError);
    EXPECT_THROW((void)read_checkpoint(comm, path, rows + 1000), InputError);
    MPI_Barrier(comm.mpi());
    if (comm.rank() == 0) std::ofstream(path) << "%%MatrixMarket\n";
    MPI_Barrier(comm.mpi());
    EXPECT_THROW((void)read_checkpoint(comm, path, rows), InputError);
    remove(path);
    EXPECT_THROW((void)read_checkpoint(comm, path, rows), InputError);
}

TEST_F(Checkpoints, RowsThatMovedAreWhereTheUserHasThem) {
    LinearSystem system = LinearSystem::load(comm, "jump2d:40x41,contrast=10", {.precond = "jacobi", .prepare = "rcm"});
    LinearSystem plain = LinearSystem::load(comm, "jump2d:40x41,contrast=10", {.precond = "jacobi"});
    std::vector<double> b(static_cast<std::size_t>(system.local_rows()));
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = uniform(5, system.partition().first(comm.rank()) + static_cast<Global>(i), 0);
    std::vector<double> x(b.size()), x_of_plain(b.size());
    const auto whole = system.solve(b, x, {.method = "cg"});
    InMemory checkpoint;
    checkpoint.iterations = 30;
    (void)system.solve(b, x, {.method = "cg", .max_iterations = 31, .zero_guess = true, .checkpoint = &checkpoint});
    (void)plain.solve(b, x_of_plain, {.method = "cg", .max_iterations = 30});
    ASSERT_EQ(checkpoint.kept.vectors.front().size(), x_of_plain.size());
    for (std::size_t i = 0; i < b.size(); ++i)
        EXPECT_NEAR(checkpoint.kept.vectors.front()[i], x_of_plain[i], 1e-8 * std::abs(x_of_plain[i]) + 1e-10);
    checkpoint.from = checkpoint.kept;
    EXPECT_EQ(system.solve(b, x, {.method = "cg", .checkpoint = &checkpoint}).iterations, whole.iterations);
}

TEST_F(Checkpoints, ComplexSystemsGoOnToo) {
    for (const auto* method : {"cg", "bicgstab"}) {
        auto problem = load_complex_problem(comm, "magnetic2d:30", 1);
        const Partition partition = problem.partition;
        const ComplexSystem system(comm, std::move(problem), {.precond = "jacobi"});
        const Index rows = partition.rows(comm.rank());
        using Complex = std::complex<double>;
        std::vector<Complex> b(static_cast<std::size_t>(rows)), x(b.size());
        for (Index i = 0; i < rows; ++i)
            b[static_cast<std::size_t>(i)] = {uniform(5, partition.first(comm.rank()) + i, 0), 1};
        const MultiVector<const Complex> of(b.data(), rows, 1);
        const MultiVector<Complex> to(x.data(), rows, 1);
        const auto whole = system.solve(of, to, {.method = method});
        ASSERT_TRUE(whole.converged());
        InMemory checkpoint;
        checkpoint.iterations = 10;
        (void)system.solve(of, to,
                           {.method = method, .max_iterations = 15, .zero_guess = true, .checkpoint = &checkpoint});
        checkpoint.from = checkpoint.kept;
        const auto rest = system.solve(of, to, {.method = method, .checkpoint = &checkpoint});
        EXPECT_TRUE(rest.converged());
        EXPECT_EQ(rest.iterations, whole.iterations) << method;
    }
}

TEST(CheckpointSpec, SaysWhereAndHowOften) {
    EXPECT_EQ(parse_checkpoint("a,b.bin").path, "a,b.bin");
    EXPECT_EQ(parse_checkpoint("a").seconds, 600);
    EXPECT_EQ(parse_checkpoint("a,every=90s").seconds, 90);
    EXPECT_EQ(parse_checkpoint("a,every=0.5h").seconds, 1800);
    EXPECT_EQ(parse_checkpoint("a,every=500it").iterations, 500);
    EXPECT_EQ(parse_checkpoint("a,every=70").iterations, 70);
    for (const auto* wrong : {"", ",every=1s", "a,every=", "a,every=5.5", "a,every=-1s", "a,every=0it", "a,every=1.5it",
                              "a,every=nans", "a,every=5 min", "a,", "a,evry=5", "a,every=5,every=6", "a,b=1,every=5"})
        EXPECT_THROW((void)parse_checkpoint(wrong), InputError) << wrong;
}

}  // namespace
