// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "stretto/core/random.hpp"
#include "stretto/execute/cpu/executor.hpp"
#include "stretto/execute/workspace.hpp"

using namespace stretto;

namespace {

/// Panels Q (k vectors), W and X (s each) with reproducible values, S (k × s) and an upper triangle R (s × s).
struct Panels {
    Panels(Index rows, int columns, int k, int s)
        : workspace(rows, columns, k + 2 * s, 1),
          Q(workspace.take_panel(k)),
          W(workspace.take_panel(s)),
          X(workspace.take_panel(s)),
          S(std::max(k, 1), s, columns),
          R(s, s, columns) {
        for (const auto& panel : {Q, W, X})
            for (int i = 0; i < panel.count(); ++i)
                for (Index row = 0; row < rows; ++row)
                    for (int j = 0; j < columns; ++j) panel[i](row, j) = next();
        for (int j = 0; j < columns; ++j)
            for (int c = 0; c < s; ++c) {
                for (int i = 0; i < k; ++i) S(i, c, j) = next();
                for (int i = 0; i <= c; ++i) R(i, c, j) = i == c ? 2 + next() : next();
            }
    }
    double next() { return uniform(3, count_++); }

    Workspace<double> workspace;
    Panel<double> Q, W, X;
    SmallMatrix<double> S, R;

private:
    Global count_ = 0;
};

struct PanelTest : testing::TestWithParam<std::tuple<int, int, Formulation>> {
    const int columns = std::get<0>(GetParam()), threads = std::get<1>(GetParam());
    const Formulation formulation = std::get<2>(GetParam());
};

// (W − Q S) R⁻¹, then all products of the result, against the same element by element.
TEST_P(PanelTest, IsWhatItSays) {
    for (const auto& [rows, k, s] :
         {std::tuple{0, 2, 1}, {1, 3, 2}, {37, 0, 3}, {513, 5, 1}, {1000, 9, 5}, {2111, 31, 7}}) {
        Panels a(rows, columns, k, s), expected(rows, columns, k, s);
        std::vector<double> sums(static_cast<std::size_t>((k + s) * s * columns) + 1), plain(sums.size());
        CpuExecutor<double> executor(columns, threads, formulation);
        executor.run(rows, sums.data(), a.X <<= (a.W - a.Q * a.S.from(0, 0)) / a.R.from(0, 0), dots(a.Q, a.X),
                     dots(a.X, a.X));
        for (Index row = 0; row < rows; ++row)
            for (int j = 0; j < columns; ++j)
                for (int c = 0; c < s; ++c) {
                    double value = expected.W[c](row, j);
                    for (int i = 0; i < k; ++i) value -= expected.Q[i](row, j) * expected.S(i, c, j);
                    for (int i = 0; i < c; ++i) value -= expected.X[i](row, j) * expected.R(i, c, j);
                    expected.X[c](row, j) = value / expected.R(c, c, j);
                }
        const auto at = [&](int i, int c, int j) { return static_cast<std::size_t>((i * s + c) * columns + j); };
        for (Index row = 0; row < rows; ++row)
            for (int j = 0; j < columns; ++j)
                for (int c = 0; c < s; ++c) {
                    ASSERT_NEAR(a.X[c](row, j), expected.X[c](row, j), 1e-11 * (1 + k)) << rows << ' ' << c;
                    for (int i = 0; i < k; ++i) plain[at(i, c, j)] += expected.Q[i](row, j) * expected.X[c](row, j);
                    for (int i = 0; i < s; ++i) plain[at(k + i, c, j)] += expected.X[i](row, j) * expected.X[c](row, j);
                }
        for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], plain[i], 1e-10 * (1 + rows)) << i;
    }
}

TEST_P(PanelTest, AddsToAVectorAndDividesByZeroToZero) {
    const Index rows = 700;
    Panels a(rows, columns, 6, 1), expected(rows, columns, 6, 1);
    CpuExecutor<double> executor(columns, threads, formulation);
    for (int j = 0; j < columns; ++j) a.R(0, 0, j) = j % 2 == 0 ? 0 : 4;
    const Panel<double> w(a.W[0]), x(a.X[0]);
    executor.run(rows, nullptr, w <<= w + a.Q * a.S.from(0, 0), x <<= x / a.R.from(0, 0));
    for (Index row = 0; row < rows; ++row)
        for (int j = 0; j < columns; ++j) {
            double value = expected.W[0](row, j);
            for (int i = 0; i < 6; ++i) value += expected.Q[i](row, j) * expected.S(i, 0, j);
            ASSERT_NEAR(a.W[0](row, j), value, 1e-13);
            ASSERT_EQ(a.X[0](row, j), j % 2 == 0 ? 0 : expected.X[0](row, j) / 4);
        }
}

INSTANTIATE_TEST_SUITE_P(Columns, PanelTest,
                         testing::Combine(testing::Values(1, 2, 3, 5, 8, 16, 64), testing::Values(1, 2),
                                          testing::Values(Formulation::merged, Formulation::basic)));

TEST(Groups, MayHaveNothingToSay) {
    Panels a(100, 1, 2, 1);
    for (const auto formulation : {Formulation::merged, Formulation::basic}) {
        CpuExecutor<double> executor(1, 1, formulation);
        const Scalars<double> one(1, 1);
        const double before = a.X[0](3);
        executor.run(100, nullptr, when(false, a.X[0] <<= one * a.X[0] + a.W[0]));
        executor.run(100, nullptr, when(false, a.X <<= a.Q * a.S.from(0, 0)));
        EXPECT_EQ(a.X[0](3), before);
    }
}

TEST(PanelTraffic, IsCountedByVectors) {
    Panels a(10, 1, 4, 2);
    const auto update = a.W <<= (a.W - a.Q * a.S.from(0, 0)) / a.R.from(0, 0);
    EXPECT_EQ(traffic(Formulation::merged, update, dots(a.Q, a.W), dots(a.W, a.W)), (Traffic{6, 2}));
    // Update, division, products with Q, products among themselves.
    EXPECT_EQ(traffic(Formulation::basic, update, dots(a.Q, a.W), dots(a.W, a.W)), (Traffic{6 + 2 + 6 + 2, 2 + 2}));
    EXPECT_EQ(traffic(Formulation::merged, a.X <<= a.Q * a.S.from(0, 0)), (Traffic{4, 2}));
    EXPECT_EQ(traffic(Formulation::merged, dots(a.Q.part(1, 2), a.W.part(0, 1)), dots(a.Q, a.W)), (Traffic{6, 0}));
}

}  // namespace
