// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "allocations.hpp"
#include "formulas.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {
namespace {

/// Moves data only in wait(), until when what will be received is NaN; counts charges.
class LateComm final : public Comm {
public:
    LateComm() : Comm(MPI_COMM_WORLD) {}
    Pending start_sum(std::span<const double> mine, std::span<double> total) override {
        return inner_.start_sum(mine, total);
    }
    void charge(double bytes) override { charged += bytes; }

    int exchanges = 0;
    double charged = 0;
    std::function<void()> at_wait;  // called when the exchange is waited for, before anything arrives

private:
    Pending post_exchange(std::span<const Message> receives, std::span<const Message> sends) override {
        for (const auto& message : receives) std::memset(message.data.data(), 0xff, message.data.size());
        receives_ = receives;
        sends_ = sends;
        ++exchanges;
        return {*this, 0};
    }
    std::optional<Clock::time_point> finish(int) override {
        if (at_wait) at_wait();
        return inner_.start_exchange(receives_, sends_).wait();
    }

    MpiComm inner_;
    std::span<const Message> receives_, sends_;
};

void expect_refused(const Partition& partition, const LocalRows<double>& rows, const std::string& message,
                    int threads = 1) {
    MpiComm comm;
    try {
        CsrMatrix<double>(comm, partition, rows, threads);
        ADD_FAILURE() << "accepted, instead of: " << message;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
}

// The terms of each row cancel but for the last of their digits, so that nothing of b − A x is left in double
// precision.
TEST(Csr, ResidualsAreOfTwiceThePrecision) {
    if (!long_doubles_are_longer()) GTEST_SKIP() << "nothing here has more digits than double";
    MpiComm comm;
    const Global n = 37;
    for (const int threads : {1, 2})
        for (const int m : {1, 3}) {
            const auto partition = Partition::even(n, comm.size());
            const Global first = partition.first(comm.rank()), end = partition.first(comm.rank() + 1);
            LocalRows<double> rows;
            rows.start = {0};
            for (Global i = first; i < end; ++i) {
                for (Global j = 0; j < n; ++j) {
                    rows.columns.push_back(j);
                    rows.values.push_back(uniform(3, i, static_cast<int>(j)));
                }
                rows.start.push_back(static_cast<Global>(rows.columns.size()));
            }
            const CsrMatrix<double> A(comm, partition, rows, threads);
            std::vector<double> x, b, r(static_cast<std::size_t>(A.local_rows() * m));
            for (Global i = first; i < end; ++i)
                for (int c = 0; c < m; ++c) {
                    x.push_back(uniform(4, i, c));
                    long double sum = 0;
                    for (Global j = 0; j < n; ++j)
                        sum += static_cast<long double>(uniform(3, i, static_cast<int>(j))) * uniform(4, j, c);
                    b.push_back(static_cast<double>(sum));
                }
            const auto view = [&](std::vector<double>& values) {
                return MultiVector<double>(values.data(), A.local_rows(), m);
            };
            A.residual(view(b), view(x), view(r));
            std::size_t k = 0;
            for (Global i = first; i < end; ++i)
                for (int c = 0; c < m; ++c, ++k) {
                    long double sum = b[k];
                    for (Global j = 0; j < n; ++j)
                        sum -= static_cast<long double>(uniform(3, i, static_cast<int>(j))) * uniform(4, j, c);
                    EXPECT_NEAR(r[k], static_cast<double>(sum), 1e-3 * std::abs(static_cast<double>(sum)) + 1e-18);
                }
        }
}

// Once each, when they are there and x is still as it was, whatever the storage.
TEST(Csr, RowsAreHandedOnOnceAsSoonAsTheyAreThere) {
    MpiComm comm;
    const auto blocks = [](Global i, Global j) {
        return i / 3 == j / 3 || std::abs(i / 3 - j / 3) == 20 ? 1 + uniform(5, i, j) : 0;
    };
    const auto band = [](Global i, Global j) { return std::abs(i - j) < 3 ? 1 + uniform(5, i, j) : 0; };
    const auto loose = [](Global i, Global j) {
        return (7 * i * i + 13 * j) % 31 == 0 || i == j ? 1 + uniform(5, i, j) : 0;
    };
    for (const Formula& formula : std::vector<Formula>{tridiagonal, band, blocks, loose, scattered})
        for (const auto& partition : partitions(600, comm.size()))
            for (const int threads : {1, 2})
                for (const int columns : {1, 3}) {
                    if (threads > 1 && comm.size() > 1) continue;
                    const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), formula), threads);
                    const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
                    std::vector<double> x(size), y(size, std::numeric_limits<double>::quiet_NaN()), z(size),
                        there(size);
                    std::vector<int> times(static_cast<std::size_t>(A.local_rows()));
                    for (std::size_t i = 0; i < size; ++i) x[i] = uniform(9, static_cast<Global>(i));
                    const auto work = [&](int part, Index begin, Index end) {
                        ASSERT_LT(part, A.parts());
                        for (Index i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
                        std::copy(y.begin() + begin * columns, y.begin() + end * columns,
                                  there.begin() + begin * columns);
                    };
                    A.apply({x.data(), A.local_rows(), columns}, {y.data(), A.local_rows(), columns}, RowWork(work));
                    A.apply({x.data(), A.local_rows(), columns}, {z.data(), A.local_rows(), columns});
                    for (const int each : times) ASSERT_EQ(each, 1);
                    ASSERT_EQ(there, z);
                }
}

TEST(Csr, ProductIsTheDenseOne) {
    MpiComm comm;
    for (const Global rows : {1, 2, 9, 40})
        for (const auto& partition : partitions(rows, comm.size()))
            for (const int threads : {1, 2}) {
                if (threads > 1 && rows != 9) continue;  // threads that outnumber cores are slow to meet
                CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), scattered), threads);
                for (const int columns : {1, 2, 3, 4, 7, 8, 16, 33}) expect_product(A, scattered, columns);
            }
}

TEST(Csr, TransposeProductIsThatOfTheExplicitTranspose) {
    MpiComm comm;
    const Formula transposed = [](Global i, Global j) { return scattered(j, i); };
    for (const Global rows : {1, 2, 9, 40})
        for (const auto& partition : partitions(rows, comm.size())) {
            const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), scattered)),
                T(comm, partition, rows_of(partition, comm.rank(), transposed));
            const Global first = partition.first(comm.rank());
            for (const int columns : {1, 2, 3, 4, 7, 16, 33}) {
                const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
                std::vector<double> x(size), y(size, std::numeric_limits<double>::quiet_NaN()), z(y);
                const MultiVector<double> X(x.data(), A.local_rows(), columns);
                for (Index i = 0; i < A.local_rows(); ++i)
                    for (int c = 0; c < columns; ++c) X(i, c) = uniform(3, first + i, c);
                A.apply_transpose(X, {y.data(), A.local_rows(), columns});
                T.apply(X, {z.data(), A.local_rows(), columns});
                for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(y[i], z[i], 1e-13) << rows << " rows";
                // What the transpose has left in the buffers does not reach the next product.
                if (columns == 3) expect_product(A, scattered, columns);
            }
        }
    const auto partition = Partition::even(5, comm.size());
    const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), scattered));
    EXPECT_THROW(A.apply_transpose({nullptr, A.local_rows() + 1, 1}, {nullptr, A.local_rows(), 1}), InputError);
}

TEST(Csr, MatrixWithoutRowsOrNonzeros) {
    MpiComm comm;
    for (const Global rows : {0, 5}) {
        const auto partition = Partition::even(rows, comm.size());
        const Formula zero = [](Global, Global) { return 0.0; };
        const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), zero), 2);
        EXPECT_EQ(A.nonzeros(), 0);
        expect_product(A, zero, 3);
    }
}

TEST(Csr, HaloIsReadOnlyAfterTheWait) {
    LateComm comm;
    const auto partition = Partition::even(23, comm.size());
    for (const Formula& formula : {Formula(scattered), Formula(tridiagonal)}) {
        comm.exchanges = 0;
        comm.charged = 0;
        const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), formula), 2);
        expect_product(A, formula, 3);
        EXPECT_EQ(comm.exchanges, comm.size() > 1 ? 1 : 0);
        EXPECT_EQ(comm.charged, A.bytes(3));
    }
}

TEST(Csr, InteriorRowsAreDoneWhileTheHaloIsInFlight) {
    LateComm comm;
    const auto partition = Partition::even(40, comm.size());
    const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), tridiagonal), 2);
    const Global first = partition.first(comm.rank()), last = first + A.local_rows() - 1;
    const double unwritten = 1e300;
    std::vector<double> x(static_cast<std::size_t>(A.local_rows()), 1.0), y(x.size(), unwritten);
    int waits = 0;
    comm.at_wait = [&] {
        ++waits;
        for (Global row = first; row <= last; ++row) {
            const bool interface = (row == first && comm.rank() > 0) || (row == last && comm.rank() + 1 < comm.size());
            EXPECT_EQ(y[static_cast<std::size_t>(row - first)] == unwritten, interface) << "row " << row;
        }
    };
    A.apply({x.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
    EXPECT_EQ(waits, comm.size() > 1 ? 1 : 0);
    for (const double value : y) EXPECT_NE(value, unwritten);
}

TEST(Csr, Accessors) {
    MpiComm comm;
    const Global rows = 10;
    const auto partition = Partition::even(rows, comm.size());
    const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), tridiagonal), 2,
                              Storage::compressed_rows);
    EXPECT_EQ(A.rows(), rows);
    EXPECT_EQ(A.nonzeros(), 3 * rows - 2);
    EXPECT_EQ(A.local_rows(), partition.rows(comm.rank()));
    EXPECT_EQ(A.threads(), 2);
    const int neighbours = (comm.rank() > 0) + (comm.rank() + 1 < comm.size());
    EXPECT_EQ(A.halo_rows(), neighbours);
    EXPECT_EQ(A.neighbours(), neighbours);
    const auto local_nonzeros = A.local().columns.size();
    EXPECT_EQ(A.bytes(4), 12.0 * static_cast<double>(local_nonzeros) + 4 * (A.local_rows() + 1) +
                              8 * 4 * (2 * A.local_rows() + A.halo_rows()));
    EXPECT_EQ(A.diagonal(), std::vector<double>(static_cast<std::size_t>(A.local_rows()), 2.0));
    EXPECT_EQ(A.norm(), 4);  // of tridiagonal's −1, 2, −1
    EXPECT_DOUBLE_EQ(A.norm_bound(), 4);
    const auto column = [](Global i, Global j) { return j == 9 ? -1.0 : i == j ? 1.0 : 0.0; };
    const CsrMatrix<double> full(comm, partition, rows_of(partition, comm.rank(), column));
    EXPECT_DOUBLE_EQ(full.norm_bound(), std::sqrt(2.0 * 10));
}

TEST(Csr, LocalRowsAndDiagonalComeBack) {
    MpiComm comm;
    for (const auto& partition : partitions(9, comm.size())) {
        const auto rows = rows_of(partition, comm.rank(), scattered);
        const CsrMatrix<double> A(comm, partition, rows, 2);
        const auto back = A.local();
        EXPECT_EQ(back.start, rows.start);
        EXPECT_EQ(back.columns, rows.columns);
        EXPECT_EQ(back.values, rows.values);
        const auto diagonal = A.diagonal();
        for (Index i = 0; i < A.local_rows(); ++i) {
            const Global row = partition.first(comm.rank()) + i;
            EXPECT_EQ(diagonal[i], scattered(row, row));
        }
    }
}

TEST(Csr, RepeatedAppliesDoNotAllocate) {
    MpiComm comm;
    const auto partition = Partition::even(200, comm.size());
    const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), scattered), 2);
    for (const int columns : {1, 5}) {
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
        std::vector<double> x(size, 1.0), y(size);
        const MultiVector<double> X(x.data(), A.local_rows(), columns), Y(y.data(), A.local_rows(), columns);
        A.apply(X, Y);
        const auto before = allocations.load();
        for (int i = 0; i < 5; ++i) A.apply(X, Y);
        EXPECT_EQ(allocations.load(), before);
    }
}

TEST(Csr, RefusesBadInputOnEveryRank) {
    MpiComm comm;
    const auto partition = Partition::even(12, comm.size());
    const auto good = rows_of(partition, comm.rank(), tridiagonal);
    const bool last = comm.rank() == comm.size() - 1;
    const auto spoiled = [&](auto spoil) {
        auto rows = good;
        if (last) spoil(rows);
        return rows;
    };
    expect_refused(partition, spoiled([](auto& rows) { rows.columns.back() = 12; }),
                   "row 12, column 13: outside the 12 × 12 matrix");
    expect_refused(partition, spoiled([](auto& rows) { rows.columns.front() = -1; }), "column 0: outside");
    expect_refused(partition, spoiled([](auto& rows) { rows.values.back() = std::nan(""); }),
                   "row 12, column 12: the value is nan");
    expect_refused(partition,
                   spoiled([](auto& rows) { rows.values.back() = -std::numeric_limits<double>::infinity(); }),
                   "row 12, column 12: the value is -inf");
    expect_refused(partition, spoiled([](auto& rows) { rows.columns.back() = 10; }),
                   "row 12, column 11: the columns of a row must increase");
    expect_refused(partition, spoiled([](auto& rows) { rows.start.pop_back(); }), "rows, its partition has");
    expect_refused(partition, spoiled([](auto& rows) { rows.start.clear(); }), "rows, its partition has");
    expect_refused(partition, spoiled([](auto& rows) { rows.values.pop_back(); }), "inconsistent");
    expect_refused(partition, spoiled([](auto& rows) { rows.start[1] = 1000; }), "inconsistent");
    expect_refused(Partition::even(12, comm.size() + 1), good, "the communicator has");
    expect_refused(partition, good, "at least 1 thread, not 0", 0);
}

TEST(Csr, RefusesVectorsOfAnotherShape) {
    MpiComm comm;
    const auto partition = Partition::even(12, comm.size());
    const CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), tridiagonal), 1);
    std::vector<double> data(60);
    const Index rows = A.local_rows();
    const MultiVector<double> two(data.data(), rows, 2), three(data.data() + 24, rows, 3);
    EXPECT_THROW(A.apply(two, three), InputError);
    EXPECT_THROW(A.apply(two, {data.data() + 24, rows - 1, 2}), InputError);
}

}  // namespace
}  // namespace stretto
