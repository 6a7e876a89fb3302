// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "stretto/comm/latency_comm.hpp"
#include "stretto/core/error.hpp"
#include "stretto/testing/chaotic_comm.hpp"
#include "systems.hpp"

using namespace stretto;
using namespace std::chrono_literals;

namespace {

/// A matrix whose product takes at least so long, without computing: it does so on a busy machine, too.
class SlowMatrix {
public:
    SlowMatrix(const CsrMatrix<double>& A, Clock::duration time) : A_(A), time_(time) {}
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        const auto end = Clock::now() + time_;
        A_.apply(x, y);
        std::this_thread::sleep_until(end);
    }
    double bytes(int columns) const { return A_.bytes(columns); }

private:
    const CsrMatrix<double>& A_;
    Clock::duration time_;
};

/// Per iteration, seconds.
struct Times {
    double lost, hidden_fraction;
};

/// What an iteration of a method loses to reductions that take `latency`, where a product takes `work`.
Times times(Comm& on, const std::string& method, Clock::duration latency, Clock::duration work) {
    LatencyComm comm(on, {.reduction = latency});
    const auto A = problem(comm, "poisson2d:12");
    const SlowMatrix slow(A, work);
    Values b(A, 1, [](Global row, int) { return uniform(5, row); }), x(A, 1);
    SolveOptions options;
    options.method = method;
    options.rtol = 0;
    options.max_iterations = 12;
    const auto result = solve<double>(comm, slow, Identity{}, b.view(), x.view(), options);
    return {all_max(comm, result.per_iteration.lost), all_min(comm, result.per_iteration.hidden_fraction)};
}

/// Other programs may disturb a measurement, but not every time.
template <class Measure, class Good>
void eventually(Comm& comm, Measure measure, Good good) {
    Times last{};
    for (int attempt = 0; attempt < 5; ++attempt) {
        last = measure();
        if (all_of(comm, good(last))) return;
    }
    ADD_FAILURE() << "lost " << 1e3 * last.lost << " ms per iteration, hidden " << last.hidden_fraction;
}

constexpr auto d = 20ms;
constexpr double d_seconds = 0.02;

TEST(EmulatedLatency, IsReadFromText) {
    const auto all = parse_latency("500us,message=1.5ms,jitter=20ns");
    EXPECT_EQ(all.reduction, 500us);
    EXPECT_EQ(all.message, 1500us);
    EXPECT_EQ(all.jitter, 20ns);
    EXPECT_EQ(parse_latency("0").reduction, 0s);
    EXPECT_EQ(parse_latency("message=1s").message, 1s);
    for (const auto* bad : {"", "5", "5 us", "us", "-1us", "1us,2us", "1us,colour=2us", "1us,", "nan", "inf s", "61s"})
        EXPECT_THROW(parse_latency(bad), InputError) << bad;
    EXPECT_THROW(parse_latency("0,jitter=1ms"), InputError);
    EXPECT_THROW(parse_latency("jitter=1ms"), InputError);
}

TEST(EmulatedLatency, JitterAddsUpToItsTime) {
    MpiComm mpi;
    LatencyComm comm(mpi, {.reduction = 1ms, .jitter = 20ms});
    const double one = 1;
    double total = 0, shortest = 1, longest = 0;
    for (int k = 0; k < 20; ++k) {
        const auto start = Clock::now();
        comm.start_sum({&one, 1}, {&total, 1}).wait();
        const double took = all_max(comm, to_seconds(Clock::now() - start));
        shortest = std::min(shortest, took);
        longest = std::max(longest, took);
    }
    EXPECT_GE(shortest, 0.001);
    EXPECT_GT(longest, 0.01);  // of twenty, equally likely between 1 and 21 ms
}

TEST(EmulatedLatency, HoldsBackSumsAndExchanges) {
    MpiComm mpi;
    LatencyComm comm(mpi, {.reduction = 30ms, .message = 20ms, .jitter = 5ms});
    std::array<double, 10> mine{}, total{};
    mine.fill(comm.rank() + 1);
    const auto start = Clock::now();
    std::vector<Pending> sums;
    for (std::size_t k = 0; k < mine.size(); ++k)
        sums.push_back(comm.start_sum(std::span(mine).subspan(k, 1), std::span(total).subspan(k, 1)));
    for (auto& sum : sums) {
        const auto ready = sum.wait();
        EXPECT_GE(Clock::now() - start, 30ms);
        ASSERT_TRUE(ready);
        EXPECT_GE(*ready - start, 30ms);
    }
    // Ten in flight at once take what one takes.
    EXPECT_LT(all_min(comm, to_seconds(Clock::now() - start)), 0.2);
    for (const double value : total) EXPECT_EQ(value, comm.size() * (comm.size() + 1) / 2);

    const int right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
    double out = comm.rank(), in = -1;
    const Message receive{left, std::as_writable_bytes(std::span(&in, 1))};
    const Message send{right, std::as_writable_bytes(std::span(&out, 1))};
    const auto posted = Clock::now();
    comm.start_exchange({&receive, 1}, {&send, 1}).wait();
    EXPECT_GE(Clock::now() - posted, 20ms);
    EXPECT_EQ(in, left);
}

TEST(EmulatedLatency, IsLostAsOftenAsAMethodWaits) {
    MpiComm comm;
    // Work of half a latency: two reductions that hide nothing, one of them, one half hidden, and one that two products
    // hide. No load can make it less than what is not hidden.
    const auto measured = [&](const std::string& method) {
        return [&comm, method] { return times(comm, method, d, d / 2); };
    };
    eventually(comm, measured("cg"), [](const Times& t) {
        EXPECT_GE(t.lost, 1.99 * d_seconds);
        return t.lost < 2.5 * d_seconds && t.hidden_fraction < 0.05;
    });
    eventually(comm, measured("single_reduction_cg"), [](const Times& t) {
        EXPECT_GE(t.lost, 0.99 * d_seconds);
        return t.lost < 1.5 * d_seconds && t.hidden_fraction < 0.05;
    });
    eventually(comm, measured("pipelined_cg"), [](const Times& t) {
        return std::abs(t.lost - 0.5 * d_seconds) < 0.2 * d_seconds && std::abs(t.hidden_fraction - 0.5) < 0.2;
    });
    eventually(comm, measured(without_safeguards("deep_pipelined_cg:l=3", 8)),
               [](const Times& t) { return t.lost < 0.2 * d_seconds && t.hidden_fraction > 0.8; });
}

TEST(EmulatedLatency, IsHiddenBehindEnoughWork) {
    MpiComm comm;
    eventually(
        comm, [&] { return times(comm, "pipelined_cg", d, d + d / 2); },
        [](const Times& t) { return t.lost < 0.2 * d_seconds && t.hidden_fraction > 0.9; });
}

/// The modes that any MPI offers.
constexpr std::array all_modes{ProgressMode::none, ProgressMode::poll, ProgressMode::thread};

TEST(ProgressModes, HideWhatIsShorterThanTheWork) {
    MpiComm comm;
    for (const auto mode : all_modes) {
        comm.set_progress(mode);
        eventually(
            comm, [&] { return times(comm, "pipelined_cg", d, d + d / 2); },
            [](const Times& t) { return t.lost < 0.2 * d_seconds && t.hidden_fraction > 0.9; });
    }
}

/// A sum is seen complete while this rank works, and not only when it waits: by tests of the kernels, or of the thread.
TEST(ProgressModes, SeeSumsCompleteBeforeTheWait) {
    MpiComm comm;
    if (comm.size() == 1) {  // which has nothing in flight
        const double one = 1;
        double total = 0;
        EXPECT_TRUE(comm.start_sum({&one, 1}, {&total, 1}).complete());
        EXPECT_EQ(total, 1);
        return;
    }
    for (const auto mode : {ProgressMode::poll, ProgressMode::thread}) {
        comm.set_progress(mode);
        const double one = 1;
        double total = 0;
        bool seen = false;
        for (int attempt = 0; attempt < 20 && !seen; ++attempt) {  // a busy machine may keep the others from theirs
            auto sum = comm.start_sum({&one, 1}, {&total, 1});
            Pieces pieces(&comm, 0, 1);
            for (const auto until = Clock::now() + 20ms; Clock::now() < until;)
                pieces(0, 10, [](std::size_t, std::size_t) { std::this_thread::sleep_for(100us); });
            const auto before = Clock::now();
            const auto ready = sum.wait();
            EXPECT_EQ(total, comm.size());
            seen = all_of(comm, ready && *ready < before);
        }
        EXPECT_TRUE(seen) << name(mode);
    }
}

class MethodsInProgressModes : public testing::TestWithParam<const Method*> {};

TEST_P(MethodsInProgressModes, HaveTheSameBits) {
    MpiComm comm;
    const Method& method = *GetParam();
    for (const int threads : {1, 2}) {
        const auto A = problem(
            comm, method.needs != Needs::any ? "jump2d:70x60,contrast=100" : "convdiff2d:70x60,peclet=30", threads);
        const Jacobi M(A);
        std::vector<double> first;
        int iterations = 0;
        for (const auto mode : all_modes) {
            comm.set_progress(mode);
            Values b(A, 2, [](Global row, int j) { return uniform(5, row, j); }), x(A, 2);
            SolveOptions options;
            options.method = method.name;
            options.max_iterations = 45;  // beyond a cycle of gmres and a check of the residual
            options.threads = threads;
            const auto result = solve<double>(comm, A, M, b.view(), x.view(), options);
            if (mode == ProgressMode::none) {
                first = x.data();
                iterations = result.iterations;
            }
            EXPECT_EQ(x.data(), first) << name(mode) << ", " << threads << " threads";
            EXPECT_EQ(result.iterations, iterations);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Registry, MethodsInProgressModes, testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& test) { return std::string(test.param->name); });

// Sums that are read in another order than they were started in, or not at all, between exchanges.
TEST(ProgressModes, EndWhateverIsInFlight) {
    MpiComm comm;
    const auto A = problem(comm, "poisson2d:20");
    Values x(A, 1, [](Global, int) { return 1.0; }), y(A, 1);
    for (const auto mode : all_modes) {
        comm.set_progress(mode);
        EXPECT_EQ(comm.progress_mode(), mode);
        for (int round = 0; round < 50; ++round) {
            std::array<double, 4> mine{}, total{};
            mine.fill(1 + round);
            std::vector<Pending> sums;
            for (std::size_t k = 0; k < mine.size(); ++k)
                sums.push_back(comm.start_sum(std::span(mine).subspan(k, 1), std::span(total).subspan(k, 1)));
            comm.progress();
            A.apply(x.view(), y.view());
            sums[2].wait();
            EXPECT_EQ(total[2], comm.size() * (1 + round));
            sums[0].wait();
            A.apply(y.view(), x.view());
            sums.clear();
            for (const double value : total) EXPECT_EQ(value, comm.size() * (1 + round));
            std::ranges::fill(x.view().values(), 1.0);
        }
    }
}

TEST(ProgressModes, OfTheLibraryAreOnlyTakenWhereTheyAreOn) {
    MpiComm comm;
    if (library_progress().on) {
        comm.set_progress(ProgressMode::library);
        EXPECT_TRUE(comm.progresses());
    } else {
        EXPECT_THROW(comm.set_progress(ProgressMode::library), InputError);
        EXPECT_EQ(comm.progress_mode(), ProgressMode::none);
    }
}

// A kernel cuts its loops only where sums are tested between the pieces, and does all of them all the same.
TEST(Pieces, CoverEveryRange) {
    MpiComm comm;
    for (const auto mode : {ProgressMode::none, ProgressMode::poll})
        for (const int thread : {0, 1}) {
            comm.set_progress(mode);
            Pieces pieces(&comm, thread, 4);
            std::vector<int> done(30);
            std::size_t calls = 0;
            for (const auto& [begin, end] : {std::pair(0, 3), std::pair(3, 5), std::pair(5, 5), std::pair(5, 30)})
                pieces(static_cast<std::size_t>(begin), static_cast<std::size_t>(end),
                       [&](std::size_t first, std::size_t last) {
                           for (auto i = first; i < last; ++i) ++done[i];
                           ++calls;
                       });
            EXPECT_EQ(done, std::vector<int>(30, 1));
            EXPECT_EQ(calls, mode == ProgressMode::poll && thread == 0 ? 10u : 4u);
        }
}

TEST(EmulatedLatency, ChangesNoBit) {
    MpiComm mpi;
    LatencyComm slow(mpi, {.reduction = 200us, .message = 50us, .jitter = 200us});
    const auto A = problem(mpi, "jump2d:23x31,contrast=100"), slow_A = problem(slow, "jump2d:23x31,contrast=100");
    for (const auto* method : {"cg", "pipelined_cg", "deep_pipelined_cg:l=3", "pipelined_bicgstab"}) {
        Values b(A, 2, [](Global row, int j) { return uniform(5, row, j); }), x(A, 2), slow_x(A, 2);
        SolveOptions options;
        options.method = method;
        options.max_iterations = 45;  // beyond a cycle of gmres and a check of the residual
        const auto plain = solve<double>(mpi, A, Identity{}, b.view(), x.view(), options);
        const auto late = solve<double>(slow, slow_A, Identity{}, b.view(), slow_x.view(), options);
        EXPECT_EQ(plain.iterations, late.iterations) << method;
        EXPECT_EQ(x.data(), slow_x.data()) << method;
    }
}

// What is delivered at a wait and not before was not hidden, whatever work there was; every reduction is waited for
// once, and how late it was is time lost.
TEST(HiddenFraction, IsZeroUnderChaos) {
    MpiComm mpi;
    ChaoticComm comm(mpi, 3);
    const auto A = problem(comm, "poisson2d:30");
    for (const auto* method : methods()) {
        Values b(A, 1, [](Global row, int) { return uniform(5, row); }), x(A, 1);
        SolveOptions options;
        options.method = method->name;
        options.max_iterations = 40;
        const auto waited_before = comm.sums_waited();
        const double late_before = comm.lateness();
        const auto result = solve<double>(comm, A, Identity{}, b.view(), x.view(), options);
        EXPECT_EQ(result.per_iteration.hidden_fraction, 0) << method->name;
        std::int64_t reductions = 0;
        double lost = 0;
        for (const auto phase : {Phase::setup, Phase::iteration, Phase::safeguard}) {
            reductions += result.ledger.at(phase).reductions;
            lost += result.ledger.at(phase).lost;
        }
        EXPECT_GT(reductions, result.iterations / 10) << method->name;
        EXPECT_EQ(comm.sums_waited() - waited_before, reductions) << method->name;
        EXPECT_GE(lost, comm.lateness() - late_before) << method->name;
    }
}

TEST(HiddenFraction, FollowsFromWhatWasSeen) {
    const auto at = [](int us) { return Clock::time_point(std::chrono::microseconds(us)); };
    using Seen = std::optional<Clock::time_point>;
    // Started at 0, posted at 10, waited for at 90.
    const auto hidden = [&](int end, Seen ready, bool progresses) {
        return Flight{at(0), at(10), at(90), at(end), ready, progresses}.hidden();
    };
    EXPECT_DOUBLE_EQ(hidden(90, Seen(at(50)), true), 0.8);
    EXPECT_DOUBLE_EQ(hidden(100, Seen(at(100)), true), 0.8);
    EXPECT_DOUBLE_EQ(hidden(100, Seen(at(100)), false), 0);  // what it did before the wait was for nothing
    EXPECT_DOUBLE_EQ(hidden(90, Seen(), false), 8.0 / 9);    // the library did it unasked
    EXPECT_DOUBLE_EQ(hidden(90, Seen(at(5)), true), 0);      // complete when it was posted
}

}  // namespace
