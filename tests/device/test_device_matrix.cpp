// SPDX-License-Identifier: BSD-3-Clause
// Products on the emulated device, in all its forms of rows, beside those of the processor.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "device/precond.hpp"
#include "precond/multigrid.hpp"
#include "stretto/execute/device/emulated.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/operators/linear_map.hpp"
#include "stretto/precond/table.hpp"
#include "systems.hpp"

using namespace stretto;

namespace {

using Matrix = DeviceMatrix<double, EmulatedDevice>;
using Memory = DeviceArray<double, EmulatedDevice>;

/// Each row has a few columns, of which some are far away, with values that `value(i, j)` says.
CsrMatrix<double> scattered(Comm& comm, Global n, const Formula& value) {
    auto partition = Partition::even(n, comm.size());
    LocalRows<double> rows;
    for (Global i = partition.first(comm.rank()); i < partition.first(comm.rank() + 1); ++i) {
        std::vector<Global> columns{i, n - 1 - i, (7 * i + 3) % n};
        if (i % 5 == 0) columns.push_back((i + 1) % n);
        if (i % 11 == 0) columns = {i};
        std::ranges::sort(columns);
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        for (const Global j : columns) {
            rows.columns.push_back(j);
            rows.values.push_back(value(i, j));
        }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    return {comm, std::move(partition), std::move(rows)};
}

struct DeviceProducts : testing::Test {
    MpiComm comm;

    void compare(const CsrMatrix<double>& A, int m, const std::string& what) {
        const Matrix there(A, m);
        compare(A, A, there, m, what);
    }
    /// Two forms of an operator of the size of A, with so many columns, twice: what travels is packed anew.
    template <class Host, class Device>
    void compare(const CsrMatrix<double>& A, const Host& host, const Device& there, int m, const std::string& what) {
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(m);
        const Memory from(size), to(size);
        const MultiVector<on_emulated> x(from.data(), A.local_rows(), m), y(to.data(), A.local_rows(), m);
        for (const std::uint64_t seed : {1u, 2u}) {
            Values here(A, m, [&](Global row, int j) { return uniform(seed, row, j); }), expected(A, m);
            EmulatedDevice::upload(x.data(), here.data().data(), size * sizeof(double));
            host.apply(here.view(), expected.view());
            there.apply(x, y);
            std::vector<double> found(size);
            EmulatedDevice::download(y.data(), found.data(), size * sizeof(double));
            for (std::size_t i = 0; i < size; ++i)
                ASSERT_NEAR(found[i], expected.data()[i], 1e-13 * (1 + std::abs(expected.data()[i])))
                    << what << ", columns: " << m << ", value " << i;
        }
        if (A.local_rows() > 0) {
            EXPECT_GT(there.bytes(m), 0);
        }
    }
};

TEST_F(DeviceProducts, AreThoseOfTheProcessorInEveryForm) {
    const auto few = [](Global i, Global j) { return i == j ? 4.0 : static_cast<double>((i + j) % 7) - 3.5; };
    const auto single = [](Global i, Global j) { return static_cast<float>(uniform(3, i, static_cast<int>(j % 97))); };
    const auto full = [](Global i, Global j) { return uniform(3, i, static_cast<int>(j % 97)); };
    for (const int m : {1, 3, 8, 16}) {
        compare(problem(comm, "poisson2d:23x19"), m, "repeated rows");
        compare(problem(comm, "poisson2d:100x20"), m, "repeated rows, of many layers");
        compare(scattered(comm, 700, few), m, "values of a table");
        compare(matrix(comm, 67, full), m, "few long rows");
        compare(matrix(comm, 67, few), m, "few long rows, values of a table");
        compare(scattered(comm, 700, single), m, "single precision");
        compare(scattered(comm, 700, full), m, "as they are");
    }
}

TEST_F(DeviceProducts, OfRowsThatRepeatAsLayersAndStrips) {
    compare(problem(comm, "poisson2d:40x40"), 64, "strips of few rows");
    compare(problem(comm, "poisson2d:97x83"), 1, "one column, more rows than all blocks take at once");
    compare(problem(comm, "poisson3d:17x11x13"), 5, "planes");
}

TEST_F(DeviceProducts, ReachColumnsThatAreFurtherApartThanSixteenBits) {
    const auto A = scattered(comm, 150'000, [](Global i, Global j) { return uniform(3, i, static_cast<int>(j % 97)); });
    for (const int m : {1, 8}) compare(A, m, "distant columns");
}

/// Of all levels, with what travels between ranks in both directions.
TEST_F(DeviceProducts, OfMultigridAreThoseOfTheProcessor) {
    if (!amg_is_built()) GTEST_SKIP() << "amg is not built";
    for (const auto* const system : {"poisson3d:14", "jump2d:40x37,contrast=100", "convdiff2d:40x30,peclet=10"})
        for (const auto* const precond :
             {"amg:degree=1", "amg", "amg:degree=3,precision=single", "amg:aggressive=0,coarsest=500"}) {
            const auto A = problem(comm, system);
            const auto M = make_preconditioner(precond, A);
            for (const int m : {1, 3, 16}) {
                const Matrix there(A, m);
                compare(A, *M, DevicePreconditioner<double, EmulatedDevice>(*M, there), m,
                        fmt::format("{}, {}", system, precond));
            }
        }
}

/// Levels with fewer rows than ranks, a level alone, too large to be solved or not.
TEST_F(DeviceProducts, OfSmallLevelsAreThoseOfTheProcessor) {
    const auto two = [](Global i, Global j) { return i == j ? 2.0 : i / 2 == j ? 0.5 : 0.0; };
    struct Wrapped final : Preconditioner {
        explicit Wrapped(const Multigrid& of) : cycle(&of) {}
        void apply(MultiVector<double> r, MultiVector<double> z) const override { cycle->apply(r, z); }
        void apply_transpose(MultiVector<double>, MultiVector<double>) const override {}
        double bytes(int columns) const override { return cycle->bytes(columns); }
        double stored() const override { return cycle->stored(); }
        ExplicitInverse explicit_inverse() const override { return MultigridInverse{cycle}; }
        const Multigrid* cycle;
    };
    for (const Global rows : {Global{1}, Global{2}, Global{31}, Global{101}}) {
        const auto A = matrix(comm, rows, two);
        const Multigrid cycle(A, {}, {.coarsest = 100});
        const Wrapped M(cycle);
        const Matrix there(A, 2);
        compare(A, M, DevicePreconditioner<double, EmulatedDevice>(M, there), 2, fmt::format("{} rows", rows));
    }
}

TEST_F(DeviceProducts, OfRanksWithoutRows) {
    const auto A = scattered(comm, 2, [](Global i, Global j) { return static_cast<double>(1 + i + j); });
    for (const int m : {1, 9}) compare(A, m, "two rows");
}

TEST_F(DeviceProducts, PassAddressesOfTheDeviceToAnMpiThatTakesThem) {
    setenv("STRETTO_GPU_AWARE_MPI", "1", 1);
    compare(scattered(comm, 700, [](Global i, Global j) { return static_cast<double>(1 + (i + 2 * j) % 5); }), 2,
            "addresses");
    setenv("STRETTO_GPU_AWARE_MPI", "maybe", 1);
    const auto A = problem(comm, "poisson2d:23x19");
    const Matrix there(A, 1);
    const Memory v(static_cast<std::size_t>(A.local_rows()));
    const MultiVector<on_emulated> x(v.data(), A.local_rows(), 1);
    if (comm.size() > 1) {
        EXPECT_THROW(there.apply(x, x), InputError);
    }
    unsetenv("STRETTO_GPU_AWARE_MPI");
}

/// Vectors of a small matrix, in a space that counts what it communicates.
struct DeviceSums : testing::Test {
    MpiComm mpi;
    CountingComm comm{mpi};
    CsrMatrix<double> A = problem(comm, "poisson2d:13x11");
    Matrix there{A, 2};
    Space<on_emulated> V{comm, A.local_rows(), 2, 4, 1, Formulation::merged};
    LinearMap<on_emulated> product{AnyOperator<on_emulated>(there), V, Kernel::apply};
    MultiVector<on_emulated> x = V.vector(), y = V.vector(), z = V.vector();
    const double n = static_cast<double>(A.rows());

    DeviceSums() {
        const std::vector<double> ones(x.size(), 1.0);
        V.upload(ones, x);
    }
};

TEST_F(DeviceSums, StartWhenTheDeviceHasTheProductThatFollows) {
    const auto before = comm.sums;
    auto first = V.start(dot(x, x));
    auto second = V.start(y <<= x + x, dot(x, y), dot(y, y));
    EXPECT_EQ(comm.sums, before);
    product.apply(x, z);
    EXPECT_EQ(comm.sums, before + 2);
    auto third = V.start(y <<= y + x, dot(x, y));
    const auto [xx] = first.wait();
    EXPECT_EQ(comm.sums, before + 3);  // in their order, whoever is waited for
    const auto [xy, yy] = second.wait();
    const auto [later] = third.wait();
    for (int j = 0; j < 2; ++j) {
        EXPECT_EQ(xx[j], n);
        EXPECT_EQ(xy[j], 2 * n);
        EXPECT_EQ(yy[j], 4 * n);
        EXPECT_EQ(later[j], 3 * n);
    }
}

TEST_F(DeviceSums, ThatNobodyWaitsForAreStartedAllTheSame) {
    const auto before = comm.sums;
    {
        const auto dropped = V.start(dot(x, x));
    }
    EXPECT_EQ(comm.sums, before + 1);
}

TEST_F(DeviceSums, KeepTheirNumbersWhateverIsSaidMeanwhile) {
    std::vector<InFlight<on_emulated, 1>> in_flight;
    for (int k = 0; k < 20; ++k) {  // more than there are places at first
        in_flight.push_back(V.start(dot(x, x)));
        V.run(x <<= x + x);
    }
    for (int k = 0; k < 20; ++k) {
        const auto [square] = in_flight[static_cast<std::size_t>(k)].wait();
        for (int j = 0; j < 2; ++j) EXPECT_EQ(square[j], n * std::pow(4.0, k));
    }
}

TEST(DeviceOffsets, CountMoreEntriesThanThirtyTwoBits) {
    constexpr Index rows = 100'000, in_row = 25'000;  // 2.5·10⁹ nonzeros
    std::vector<Index> all(rows);
    std::iota(all.begin(), all.end(), 0);
    const auto length = [](Index) { return in_row; };
    EXPECT_EQ(RowStarts(all, length).start.back(), std::int64_t{rows} * in_row);
    const Slices slices(std::move(all), length);
    EXPECT_EQ(slices.terms(), std::int64_t{rows} / 32 * in_row);
    EXPECT_EQ(Slices::entry(slices.terms() - 1, 31), std::size_t{rows} * in_row - 1);
    EXPECT_GT(Slices::entry(slices.terms() - 1, 31), std::numeric_limits<std::uint32_t>::max() / 2);
}

}  // namespace
