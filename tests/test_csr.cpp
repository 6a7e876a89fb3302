// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "allocations.hpp"
#include "stretto/core/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/matrix/csr.hpp"

namespace stretto {
namespace {

using Formula = std::function<double(Global row, Global column)>;  // 0: no entry

LocalRows<double> rows_of(const Partition& partition, int rank, const Formula& formula) {
    LocalRows<double> rows;
    for (Global i = partition.first(rank); i < partition.first(rank + 1); ++i) {
        for (Global j = 0; j < partition.rows(); ++j)
            if (const double value = formula(i, j); value != 0) {
                rows.columns.push_back(j);
                rows.values.push_back(value);
            }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    return rows;
}

/// Random and sparse, with an empty row, a dense row, a dense column and no symmetry.
double scattered(Global i, Global j) {
    if (i == 3) return 0;
    if (i == 5 || j == 6 || uniform(1, i, j) > 0.6) return uniform(2, i, j);
    return 0;
}

double tridiagonal(Global i, Global j) { return i == j ? 2 : std::abs(i - j) == 1 ? -1 : 0; }

/// Even, all rows on one rank, and cuts at random places, so that some ranks are empty.
std::vector<Partition> partitions(Global rows, int ranks) {
    std::vector<Partition> result{Partition::even(rows, ranks)};
    std::vector<Global> last(static_cast<std::size_t>(ranks) + 1, 0);
    last.back() = rows;
    result.emplace_back(last);
    for (int seed = 0; seed < 2; ++seed) {
        std::vector<Global> first = last;
        for (int p = 1; p < ranks; ++p)
            first[p] = static_cast<Global>(0.5 * (1 + uniform(7, seed, p)) * static_cast<double>(rows + 1));
        std::sort(first.begin() + 1, first.end());
        result.emplace_back(first);
    }
    if (ranks == 4 && rows == 9) result.emplace_back(std::vector<Global>{0, 0, 5, 5, 9});
    return result;
}

void expect_product(const CsrMatrix<double>& A, const Formula& formula, int columns) {
    const Global first = A.partition().first(A.comm().rank());
    const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
    std::vector<double> x(size), y(size, std::numeric_limits<double>::quiet_NaN());
    const MultiVector<double> X(x.data(), A.local_rows(), columns), Y(y.data(), A.local_rows(), columns);
    for (Index i = 0; i < A.local_rows(); ++i)
        for (int c = 0; c < columns; ++c) X(i, c) = uniform(3, first + i, c);
    A.apply(X, Y);
    for (Index i = 0; i < A.local_rows(); ++i)
        for (int c = 0; c < columns; ++c) {
            double sum = 0;
            for (Global j = 0; j < A.rows(); ++j) sum += formula(first + i, j) * uniform(3, j, c);
            ASSERT_NEAR(Y(i, c), sum, 1e-13) << "row " << first + i << ", column " << c << " of " << columns;
        }
}

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

/// For several numbers of columns.
void expect_same_products(const CsrMatrix<double>& A, const CsrMatrix<double>& C, double tolerance) {
    for (const int columns : {1, 2, 3, 7, 16, 33}) {
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
        std::vector<double> x(size), y(size, std::numeric_limits<double>::quiet_NaN()), z(size);
        for (std::size_t i = 0; i < size; ++i) x[i] = uniform(9, static_cast<Global>(i));
        A.apply({x.data(), A.local_rows(), columns}, {y.data(), A.local_rows(), columns});
        C.apply({x.data(), A.local_rows(), columns}, {z.data(), A.local_rows(), columns});
        for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(y[i], z[i], tolerance);
    }
}

TEST(Csr, RepeatedRowsGiveTheSameProduct) {
    MpiComm comm;
    // 3 × 3 × 3 neighbours on a 40 × 4 × 4 grid: 27 different rows, sums of up to 27 terms.
    constexpr Global nx = 40, ny = 4, nz = 4;
    const auto grid = [](Global i, Global j) {
        const Global dx = j % nx - i % nx, dy = j / nx % ny - i / nx % ny, dz = j / (nx * ny) - i / (nx * ny);
        return std::max({std::abs(dx), std::abs(dy), std::abs(dz)}) > 1 ? 0.0
               : i == j                                                 ? 30.0
                                                                        : -1.0 - 0.1 * dx + 0.2 * dz;
    };
    const auto empty = [](Global i, Global j) { return i % 20 < 10 ? 0.0 : tridiagonal(i, j); };
    struct Case {
        Formula formula;
        Global rows;
        int different;  // 0: not worth it
    };
    for (const Case& each :
         {Case{grid, nx * ny * nz, 27}, Case{tridiagonal, 300, 3}, Case{empty, 300, 4}, Case{scattered, 40, 0},
          Case{[](Global i, Global j) { return i == j ? 1.0 + i : 0.0; }, 300, 0}})
        for (const auto& partition : partitions(each.rows, comm.size()))
            for (const int threads : {1, 2}) {
                if (threads > 1 && comm.size() > 1) continue;  // threads that outnumber cores are slow to meet
                const auto rows = rows_of(partition, comm.rank(), each.formula);
                const CsrMatrix<double> A(comm, partition, rows, threads);
                const CsrMatrix<double> C(comm, partition, rows, threads, Storage::compressed_rows);
                EXPECT_EQ(C.forms().repeated + C.forms().in_step, 0);
                EXPECT_LE(A.bytes(1), C.bytes(1));
                EXPECT_LE(A.forms().different, each.different);
                if (each.different > 0 && comm.size() == 1) {
                    EXPECT_GT(A.forms().repeated, 0.9 * static_cast<double>(each.rows));
                    EXPECT_LT(A.bytes(1), 0.8 * C.bytes(1));
                }
                for (const int columns : {1, 2, 3}) expect_product(A, each.formula, columns);
                expect_same_products(A, C, 1e-13);
            }
}

TEST(Csr, RowsInStepGiveTheSameProduct) {
    MpiComm comm;
    // 27 neighbours on a 40 × 5 × 4 grid, no value like another; whole numbers fit in single precision.
    constexpr Global nx = 40, ny = 5, nz = 4;
    const auto near = [](Global i, Global j) {
        const Global dx = j % nx - i % nx, dy = j / nx % ny - i / nx % ny, dz = j / (nx * ny) - i / (nx * ny);
        return std::max({std::abs(dx), std::abs(dy), std::abs(dz)}) <= 1;
    };
    const auto grid = [&](Global i, Global j) { return near(i, j) ? 2 + uniform(3, i * 1000 + j) : 0.0; };
    const auto whole = [&](Global i, Global j) { return near(i, j) ? static_cast<double>(1 + i * 1000 + j) : 0.0; };
    const auto gaps = [&](Global i, Global j) { return i % 30 < 20 ? grid(i, j) : 0.0; };
    struct Case {
        Formula formula;
        bool single;
        bool pays;
    };
    for (const Case& each :
         {Case{grid, false, true}, Case{whole, true, true}, Case{gaps, false, true},
          Case{[&](Global i, Global j) { return scattered(i % 40, j % 40) * grid(i, j); }, false, false}})
        for (const auto& partition : partitions(nx * ny * nz, comm.size()))
            for (const int threads : {1, 2}) {
                if (threads > 1 && comm.size() > 1) continue;
                const auto rows = rows_of(partition, comm.rank(), each.formula);
                const CsrMatrix<double> A(comm, partition, rows, threads);
                const CsrMatrix<double> C(comm, partition, rows, threads, Storage::compressed_rows);
                EXPECT_EQ(C.forms().in_step, 0);
                if (comm.size() == 1) {
                    EXPECT_EQ(A.forms().repeated, 0);
                    EXPECT_EQ(A.forms().in_step, each.pays ? A.local_rows() : 0);
                    EXPECT_LT(A.forms().bytes(), (!each.pays ? 1.1 : each.single ? 0.4 : 0.75) * C.forms().bytes());
                }
                expect_same_products(A, C, each.single ? 1e-7 : 1e-11);
            }
}

/// Matrices of 700 rows with nonzeros where `near` says, kept in a form for products of one column: no value like
/// another, all in single precision, or few different ones. `bytes`: at most so many of those of compressed rows, in
/// turn.
template <class Near>
void expect_narrow(Near near, Index CsrMatrix<double>::Forms::* rows_in_form, const std::array<double, 3>& bytes) {
    MpiComm comm;
    constexpr Global n = 700;
    const auto distinct = [&](Global i, Global j) { return near(i, j) ? 2 + uniform(3, i, j) : 0.0; };
    const auto single = [&](Global i, Global j) { return near(i, j) ? static_cast<double>(1 + i * 1000 + j) : 0.0; };
    const auto few = [&](Global i, Global j) {
        return near(i, j) ? 1.0 / static_cast<double>(1 + (i + j) % 200) : 0.0;
    };
    struct Case {
        Formula formula;
        double bytes;  // of those of compressed rows
        double tolerance;
    };
    for (const Case& each : {Case{distinct, bytes[0], 1e-12}, Case{single, bytes[1], 1e-7}, Case{few, bytes[2], 1e-12}})
        for (const auto& partition : partitions(n, comm.size()))
            for (const int threads : {1, 2}) {
                if (threads > 1 && comm.size() > 1) continue;
                const auto rows = rows_of(partition, comm.rank(), each.formula);
                const CsrMatrix<double> A(comm, partition, rows, threads);
                const CsrMatrix<double> C(comm, partition, rows, threads, Storage::compressed_rows);
                if (comm.size() == 1) {
                    EXPECT_EQ(A.forms().*rows_in_form, A.local_rows());
                    EXPECT_LT(A.forms().bytes(), each.bytes * C.forms().bytes());
                    EXPECT_EQ(A.bytes(1) - A.forms().bytes(), C.bytes(1) - C.forms().bytes());
                    EXPECT_EQ(A.bytes(3), C.bytes(3));
                }
                expect_same_products(A, C, each.tolerance);
            }
}

TEST(Csr, BlockedRowsGiveTheSameProduct) {
    // Nodes of three unknowns, of five, of two, of nine; neighbours in a band; unknowns coupled to the like of others.
    const auto node = [](Global i) {
        return i < 300 ? i / 3 : i < 400 ? 100 + i / 5 : i < 600 ? 200 + i / 2 : 500 + i / 9;
    };
    const auto near = [&](Global i, Global j) {
        const Global a = node(i), b = node(j);
        return i != 13 &&
               (a == b || (std::abs(a - b) < 25 && (7 * a * a + 13 * b) % 5 == 0) || (j == i + 40 && i % 7 == 0));
    };
    expect_narrow(near, &CsrMatrix<double>::Forms::blocked, {0.88, 0.55, 0.3});
}

// Columns further apart than 16 bits count are reached in two steps; rows without columns in common stay as they are.
TEST(Csr, BlockedRowsStepFar) {
    MpiComm comm;
    constexpr Global local = 80'001;
    const auto partition = Partition::even(local * comm.size(), comm.size());
    const Global first = partition.first(comm.rank());
    const auto rows_with = [&](Global per_node) {
        LocalRows<double> rows;
        for (Global i = 0; i < local; ++i) {
            const Global node = i / per_node * per_node, far = (node + 70'000) % (local - per_node);
            for (const Global begin : {std::min(node, far), std::max(node, far)})
                for (Global k = begin; k < begin + per_node; ++k) {
                    if (!rows.columns.empty() && rows.start.back() < static_cast<Global>(rows.columns.size()) &&
                        first + k <= rows.columns.back())
                        continue;
                    rows.columns.push_back(first + k);
                    rows.values.push_back(uniform(1, i, k));
                }
            rows.start.push_back(static_cast<Global>(rows.columns.size()));
        }
        return rows;
    };
    for (const Global per_node : {3, 1}) {
        const auto rows = rows_with(per_node);
        const CsrMatrix<double> A(comm, partition, rows, 1, Storage::blocked);
        const CsrMatrix<double> C(comm, partition, rows, 1, Storage::compressed_rows);
        EXPECT_EQ(A.forms().blocked, per_node == 3 ? local : 0);
        expect_same_products(A, C, 1e-13);
    }
}

// A step over most of the matrix takes more terms than there are nonzeros so far.
TEST(Csr, BlockedRowsBeginWithALongStep) {
    MpiComm comm;
    constexpr Global local = 400'000;
    const auto partition = Partition::even(local * comm.size(), comm.size());
    const Global first = partition.first(comm.rank());
    LocalRows<double> rows;
    for (Global i = 0; i < local; ++i) {
        const auto put = [&](Global k) {
            rows.columns.push_back(first + k);
            rows.values.push_back(uniform(1, i, k));
        };
        if (i == 0) {
            put(0);
            put(local - 1);
        } else if (i < 4) {
            put(i);
        } else {
            for (Global k = i / 4 * 4; k < i / 4 * 4 + 4; ++k) put(k);
        }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    const CsrMatrix<double> A(comm, partition, rows);
    const CsrMatrix<double> C(comm, partition, rows, 1, Storage::compressed_rows);
    EXPECT_EQ(A.forms().blocked, local);
    std::vector<double> x(static_cast<std::size_t>(local)), y(x), z(x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(9, static_cast<Global>(i));
    A.apply({x.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
    C.apply({x.data(), A.local_rows(), 1}, {z.data(), A.local_rows(), 1});
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], z[i], 1e-13);
}

TEST(Csr, SlicedRowsGiveTheSameProduct) {
    // Without order: 0 to 12 nonzeros a row, one row of 30; no value like another, or in single precision, or few.
    const auto near = [](Global i, Global j) {
        if (i == 333) return j % 24 == 0;
        return i % 50 != 0 && std::abs(i - j) < 90 && (i == j || (7 * i * i + 13 * j) % 31 == 0);
    };
    expect_narrow(near, &CsrMatrix<double>::Forms::sliced, {0.96, 0.65, 0.42});
}

// Columns further apart than 16 bits count, within a term of a slice: compressed rows stay.
TEST(Csr, RowsWithFarColumnsAreNotSliced) {
    MpiComm comm;
    const auto partition = Partition::even(80'000 * comm.size(), comm.size());
    LocalRows<double> rows;
    const Global first = partition.first(comm.rank());
    for (Global i = 0; i < 80'000; ++i) {
        const Global column = (i * 30'011) % 80'000;
        for (const Global k : {column, (column + 1) % 80'000}) {
            if (k < column) continue;
            rows.columns.push_back(first + k);
            rows.values.push_back(uniform(1, i, k));
        }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    const CsrMatrix<double> A(comm, partition, rows, 1, Storage::sliced);
    EXPECT_EQ(A.forms().sliced, 0);
    const CsrMatrix<double> C(comm, partition, rows, 1, Storage::compressed_rows);
    EXPECT_EQ(A.bytes(1), C.bytes(1));
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
