// SPDX-License-Identifier: BSD-3-Clause
// Groups and panels on the emulated device: the numbers of the processor, up to the order of sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/random.hpp"
#include "stretto/execute/device/emulated.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/execute/space.hpp"

using namespace stretto;

namespace {

constexpr int vectors_at_hand = 14;

/// What a test says, on vectors of T: `say(V, v)` returns sums.
template <class T, class Say>
std::vector<double> outcome(Comm& comm, Index rows, int columns, Formulation formulation, Say&& say) {
    Space<T> V(comm, rows, columns, vectors_at_hand, 1, formulation);
    const auto v = V.panel(vectors_at_hand);
    std::vector<double> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (int k = 0; k < vectors_at_hand; ++k) {
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = uniform(static_cast<std::uint64_t>(k), static_cast<Global>(i));
        V.upload(values, v[k]);
    }
    std::vector<double> all = say(V, v);
    for (int k = 0; k < vectors_at_hand; ++k) {
        V.download(v[k], values);
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

template <class T>
Scalars<T> numbers(int columns, std::uint64_t seed) {
    Scalars<T> result(columns);
    for (int j = 0; j < columns; ++j) result[j] = uniform(seed, j);
    return result;
}
template <class Sums>
void keep(std::vector<double>& all, const Sums& sums) {
    for (const auto& sum : sums)
        for (int j = 0; j < sum.columns(); ++j) all.push_back(sum[j]);
}

void expect_same(const std::vector<double>& device, const std::vector<double>& host, Index rows, const char* what) {
    ASSERT_EQ(device.size(), host.size());
    const double tolerance = 1e-14 * (rows + 10);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < host.size(); ++i)
        if (!(std::abs(device[i] - host[i]) <= tolerance * (1 + std::abs(host[i]))) && wrong++ == 0)
            ADD_FAILURE() << what << ", number " << i << " of " << host.size() << ": " << device[i] << " is not "
                          << host[i];
}

struct DeviceStatements : testing::TestWithParam<int> {
    MpiComm comm;
    int m = GetParam();

    template <class Say>
    void compare(const char* what, Say&& say) {
        for (const Index rows : {0, 1, 2, 37, 1000})
            for (const auto formulation : {Formulation::merged, Formulation::basic}) {
                const auto host = outcome<double>(comm, rows, m, formulation, say);
                const auto device = outcome<on_emulated>(comm, rows, m, formulation, say);
                expect_same(device, host, rows, what);
                EXPECT_EQ(device, outcome<on_emulated>(comm, rows, m, formulation, say)) << "other bits: " << what;
            }
    }
};

TEST_P(DeviceStatements, AGroupOfAMethod) {
    compare("pipelined BiCGStab", [&]<class T>(Space<T>& V, const Panel<T>& v) {
        const auto alpha = numbers<T>(m, 1), beta = numbers<T>(m, 2), omega = numbers<T>(m, 3);
        std::vector<double> all;
        keep(all, V.start(v[0] <<= v[1] + beta * (v[0] - omega * v[2]),
                          when(true, v[2] <<= v[3] + beta * (v[2] - omega * v[4])), when(false, v[5] <<= v[3] - v[1]),
                          v[4] <<= v[5] - alpha * v[2], v[6] <<= v[6] + alpha * v[0], guard(dot(v[4], v[4])),
                          dot(v[4], v[2]), dot(v[2], v[2]))
                      .wait());
        return all;
    });
}

TEST_P(DeviceStatements, AListThatIsAsLongAsItTurnsOut) {
    compare("each", [&]<class T>(Space<T>& V, const Panel<T>& v) {
        std::vector<double> all;
        const auto alpha = numbers<T>(m, 1), beta = numbers<T>(m, 2), gamma = numbers<T>(m, 3);
        keep(all,
             V.start(each<5>(3, [&](int k) { return v[k] <<= alpha * (v[k + 1] + beta * v[k] - gamma * v[k + 4]); }),
                     dot(v[0], v[1]), each<4>(2, [&](int k) { return dot(v[k], v[3]); }), dot(v[2], v[2]))
                 .wait());
        V.run(v[1] <<= v[0], v[0] <<= v[2]);
        return all;
    });
}

TEST_P(DeviceStatements, SumsOnly) {
    compare("dots", [&]<class T>(Space<T>& V, const Panel<T>& v) {
        std::vector<double> all;
        keep(all, V.start(dot(v[0], v[0])).wait());
        keep(all, V.start(dot(v[0], v[1]), dot(v[1], v[2]), dot(v[2], v[0])).wait());
        return all;
    });
}

TEST_P(DeviceStatements, Panels) {
    compare("panels", [&]<class T>(Space<T>& V, const Panel<T>& v) {
        SmallMatrix<T> S(8, 6, m), R(6, 6, m), P(9, 6, m);
        for (int i = 0; i < 8; ++i)
            for (int k = 0; k < 6; ++k)
                for (int j = 0; j < m; ++j) {
                    S(i, k, j) = uniform(7, 8 * i + k, j);
                    if (i < 6)
                        R(i, k, j) = i == k ? (i == 2 && j == m - 1 ? 0 : 2) : i < k ? uniform(8, 8 * i + k, j) : NAN;
                }
        const auto Q = v.part(0, 8), W = v.part(8, 6);
        V.run(W <<= (W - Q * S.from(0, 0)) / R.from(0, 0));
        V.start(W.part(0, 5) <<= W.part(0, 5) + Q * S.from(0, 1), dots(Q, W), dots(W.part(0, 1), W)).wait(P, 0, 0, 6);
        V.run(v.part(3, 1) <<= v.part(4, 4) * S.from(2, 2), v[2] <<= v[3] - v[2],
              v.part(5, 1) <<= v.part(5, 1) / R.from(1, 1));
        std::vector<double> all;
        for (int i = 0; i < 9; ++i)
            for (int k = 0; k < 6; ++k)
                for (int j = 0; j < m; ++j) all.push_back(P(i, k, j));
        return all;
    });
}

TEST_P(DeviceStatements, WholeVectors) {
    compare("whole vectors", [&]<class T>(Space<T>& V, const Panel<T>& v) {
        V.clear(v[0]);
        V.clear_column(v[1], m - 1);
        V.copy_column(v[2], v[3], m / 2);
        V.fill_uniform(v[4], 17);
        V.freeze(0);
        std::vector<double> all = V.largest(v[4]);
        keep(all, V.start(dot(v[4], v[4])).wait());
        return all;
    });
}

TEST_P(DeviceStatements, TheLargestOfWhatIsNotFinite) {
    for (const double odd : {static_cast<double>(NAN), HUGE_VAL, -HUGE_VAL}) {
        Space<on_emulated> V(comm, 40, m, 1, 1, Formulation::merged);
        const auto v = V.vector();
        std::vector<double> values(v.size(), -3.0);
        values.back() = odd;
        V.upload(values, v);
        const auto most = V.largest(v);
        for (int j = 0; j < m; ++j) EXPECT_EQ(most[static_cast<std::size_t>(j)], j == m - 1 ? HUGE_VAL : 3.0);
    }
}

INSTANTIATE_TEST_SUITE_P(Columns, DeviceStatements, testing::Values(1, 3, 8, 16, 64));

}  // namespace
