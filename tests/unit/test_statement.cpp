// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "allocations.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/cpu/executor.hpp"

using namespace stretto;

namespace {

/// Named vectors with reproducible values.
class Vectors {
public:
    Vectors(int count, Index rows, int columns) : rows_(rows), columns_(columns) {
        for (int k = 0; k < count; ++k) {
            auto& v = storage_.emplace_back();
            for (Global i = 0; i < Global{rows} * columns; ++i) v.push_back(uniform(static_cast<std::uint64_t>(k), i));
        }
    }
    MultiVector<double> operator[](std::size_t k) { return {storage_[k].data(), rows_, columns_}; }
    const std::vector<std::vector<double>>& values() const { return storage_; }

private:
    Index rows_;
    int columns_;
    std::vector<std::vector<double>> storage_;
};

Scalars<double> coefficients(int columns, std::uint64_t seed) {
    Scalars<double> values(columns);
    for (int j = 0; j < columns; ++j) values[j] = uniform(seed, j);
    return values;
}

enum Name : std::size_t { p, s, z, r, w, t, v, q, y, names };

/// The longest group of the pipelined BiCGStab, as statements …
template <class Run>
void say(Vectors& a, const Scalars<double>& alpha, const Scalars<double>& beta, const Scalars<double>& omega, Run run) {
    run(a[p] <<= a[r] + beta * (a[p] - omega * a[s]), a[s] <<= a[w] + beta * (a[s] - omega * a[z]),
        a[z] <<= a[t] + beta * (a[z] - omega * a[v]), a[q] <<= a[r] - alpha * a[s], a[y] <<= a[w] - alpha * a[z],
        dot(a[q], a[y]), dot(a[y], a[y]), dot(a[q], a[q]));
}

/// … and element by element, as one would write it down.
std::vector<double> say_plainly(Vectors& a, const Scalars<double>& alpha, const Scalars<double>& beta,
                                const Scalars<double>& omega, Index rows, int columns) {
    std::vector<double> dots(static_cast<std::size_t>(3 * columns));
    for (Index i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            a[p](i, j) = a[r](i, j) + beta[j] * (a[p](i, j) - omega[j] * a[s](i, j));
            a[s](i, j) = a[w](i, j) + beta[j] * (a[s](i, j) - omega[j] * a[z](i, j));
            a[z](i, j) = a[t](i, j) + beta[j] * (a[z](i, j) - omega[j] * a[v](i, j));
            a[q](i, j) = a[r](i, j) - alpha[j] * a[s](i, j);
            a[y](i, j) = a[w](i, j) - alpha[j] * a[z](i, j);
            const auto c = static_cast<std::size_t>(columns), k = static_cast<std::size_t>(j);
            dots[k] += a[q](i, j) * a[y](i, j);
            dots[c + k] += a[y](i, j) * a[y](i, j);
            dots[2 * c + k] += a[q](i, j) * a[q](i, j);
        }
    return dots;
}

/// Compilers may fuse a product and a sum in one text and not in the other.
void assert_near(const Vectors& a, const Vectors& expected) {
    for (std::size_t k = 0; k < a.values().size(); ++k)
        for (std::size_t i = 0; i < a.values()[k].size(); ++i)
            ASSERT_NEAR(a.values()[k][i], expected.values()[k][i], 1e-14) << "vector " << k << ", element " << i;
}

TEST(Statement, MergedAndBasicComputeWhatTheStatementsSay) {
    for (const int columns : {1, 2, 3, 4, 7, 16, 33, 64})
        for (const Index rows : {0, 1, 5, 63, 64, 65, 1000, 9001}) {
            const auto alpha = coefficients(columns, 100), beta = coefficients(columns, 101),
                       omega = coefficients(columns, 102);
            Vectors expected(names, rows, columns);
            const auto expected_dots = say_plainly(expected, alpha, beta, omega, rows, columns);
            for (const auto formulation : {Formulation::basic, Formulation::merged})
                for (const int threads : {1, 2}) {
                    Vectors a(names, rows, columns);
                    std::vector<double> dots(expected_dots.size());
                    CpuExecutor<double> executor(columns, threads, formulation);
                    say(a, alpha, beta, omega, [&](const auto&... all) { executor.run(rows, dots.data(), all...); });
                    ASSERT_NO_FATAL_FAILURE(assert_near(a, expected)) << columns << " columns, " << rows << " rows";
                    for (std::size_t k = 0; k < dots.size(); ++k)
                        ASSERT_NEAR(dots[k], expected_dots[k], 1e-13 * (rows + 1)) << columns << " columns, " << rows;
                }
        }
}

TEST(Statement, DotProductsRepeatToTheLastBit) {
    std::vector<double> first(3 * 7), again(3 * 7);
    for (auto* dots : {&first, &again}) {
        Vectors a(names, 20011, 7);
        CpuExecutor<double> executor(7, 2, Formulation::merged);
        const auto c = coefficients(7, 5);
        say(a, c, c, c, [&](const auto&... all) { executor.run(20011, dots->data(), all...); });
    }
    EXPECT_EQ(first, again);
}

TEST(Statement, ConditionsLeaveStatementsOut) {
    Vectors a(3, 10, 1);
    const auto before = a.values();
    CpuExecutor<double> executor(1, 1, Formulation::merged);
    executor.run(10, nullptr, when(false, a[0] <<= a[1] + a[2]));
    EXPECT_EQ(a.values(), before);
    executor.run(10, nullptr, when(true, group(a[0] <<= a[1] + a[2], a[1] <<= a[0] - a[2])));
    for (Index i = 0; i < 10; ++i) EXPECT_NEAR(a[1](i), before[1][static_cast<std::size_t>(i)], 1e-15);
    EXPECT_EQ(traffic(Formulation::merged, when(false, a[0] <<= a[1] + a[2])), (Traffic{0, 0}));
}

TEST(Statement, ListsHaveANumberOfStatementsKnownWhenRunning) {
    for (const int columns : {1, 3})
        for (const int count : {0, 1, 4}) {
            Vectors expected(7, 1003, columns);
            std::vector<double> expected_dots(static_cast<std::size_t>((count + 1) * columns));
            const auto c = coefficients(columns, 1);
            for (Index i = 0; i < 1003; ++i)
                for (int j = 0; j < columns; ++j) {
                    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k)
                        expected[k](i, j) = expected[k + 1](i, j) + c[j] * expected[k](i, j);
                    for (std::size_t k = 0; k <= static_cast<std::size_t>(count); ++k)
                        expected_dots[k * static_cast<std::size_t>(columns) + static_cast<std::size_t>(j)] +=
                            expected[6](i, j) * expected[k == 0 ? 6 : k - 1](i, j);
                }
            for (const auto formulation : {Formulation::basic, Formulation::merged})
                for (const int threads : {1, 2}) {
                    Vectors a(7, 1003, columns);
                    const auto updates = each<4>(count, [&](int k) {
                        const auto i = static_cast<std::size_t>(k);
                        return a[i] <<= a[i + 1] + c * a[i];
                    });
                    const auto sums = each<4>(count, [&](int k) { return dot(a[6], a[static_cast<std::size_t>(k)]); });
                    ASSERT_EQ(count_dots(updates, dot(a[6], a[6]), guard(sums)), count + 1);
                    std::vector<double> dots(expected_dots.size());
                    CpuExecutor<double>(columns, threads, formulation)
                        .run(1003, dots.data(), updates, dot(a[6], a[6]), sums);
                    ASSERT_NO_FATAL_FAILURE(assert_near(a, expected)) << count << " statements";
                    for (std::size_t k = 0; k < dots.size(); ++k) EXPECT_NEAR(dots[k], expected_dots[k], 1e-10);
                    // One pass reads count + 1 vectors and writes count; calls read two each. Guarded products are
                    // apart.
                    const bool merged = formulation == Formulation::merged;
                    EXPECT_EQ(traffic(formulation, updates),
                              (merged ? Traffic{count > 0 ? count + 1 : 0, count} : Traffic{2 * count, count}));
                    EXPECT_EQ(traffic<Said::unguarded>(formulation, guard(sums)), (Traffic{0, 0}));
                }
        }
    Vectors a(2, 1, 1);
    EXPECT_THROW((void)each<4>(5, [&](int) { return a[0] <<= a[1] + a[0]; }), std::length_error);
}

// Krasnopolsky 2019, Figure 2: three updates of three vectors move 9 vectors as separate calls and 5 in one loop.
TEST(Statement, TrafficOfThePapersExample) {
    Vectors a(3, 4, 1);
    const auto x = a[0], yy = a[1], zz = a[2];
    const auto c = coefficients(1, 1);
    const auto run = [&](Formulation formulation) {
        return traffic(formulation, yy <<= c * x + c * yy, zz <<= c * x + c * zz, zz <<= c * yy + c * zz);
    };
    EXPECT_EQ(run(Formulation::basic), (Traffic{6, 3}));
    EXPECT_EQ(run(Formulation::merged), (Traffic{3, 2}));
}

// Krasnopolsky 2019, Section 2.2: three dot products of two vectors read six … two; Table 2 counts (t, t) as one read.
TEST(Statement, TrafficOfDotProducts) {
    Vectors a(2, 4, 1);
    EXPECT_EQ(traffic(Formulation::basic, dot(a[0], a[1]), dot(a[0], a[0]), dot(a[1], a[1])), (Traffic{4, 0}));
    EXPECT_EQ(traffic(Formulation::merged, dot(a[0], a[1]), dot(a[0], a[0]), dot(a[1], a[1])), (Traffic{2, 0}));
}

// Krasnopolsky 2019, footnote 2 of Table 2: w = y − ω(t − αv) takes two calls of three vectors, not one of four.
TEST(Statement, FourVectorsTakeTwoCallsInTheBasicFormulation) {
    Vectors a(4, 40, 1), b(4, 40, 1);
    const auto alpha = coefficients(1, 1), omega = coefficients(1, 2);
    const auto four = [&](Vectors& u) { return u[0] <<= u[1] - omega * (u[2] - alpha * u[3]); };
    EXPECT_EQ(traffic(Formulation::basic, four(a)), (Traffic{4, 2}));
    EXPECT_EQ(traffic(Formulation::merged, four(a)), (Traffic{3, 1}));
    CpuExecutor<double>(1, 1, Formulation::basic).run(40, nullptr, four(a));
    CpuExecutor<double>(1, 1, Formulation::merged).run(40, nullptr, four(b));
    for (Index i = 0; i < 40; ++i) EXPECT_NEAR(a[0](i), b[0](i), 1e-15);
    // With the target on the right-hand side there is nowhere to put the inner part: one call.
    const auto own = a[1] <<= a[1] - omega * (a[2] - alpha * a[3]);
    EXPECT_EQ(traffic(Formulation::basic, own), (Traffic{3, 1}));
}

TEST(Statement, RunningAllocatesNothingAfterTheFirstTime) {
    Vectors a(names, 9001, 4);
    std::vector<double> dots(12);
    const auto c = coefficients(4, 5);
    for (const auto formulation : {Formulation::basic, Formulation::merged}) {
        CpuExecutor<double> executor(4, 1, formulation);
        const auto run = [&] { say(a, c, c, c, [&](const auto&... all) { executor.run(9001, dots.data(), all...); }); };
        run();
        const auto before = allocations.load();
        run();
        EXPECT_EQ(allocations.load(), before);
    }
}

// 1/3 in single precision, many times: added up in it, the sum would lose its last digits.
TEST(Statement, SinglePrecisionAddsUpInDoublePrecision) {
    constexpr Index rows = 1'000'003;
    std::vector<float> values(rows, 1.0F / 3), doubled(rows);
    const MultiVector<float> x{values.data(), rows, 1}, y{doubled.data(), rows, 1};
    const Panel<float> panel(x);
    const double square = static_cast<double>(values[0]) * values[0];
    for (const auto formulation : {Formulation::basic, Formulation::merged}) {
        CpuExecutor<float> executor(1, 1, formulation);
        std::array<double, 2> dots{};
        executor.run(rows, dots.data(), y <<= x + x, dot(x, y));
        EXPECT_NEAR(dots[0], 2 * rows * square, 1e-9 * rows);
        EXPECT_EQ(doubled[rows - 1], 2 * values[0]);
        executor.run(rows, dots.data(), stretto::dots(panel, panel));
        EXPECT_NEAR(dots[0], rows * square, 1e-9 * rows);
    }
}

TEST(Statement, ListsAskForTheirStatementsOnce) {
    Vectors a(5, 100, 1);
    const auto c = coefficients(1, 1);
    int asked = 0;
    const auto list = each<4>(3, [&](int k) {
        ++asked;
        return a[static_cast<std::size_t>(k)] <<= a[4] + c * a[3];
    });
    CpuExecutor<double>(1, 1, Formulation::merged).run(100, nullptr, list, group(list));
    (void)traffic(Formulation::merged, list);
    EXPECT_EQ(asked, 3);
}

static_assert(dots_of<Dot<double>, PanelDots<double>, PanelDots<double>> == counted_when_running);

TEST(Scalars, DivisionByZeroIsZero) {
    Scalars<double> a(2), b(2);
    a[0] = 3, a[1] = 0, b[0] = 2, b[1] = 0;
    const auto c = a / b;
    EXPECT_EQ(c[0], 1.5);
    EXPECT_EQ(c[1], 0.0);
    EXPECT_EQ(sqrt(-b)[0], 0.0);
}

}  // namespace
