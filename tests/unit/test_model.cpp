// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/latency_comm.hpp"
#include "stretto/core/random.hpp"
#include "stretto/model/benchmarks.hpp"
#include "stretto/model/fit.hpp"
#include "stretto/model/probe.hpp"
#include "stretto/model/triad_rate.hpp"

using namespace stretto;
using namespace std::chrono_literals;

namespace {

std::vector<double> powers_of_two(double most) {
    std::vector<double> all;
    for (double bytes = 8; bytes <= most; bytes *= 2) all.push_back(bytes);
    return all;
}

// Krasnopolsky 2019, (10) and (8), with a twentieth of noise.
TEST(Fit, FindsThePublishedLawOfReductions) {
    const PowerLaw law{3.5e-6, 1.7e-6, 0.21, 0.54};
    std::vector<CommTime> measured;
    Global k = 0;
    for (const double bytes : powers_of_two(16384))
        for (const double ranks : {2, 8, 64, 512})
            measured.push_back({bytes, ranks, law(bytes, ranks) * (1 + 0.05 * uniform(3, k++))});
    const auto found = fit(measured);
    for (const auto& m : measured) EXPECT_NEAR(found(m.bytes, m.ranks) / law(m.bytes, m.ranks), 1, 0.05);
    EXPECT_NEAR(found.n0, law.n0, 0.03);
    EXPECT_NEAR(found.n1, law.n1, 0.03);
}

TEST(Fit, FindsThePublishedLawsOfExchanges) {
    const TwoLaws laws{2048, {2.4e-6, 6.9e-8, 0.56, 0}, {3.2e-6, 2e-9, 1, 0}};
    std::vector<CommTime> measured;
    Global k = 0;
    for (const double bytes : powers_of_two(1 << 20))
        for (int neighbours = 0; neighbours < 5; ++neighbours)
            measured.push_back({bytes, 4, laws(bytes) * (1 + 0.05 * uniform(4, k++))});
    const auto found = fit_two(measured);
    for (const auto& m : measured) EXPECT_NEAR(found(m.bytes) / laws(m.bytes), 1, 0.1) << m.bytes;
    EXPECT_EQ(found.small.n1, 0);
    EXPECT_NEAR(found.large.n0, 1, 0.05);
}

TEST(Fit, HasNoNegativeCoefficients) {
    for (const auto& seconds : {std::vector<double>{4, 3, 2, 1}, {1, 1, 1, 1}, {1, 10, 100, 1000}}) {
        std::vector<CommTime> measured;
        for (std::size_t k = 0; k < seconds.size(); ++k) measured.push_back({8.0 * (1 << k), 2, seconds[k]});
        const auto found = fit(measured);
        EXPECT_GE(found.c0, 0);
        EXPECT_GE(found.c1, 0);
        for (const auto& m : measured) EXPECT_TRUE(std::isfinite(found(m.bytes, 2)));
    }
}

TEST(Benchmarks, MeasureWhatTheySay) {
    MpiComm comm;
    Work work;
    EXPECT_GT(work.step_seconds(), 0);
    const auto overlap = measure_overlap(comm, comm, 16, offered_modes(), {3}, work);
    EXPECT_EQ(overlap.bytes, 128u);
    EXPECT_EQ(overlap.modes.size(), offered_modes().size());
    for (const auto& mode : overlap.modes) {
        EXPECT_DOUBLE_EQ(mode.gamma, (mode.total - overlap.work) / overlap.blocking);
        EXPECT_GT(mode.total, 0);
    }
    EXPECT_EQ(comm.progress_mode(), ProgressMode::none);
    for (const auto collective : {Collective::all_reduce, Collective::all_gather}) {
        const auto found = measure_concurrency(comm.mpi(), collective, 256, 4, {3}, work);
        EXPECT_DOUBLE_EQ(found.overlap(), (found.pure + found.cpu - found.together) / std::min(found.pure, found.cpu));
    }
    EXPECT_GT(measure_pipelining(comm.mpi(), 8, 10, {3}), 0);
    for (const int neighbours : {2, 4, 10}) EXPECT_GT(measure_exchange(comm.mpi(), neighbours, 1000, {3}).seconds, 0);
    EXPECT_EQ(measure_all_reduce(comm.mpi(), 4, {3}).ranks, comm.size());
}

/// Whether the ranks have the machine to themselves right now: only then a probe says anything of the network.
bool calm(const Comm& comm) {
    const auto start = Clock::now();
    for (int k = 0; k < 50; ++k) MPI_Barrier(comm.mpi());
    std::this_thread::sleep_for(200us);
    return all_max(comm, to_seconds(Clock::now() - start)) < 0.002;
}

/// Probes until one is taken on a calm machine and is `good`; fails where none of those taken on it is.
template <class Good>
void expect_of_a_probe(Comm& comm, MpiComm& mpi, Good good) {
    if (mpi.size() > static_cast<int>(std::thread::hardware_concurrency()))
        GTEST_SKIP() << "more ranks than cores: they take turns, whatever a probe measures";
    int taken = 0;
    for (int attempt = 0; attempt < 20; ++attempt) {
        const bool before = calm(mpi);
        const auto found = probe(comm, mpi);
        EXPECT_EQ(mpi.progress_mode(), ProgressMode::none);
        EXPECT_TRUE(found.gamma.empty() || found.gamma.size() == offered_modes().size());
        if (!before || !calm(mpi)) continue;
        if (good(found)) return;
        if (++taken == 8) ADD_FAILURE() << to_string(found) << ", in " << found.seconds << " s";
    }
    if (taken < 8) GTEST_SKIP() << "the machine is too busy to measure anything";
}

// What an emulated network hides by itself, every mode finds hidden.
TEST(Probe, EndsInAdvice) {
    const auto of = [](double microseconds, double poll, double thread) {
        return Probe{.reduction = 1e-6 * microseconds,
                     .gamma = {{ProgressMode::none, 1.0}, {ProgressMode::poll, poll}, {ProgressMode::thread, thread}},
                     .seconds = 0};
    };
    EXPECT_EQ(advice(of(1.2, 0.1, 0.1), 2), "reductions take 1.2 µs: nothing to hide here: use cg, bicgstab or gmres");
    EXPECT_EQ(advice(of(31, 0.95, 1.3), 2),
              "reductions take 31.0 µs, and no progress mode hides them behind work: use methods with fewer of them, "
              "single_reduction_cg, improved_bicgstab or s_step_gmres");
    const auto hides = advice(of(31, 0.2, 0.15), 8), deep = advice(of(31, -0.1, 0.15), 2.1);
    EXPECT_TRUE(
        hides.starts_with("reductions take 31.0 µs, and with --progress-mode thread work hides 85 % of one: use "
                          "pipelined_cg"))
        << hides;
    EXPECT_EQ(hides.find("deep"), std::string::npos) << hides;
    EXPECT_NE(deep.find("poll work hides 100 %"), std::string::npos) << deep;
    EXPECT_NE(deep.find("deep_pipelined_cg:l=3, for ten in flight take 2.1 times as long as one"), std::string::npos)
        << deep;
}

TEST(Benchmarks, KnowTheCaches) {
    MpiComm comm;
    EXPECT_LE(last_level_cache(1), last_level_cache(1000));
    const double cached = cached_data(comm, 1);
    EXPECT_GE(cached, 0);
    EXPECT_EQ(all_max(comm, cached), all_min(comm, cached));
}

TEST(Probe, FindsOutWhetherReductionsHide) {
    MpiComm mpi;
    LatencyComm comm(mpi, {.reduction = 1ms});
    expect_of_a_probe(comm, mpi, [](const Probe& found) { return found.reduction >= 0.001 && found.hides(); });
}

TEST(Probe, IsShort) {
    MpiComm mpi;
    for (const auto latency : {0us, 1000us, 8000us}) {
        LatencyComm comm(mpi, {.reduction = latency});
        expect_of_a_probe(comm, mpi, [](const Probe& found) { return found.seconds < 0.05; });
    }
}

TEST(Probe, ChoosesWhatIsClearlyBetter) {
    Probe found;  // nothing could be measured
    EXPECT_EQ(found.choice(), library_progress().on ? ProgressMode::library : ProgressMode::poll);
    EXPECT_TRUE(found.hides());
    found.gamma = {{ProgressMode::none, 1.02}, {ProgressMode::poll, 0.97}};
    EXPECT_EQ(found.choice(), ProgressMode::none);
    EXPECT_FALSE(found.hides());
    found.gamma = {{ProgressMode::none, 1.02}, {ProgressMode::poll, 0.5}, {ProgressMode::thread, 0.4}};
    EXPECT_EQ(found.choice(), ProgressMode::thread);
    EXPECT_TRUE(found.hides());
    EXPECT_NE(to_string(found).find("poll 50 %"), std::string::npos);
}

}  // namespace
