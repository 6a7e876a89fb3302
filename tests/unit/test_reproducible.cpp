// SPDX-License-Identifier: BSD-3-Clause
// Sums without rounding, and solves that have the same bits on any number of ranks and threads.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

#include "stretto/comm/latency_comm.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/execute/exact_sum.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/system/complex_system.hpp"
#include "stretto/system/linear_system.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
template <class T>
auto bytes(const T& value) {
    return std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
}

/// Σ left · right of vectors, each of `parts` parts adding up its own, by one rank.
double exact_dot(const std::vector<double>& left, const std::vector<double>& right, std::size_t parts = 1) {
    ExactSum sum;
    for (std::size_t part = 0; part < parts; ++part) {
        const auto layout = ExactSums<double>::layout(1);
        std::vector<double> numbers(layout.size());
        const ExactSums<double> mine(numbers.data(), layout);
        const std::size_t begin = left.size() * part / parts, end = left.size() * (part + 1) / parts;
        mine.add(0, left.data() + begin, right.data() + begin, end - begin);
        mine.finish(0);
        sum.add(mine.sum(0, 0, 0));
    }
    double numbers[ExactSum::digits];
    EXPECT_EQ(sum.put(numbers), numbers + ExactSum::digits);
    return ExactSum::value(numbers);
}
double exact_sum(const std::vector<double>& values, std::size_t parts = 1) {
    return exact_dot(values, std::vector<double>(values.size(), 1.0), parts);
}

TEST(ExactSum, IsRoundedOnce) {
    std::mt19937_64 random(1);
    __extension__ typedef __int128 Wide;
    for (int round = 0; round < 200; ++round) {
        // Whole numbers of up to 53 bits times a power of two, so that 128 bits hold their sum.
        Wide whole = 0;
        std::vector<double> values;
        for (int i = 0; i < 1 + round * 7; ++i) {
            const auto value = static_cast<std::int64_t>(random() >> (11 + random() % 40)) * (random() % 2 ? 1 : -1);
            whole += value;
            values.push_back(std::ldexp(static_cast<double>(value), round - 100));
        }
        const double expected = std::ldexp(static_cast<double>(whole), round - 100);
        EXPECT_EQ(bits(exact_sum(values)), bits(expected)) << round;
    }
}

TEST(ExactSum, HasNoOrder) {
    std::mt19937_64 random(2);
    for (const int spread : {0, 3, 40, 300, 1000}) {
        std::vector<double> values;
        std::uniform_int_distribution<int> exponent(-spread, spread);
        std::normal_distribution<double> normal;
        for (int i = 0; i < 3001; ++i) values.push_back(std::ldexp(normal(random), exponent(random)));
        const double once = exact_sum(values);
        for (const std::size_t parts : {1, 2, 3, 7, 3001}) {
            std::ranges::shuffle(values, random);
            EXPECT_EQ(bits(exact_sum(values, parts)), bits(once)) << spread << ", " << parts;
        }
    }
}

TEST(ExactSum, HasNoCancellation) {
    EXPECT_EQ(exact_sum({1e300, 1, -1e300}), 1);
    EXPECT_EQ(exact_sum({1e-320, 1e300, 3e-320, -1e300}), 1e-320 + 3e-320);
    EXPECT_EQ(exact_sum({0x1p1023, 0x1p1023, -0x1p1023}), 0x1p1023);
    EXPECT_EQ(exact_sum({1, 0x1p-53}), 1) << "a tie goes to the even one";
    EXPECT_EQ(exact_sum({1, 0x1p-53, 0x1p-1000}), 1 + 0x1p-52) << "but not with something behind it";
    EXPECT_EQ(exact_sum({-1, -0x1p-53, -0x1p-1000}), -1 - 0x1p-52);
    EXPECT_EQ(exact_sum({0x1p1023, 0x1p1023}), std::numeric_limits<double>::infinity());
    EXPECT_EQ(bits(exact_sum({-0.1, 0.1})), bits(0.0));
    EXPECT_EQ(bits(exact_sum({})), bits(0.0));
    EXPECT_EQ(exact_sum({std::numeric_limits<double>::denorm_min()}), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(exact_sum({-std::numeric_limits<double>::max()}), -std::numeric_limits<double>::max());
}

TEST(ExactSum, TellsWhatIsNotFinite) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> values(1000, 1.5);
    values[700] = infinity;
    EXPECT_EQ(exact_sum(values, 3), infinity);
    values[3] = -infinity;
    EXPECT_TRUE(std::isnan(exact_sum(values, 3)));
    values[700] = values[3] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(exact_sum(values)));
    EXPECT_EQ(exact_dot({1e200, 1}, {1e200, 1}), infinity) << "a product that is too large";
}

/// The second of two dot products, in blocks.
template <class T>
std::vector<double> exact_dots(const std::vector<T>& a, const std::vector<T>& b, std::size_t columns,
                               std::size_t rows_of_a_block) {
    const auto layout = ExactSums<T>::layout(columns);
    std::vector<double> numbers(2 * layout.size()), values;
    const ExactSums<T> sums(numbers.data(), layout);
    for (std::size_t begin = 0, step = rows_of_a_block * columns; begin < a.size(); begin += step)
        for (const std::size_t dot : {0, 1})
            sums.add(dot, a.data() + begin, b.data() + begin, std::min(step, a.size() - begin));
    sums.finish(1);
    for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t part = 0; part < static_cast<std::size_t>(reals_in<T>); ++part) {
            ExactSum sum;
            sum.add(sums.sum(1, j, part));
            double digits[ExactSum::digits];
            sum.put(digits);
            values.push_back(ExactSum::value(digits));
        }
    return values;
}

TEST(ExactSum, OfColumnsAndOfComplexNumbers) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const std::size_t columns : {1, 2, 3, 5, 8, 9, 16, 17, 63, 64}) {
        // Neighbouring columns are of very different sizes, one of zeros, and sizes jump along it.
        const std::size_t rows = 777;
        std::vector<std::complex<double>> a(columns * rows), b(a.size());
        for (auto* each : {&a, &b})
            for (std::size_t i = 0; i < each->size(); ++i) {
                const auto size = static_cast<int>(i % columns * 37 % 300 + i / columns / 100 % 3 * 60);
                if (i % columns != 4) (*each)[i] = {std::ldexp(normal(random), -size), std::ldexp(normal(random), 30)};
            }
        for (const std::size_t block : {std::size_t{7}, 64 / columns + 1, rows}) {
            const auto found = exact_dots(a, b, columns, block);
            for (std::size_t j = 0; j < columns; ++j) {
                std::vector<double> re, im, left_re, left_im;
                for (std::size_t i = j; i < a.size(); i += columns) {
                    for (const double x : {a[i].real(), a[i].imag()}) {
                        left_re.push_back(x);
                        left_im.push_back(x);
                    }
                    for (const double y : {b[i].real(), b[i].imag()}) re.push_back(y);
                    for (const double y : {b[i].imag(), -b[i].real()}) im.push_back(y);
                }
                EXPECT_EQ(bits(found[2 * j]), bits(exact_dot(left_re, re))) << columns << ", " << j;
                EXPECT_EQ(bits(found[2 * j + 1]), bits(exact_dot(left_im, im))) << columns << ", " << j;
            }
        }
    }
}

TEST(ExactSum, OfColumnsAsOneByOne) {
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    for (const std::size_t columns : {1, 2, 3, 4, 7, 8, 12, 63}) {
        std::vector<double> a(columns * 1003), b(a.size());
        std::vector<std::vector<double>> left(columns), right(columns);
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] = std::ldexp(normal(random), static_cast<int>(random() % 90));
            b[i] = std::ldexp(normal(random), i / columns < 500 ? -400 : -500);
            left[i % columns].push_back(a[i]);
            right[i % columns].push_back(b[i]);
        }
        for (const std::size_t block : {std::size_t{1}, 64 / columns + 1, std::size_t{1003}}) {
            const auto found = exact_dots(a, b, columns, block);
            for (std::size_t j = 0; j < columns; ++j)
                EXPECT_EQ(bits(found[j]), bits(exact_dot(left[j], right[j]))) << columns << ", " << j;
        }
    }
}

TEST(ExactSum, GoesOverRanks) {
    MpiComm comm;
    const auto value = [](int k) { return std::ldexp(k % 2 ? 1.0 + k : -1.0 - k, 5 * k - 60); };
    std::vector<double> all, mine;
    for (int k = 0; k < 24; ++k) {
        all.push_back(value(k));
        if (k % comm.size() == comm.rank()) mine.push_back(value(k));
    }
    const std::vector<double> ones(mine.size(), 1.0);
    const std::span<const double> left[] = {mine, ones};
    comm.set_reproducible(true);
    const auto dots = all_dots(comm, left, ones);
    EXPECT_EQ(bits(dots[0]), bits(exact_sum(all)));
    EXPECT_EQ(dots[1], 24);
}

/// What a solve on some ranks and threads leaves, on this rank.
template <class T>
struct Solved {
    std::vector<T> x;
    Global first = 0;
    int iterations = 0;
    double residual = 0;
};

Solved<double> solved(Comm& comm, const std::string& problem, const std::string& method, const std::string& precond,
                      int columns, int threads) {
    auto system = LinearSystem::load(comm, problem,
                                     {.precond = precond, .threads = threads, .insist = true, .methods = {method}});
    const Index rows = system.local_rows();
    Solved<double> found{std::vector<double>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)),
                         system.partition().first(comm.rank())};
    std::vector<double> b(found.x.size());
    for (Index i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            b[static_cast<std::size_t>(i) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(j)] =
                uniform(3, found.first + i, j);
    const auto result = system.solve({b.data(), rows, columns}, {found.x.data(), rows, columns},
                                     {.method = method, .rtol = 1e-9, .max_iterations = 300});
    found.iterations = result.iterations;
    found.residual = result.relative_residual();
    return found;
}

/// That the rows of this rank are, to the bit, those that one rank and one thread find.
template <class T>
void expect_same(const Solved<T>& here, const Solved<T>& alone, int columns) {
    EXPECT_EQ(here.iterations, alone.iterations);
    EXPECT_EQ(bits(here.residual), bits(alone.residual));
    const T* const mine = alone.x.data() + here.first * columns;
    std::size_t other = 0;
    for (std::size_t i = 0; i < here.x.size(); ++i) other += bytes(here.x[i]) != bytes(mine[i]);
    EXPECT_EQ(other, 0) << "of " << here.x.size();
}

struct Reproducible : testing::TestWithParam<const Method*> {
    Reproducible() {
        comm.set_reproducible(true);
        alone.set_reproducible(true);
    }
    MpiComm comm, alone{MPI_COMM_SELF};
    const Method& method = *GetParam();
};

TEST_P(Reproducible, OnAnyNumberOfRanksAndThreads) {
    if (method.name == "improved_bicgstab") GTEST_SKIP() << "it takes products with the transpose: see NotReproducible";
    const bool symmetric = method.needs != Needs::any;
    const auto most = comm.size() == 1 ? 3 : 2;
    for (const char* const problem : {"jump3d:9", "convdiff3d:9,peclet=20"}) {
        if (symmetric && problem[0] != 'j') continue;
        for (const char* const precond : {"none", "jacobi", "chebyshev:degree=3"})
            for (const int columns : {1, 3}) {
                const auto one = solved(alone, problem, std::string(method.name), precond, columns, 1);
                for (int threads = 1; threads <= most; ++threads) {
                    SCOPED_TRACE(fmt::format("{}, {}, {} columns, {} threads", problem, precond, columns, threads));
                    expect_same(solved(comm, problem, std::string(method.name), precond, columns, threads), one,
                                columns);
                }
            }
    }
}

TEST_P(Reproducible, WithLatency) {
    if (method.name == "improved_bicgstab") GTEST_SKIP() << "as above";
    LatencyComm slow(comm, parse_latency("20us,jitter=50us"));
    const auto one = solved(alone, "jump3d:8", std::string(method.name), "jacobi", 1, 1);
    expect_same(solved(slow, "jump3d:8", std::string(method.name), "jacobi", 1, 2), one, 1);
}

INSTANTIATE_TEST_SUITE_P(Methods, Reproducible, testing::ValuesIn(methods()),
                         [](const auto& each) { return std::string(each.param->name); });

#if STRETTO_COMPLEX
TEST(ReproducibleComplex, OnAnyNumberOfRanksAndThreads) {
    MpiComm comm, alone(MPI_COMM_SELF);
    comm.set_reproducible(true);
    alone.set_reproducible(true);
    using Complex = std::complex<double>;
    const auto solve_on = [](Comm& on, const std::string& problem, const std::string& method, int columns,
                             int threads) {
        ComplexSystem system(on, load_complex_problem(on, problem), {.precond = "jacobi", .threads = threads});
        const Index rows = system.matrix().local_rows();
        Solved<Complex> found{std::vector<Complex>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)),
                              system.matrix().partition().first(on.rank())};
        std::vector<Complex> b(found.x.size());
        for (Index i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j)
                b[static_cast<std::size_t>(i) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(j)] = {
                    uniform(3, found.first + i, 2 * j), uniform(3, found.first + i, 2 * j + 1)};
        const auto result = system.solve({b.data(), rows, columns}, {found.x.data(), rows, columns},
                                         {.method = method, .max_iterations = 200});
        found.iterations = result.iterations;
        found.residual = result.relative_residual();
        return found;
    };
    for (const auto& [problem, method] :
         {std::pair("gauge2d:17", "cg"), std::pair("gauge2d:17", "pipelined_cg"), std::pair("magnetic2d:13", "minres"),
          std::pair("magnetic2d:13", "deep_pipelined_cg:l=2"), std::pair("gauge2d:17", "s_step_cg")})
        for (const int columns : {1, 3}) {
            const auto one = solve_on(alone, problem, method, columns, 1);
            for (const int threads : {1, 2}) {
                SCOPED_TRACE(fmt::format("{}, {}, {} columns, {} threads", problem, method, columns, threads));
                expect_same(solve_on(comm, problem, method, columns, threads), one, columns);
            }
        }
}
#endif

TEST(NotReproducible, IsRefused) {
    MpiComm comm;
    comm.set_reproducible(true);
    const auto says = [](auto&& work, const char* what) {
        try {
            work();
        } catch (const InputError& error) {
            return std::string_view(error.what()).find(what) != std::string_view::npos
                       ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << error.what();
        }
        return testing::AssertionFailure() << "nothing is refused";
    };
    const auto load = [&](SystemOptions options) { return LinearSystem::load(comm, "jump3d:6", std::move(options)); };
    EXPECT_TRUE(says([&] { load({.precond = "block_jacobi:ilu0"}); }, "none, jacobi, chebyshev"));
    EXPECT_TRUE(says([&] { load({.precond = "auto"}); }, "jacobi or chebyshev"));
    EXPECT_TRUE(says([&] { load({.precond = "none", .prepare = "rcm"}); }, "leave it out"));
    EXPECT_TRUE(says([&] { load({.storage = Storage("blocked")}); }, "--storage blocked"));
    auto system = load({.precond = "jacobi"});
    std::vector<double> b(static_cast<std::size_t>(system.local_rows()), 1.0), x(b.size());
    EXPECT_TRUE(says([&] { system.solve(b, x, {.method = "improved_bicgstab"}); }, "products with Aᵀ"));
    EXPECT_TRUE(says([&] { (void)system.solver({.method = "auto"}); }, "say which"));
    auto solver = system.solver({.method = "cg"});
    EXPECT_TRUE(
        says([&] { solver.solve_transposed({b.data(), system.local_rows(), 1}, {x.data(), system.local_rows(), 1}); },
             "a transposed solve"));
    EXPECT_TRUE(solver.solve(b, x).converged());
    EXPECT_TRUE(says([&] { (void)system.solver({.method = "deep_pipelined_cg:l=auto"}); }, "say which"));
}

#if STRETTO_COMPLEX
TEST(NotReproducible, ComplexCoefficientsAreRefused) {
    MpiComm comm;
    comm.set_reproducible(true);
    const ComplexSystem system(comm, load_complex_problem(comm, "helmholtz2d:9"), {.precond = "jacobi"});
    EXPECT_THROW(system.chosen("gmres"), InputError);
    EXPECT_THROW(ComplexSystem(comm, load_complex_problem(comm, "helmholtz2d:9")), InputError);
}
#endif

TEST(ReproducibleSolve, OthersAreNot) {
    // That the tests above could fail: without the option sums depend on the threads that share them.
    MpiComm alone(MPI_COMM_SELF);
    const auto one = solved(alone, "jump3d:20", "cg", "jacobi", 1, 1),
               two = solved(alone, "jump3d:20", "cg", "jacobi", 1, 2);
    EXPECT_NE(one.x, two.x);
    alone.set_reproducible(true);
    const auto exact = solved(alone, "jump3d:20", "cg", "jacobi", 1, 1);
    expect_same(solved(alone, "jump3d:20", "cg", "jacobi", 1, 2), exact, 1);
}

}  // namespace
