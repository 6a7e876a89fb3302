// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>
#include <string>

#include "stretto/comm/collective.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/space.hpp"
#include "stretto/testing/chaotic_comm.hpp"
#include "stretto/testing/counting_comm.hpp"

using namespace stretto;

namespace {

struct SpaceTest : testing::Test {
    MpiComm mpi;
    // Rank r has r rows, so that rank 0 is empty.
    Index rows = mpi.rank();
    double total_rows = mpi.size() * (mpi.size() - 1) / 2.0;

    void fill(MultiVector<double> v, double value) { std::ranges::fill(v.values(), value); }
};

TEST_F(SpaceTest, SumsOverRanksPerColumn) {
    Space<double> V(mpi, rows, 3, 2, 1, Formulation::merged);
    auto [a, b] = vectors<2>(V);
    for (Index i = 0; i < rows; ++i)
        for (int j = 0; j < 3; ++j) a(i, j) = j + 1;
    fill(b, 2);
    auto [ab, bb] = V.start(dot(a, b), dot(b, b)).wait();
    for (int j = 0; j < 3; ++j) {
        EXPECT_DOUBLE_EQ(ab[j], 2 * (j + 1) * total_rows);
        EXPECT_DOUBLE_EQ(bb[j], 4 * total_rows);
    }
}

TEST_F(SpaceTest, ReductionsInFlightAreValuesInAnyOrderAndDepth) {
    ChaoticComm chaotic(mpi, 7);
    Space<double> V(chaotic, rows, 2, 1, 1, Formulation::merged);
    auto a = V.vector();
    std::deque<InFlight<double, 1>> in_flight;
    for (int i = 0; i < 20; ++i) {
        fill(a, i + 1);
        in_flight.push_back(V.start(dot(a, a)));
        if (in_flight.size() < 5) continue;
        auto [oldest] = in_flight.front().wait();
        in_flight.pop_front();
        EXPECT_DOUBLE_EQ(oldest[1], (i - 3) * (i - 3) * total_rows);
    }
    // What is left is dropped unread; its destructor waits.
}

TEST_F(SpaceTest, ASumIsReadOnce) {
    Space<double> V(mpi, rows, 1, 1, 1, Formulation::merged);
    auto a = V.vector();
    auto sum = V.start(dot(a, a));
    (void)sum.wait();
    EXPECT_THROW((void)sum.wait(), std::logic_error);
}

TEST_F(SpaceTest, AFrozenColumnHasNoDotProductsAnyMore) {
    Space<double> V(mpi, rows, 2, 1, 1, Formulation::merged);
    auto a = V.vector();
    fill(a, 1);
    auto early = V.start(dot(a, a));
    V.freeze(1);
    auto [before] = early.wait();
    auto [after] = V.start(dot(a, a)).wait();
    for (const auto& dots : {before, after}) {
        EXPECT_DOUBLE_EQ(dots[0], total_rows);
        EXPECT_EQ(dots[1], 0);
    }
}

TEST_F(SpaceTest, AnInterruptOnOneRankIsSeenByAllAtTheSameWait) {
    std::atomic<bool> flag{false};
    Space<double> V(mpi, rows, 1, 1, 1, Formulation::merged);
    V.watch(&flag);
    auto a = V.vector();
    (void)V.start(dot(a, a)).wait();
    EXPECT_FALSE(V.interrupted());
    if (mpi.rank() == mpi.size() - 1) flag = true;
    (void)V.start(dot(a, a)).wait();
    EXPECT_TRUE(V.interrupted());
}

TEST_F(SpaceTest, CountsReductionsHiddenOnlyBehindWork) {
    Space<double> V(mpi, rows, 1, 2, 1, Formulation::merged);
    auto [a, b] = vectors<2>(V);
    auto visible = V.start(dot(a, a));
    V.run(b <<= a + a);
    (void)visible.wait();
    EXPECT_EQ(V.ledger().now().hidden_reductions, 0);
    auto hidden = V.start(dot(a, a));
    V.ledger().work_done();
    (void)hidden.wait();
    EXPECT_EQ(V.ledger().now().hidden_reductions, 1);
    EXPECT_EQ(V.ledger().now().reductions, 2);
    EXPECT_EQ(V.ledger().now().vectors, (Traffic{3, 1}));
}

TEST_F(SpaceTest, VectorsTakenBackStayAsTheyAreUntilAllAreCleared) {
    for (const bool clear : {false, true}) {
        Space<double> V(mpi, 5, 1, 2, 1, Formulation::merged);
        fill(V.vector(), 3);
        V.take_back();
        if (clear) V.clear_workspace();
        EXPECT_EQ(V.vector()(4), clear ? 0 : 3);
    }
}

TEST_F(SpaceTest, ColumnsAreWrittenAloneAndRandomNumbersDependOnTheirPlace) {
    for (const int threads : {1, 2}) {
        const Index many = 7001 + mpi.rank();
        Space<double> V(mpi, many, 3, 2, threads, Formulation::merged);
        auto [a, b] = vectors<2>(V);
        V.fill_uniform(a, 5);
        fill(b, 1);
        V.copy_column(a, b, 1);
        V.clear_column(b, 2);
        for (Index i = 0; i < many; ++i) {
            ASSERT_EQ(a(i, 2), uniform(5, V.first_row() + i, 2));
            ASSERT_EQ(b(i, 0), 1);
            ASSERT_EQ(b(i, 1), a(i, 1));
            ASSERT_EQ(b(i, 2), 0);
        }
        V.clear(a);
        for (const double value : a.values()) ASSERT_EQ(value, 0);
    }
}

TEST_F(SpaceTest, TheLargestOfEachColumnIsThatOfAllRanksAndThreads) {
    for (const int threads : {1, 2}) {
        const Index many = 9001;
        Space<double> V(mpi, many, 3, 1, threads, Formulation::merged);
        auto a = V.vector();
        fill(a, 0.5);
        a(many - 1, 0) = -2.0 - mpi.rank();
        if (mpi.rank() == mpi.size() - 1) a(17, 2) = NAN;
        EXPECT_EQ(V.largest(a), (std::vector<double>{1.0 + mpi.size(), 0.5, INFINITY}));
        // A number after it does not hide it.
        a(18, 2) = 1e300;
        EXPECT_EQ(V.largest(a)[2], INFINITY);
    }
}

TEST_F(SpaceTest, KnowsItsFirstRowAndRefusesMoreVectorsThanItHas) {
    Space<double> V(mpi, rows, 1, 1, 1, Formulation::merged);
    EXPECT_EQ(V.first_row(), Global{mpi.rank()} * (mpi.rank() - 1) / 2);
    (void)V.vector();
    EXPECT_THROW((void)V.vector(), std::length_error);
}

TEST(Workspace, StaggersItsVectorsAndZeroesThem) {
    Workspace<double> workspace(4096, 1, 12, 2);
    std::vector<std::uintptr_t> starts;
    for (int k = 0; k < 12; ++k) {
        auto v = workspace.take();
        for (const double value : v.values()) ASSERT_EQ(value, 0);
        starts.push_back(reinterpret_cast<std::uintptr_t>(v.data()));
        EXPECT_EQ(starts.back() % 64, 0u);
        v(17) = 1;
    }
    std::ranges::sort(starts, {}, [](std::uintptr_t start) { return start % 4096; });
    for (std::size_t k = 1; k < starts.size(); ++k) EXPECT_NE(starts[k] % 4096, starts[k - 1] % 4096);
    // Given back as they are, and handed out again in the same order.
    workspace.release();
    for (int k = 0; k < 12; ++k) EXPECT_EQ(workspace.take()(17), 1);
}

TEST(Comm, ChaosDeliversAtWaitAndNotBefore) {
    MpiComm mpi;
    ChaoticComm chaotic(mpi, 3);
    std::vector<double> mine{1, 2}, first(2), second(2);
    auto a = chaotic.start_sum(mine, first);
    mine = {10, 20};
    auto b = chaotic.start_sum(mine, second);
    mine = {0, 0};
    EXPECT_TRUE(std::isnan(first[0]) && std::isnan(second[1]));
    b.wait();
    EXPECT_TRUE(std::isnan(first[0]));
    EXPECT_EQ(second, (std::vector<double>{10.0 * mpi.size(), 20.0 * mpi.size()}));
    a.wait();
    EXPECT_EQ(first, (std::vector<double>{1.0 * mpi.size(), 2.0 * mpi.size()}));
}

TEST(Comm, CountsWhatPasses) {
    MpiComm mpi;
    CountingComm counting(mpi);
    std::vector<double> mine(3, 1.0), total(3);
    counting.start_sum(mine, total).wait();
    std::vector<std::byte> out(8), in(8);
    const int next = (mpi.rank() + 1) % mpi.size(), before = (mpi.rank() + mpi.size() - 1) % mpi.size();
    const Message receive{before, in}, send{next, out};
    counting.start_exchange({&receive, 1}, {&send, 1}).wait();
    counting.charge(100);
    EXPECT_EQ(counting.sums, 1);
    EXPECT_EQ(counting.summed_values, 3);
    EXPECT_EQ(counting.exchanges, 1);
    EXPECT_EQ(counting.messages_sent, 1);
    EXPECT_EQ(counting.bytes_sent, 8);
    EXPECT_EQ(counting.bytes_charged, 100);
    EXPECT_EQ(counting.most_in_flight, 1);
}

TEST(Comm, AnErrorOnOneRankEndsAllWithItsMessage) {
    MpiComm mpi;
    const int bad = mpi.size() - 1;
    try {
        agree(mpi, [&] {
            if (mpi.rank() == bad) throw InputError("row 7 is bad");
        });
        FAIL() << "nothing was thrown";
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(), "row 7 is bad");
    }
    agree(mpi, [] {});
}

TEST(Comm, AllToAllSendsToEachRankItsOwn) {
    MpiComm mpi;
    std::vector<std::vector<int>> to(static_cast<std::size_t>(mpi.size()));
    for (int p = 0; p < mpi.size(); ++p)
        to[static_cast<std::size_t>(p)].assign(static_cast<std::size_t>(p), mpi.rank());
    const auto from = all_to_all(mpi, to);
    for (int p = 0; p < mpi.size(); ++p)
        EXPECT_EQ(from[static_cast<std::size_t>(p)], std::vector<int>(static_cast<std::size_t>(mpi.rank()), p));
}

/// Whether the kernel was asked for huge pages where `data` lies; by /proc/self/smaps, whose VmFlags then have "hg".
bool asked_for_huge_pages(const void* data) {
    std::ifstream maps("/proc/self/smaps");
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-')
            here = begin <= reinterpret_cast<std::uintptr_t>(data) && reinterpret_cast<std::uintptr_t>(data) < end;
        if (here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
    }
    return false;
}

TEST(BufferTest, LargeOnesAskForHugePagesUnlessToldNotTo) {
    constexpr std::size_t size = std::size_t{1} << 22;
    setenv("STRETTO_HUGE_PAGES", "0", 1);
    {
        // First, for memory that was asked for so may come back.
        const Buffer<double> buffer(size);
        buffer[0] = 1;
        EXPECT_FALSE(asked_for_huge_pages(buffer.data() + size / 2));
    }
    unsetenv("STRETTO_HUGE_PAGES");
    const Buffer<double> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (std::size_t{1} << 21), 0U);
    buffer[0] = 1;
    EXPECT_TRUE(asked_for_huge_pages(buffer.data() + size / 2));
}

}  // namespace
