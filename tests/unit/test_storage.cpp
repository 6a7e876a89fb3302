// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "formulas.hpp"
#include "stretto/sparse/storage_report.hpp"

namespace stretto {
namespace {

/// For several numbers of columns.
/// To the bit where all rows are in forms whose terms are summed in the order of compressed rows.
void expect_same_products(const CsrMatrix<double>& A, const CsrMatrix<double>& C, double tolerance) {
    for (const int columns : {1, 2, 3, 7, 16, 33}) {
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
        std::vector<double> x(size), y(size, std::numeric_limits<double>::quiet_NaN()), z(size);
        for (std::size_t i = 0; i < size; ++i) x[i] = uniform(9, static_cast<Global>(i));
        A.apply({x.data(), A.local_rows(), columns}, {y.data(), A.local_rows(), columns});
        C.apply({x.data(), A.local_rows(), columns}, {z.data(), A.local_rows(), columns});
        bool in_order = true;
        for (std::size_t f = 0; f < RowForms<double>::size; ++f)
            in_order &=
                RowForms<double>::in_order[f] || A.forms().forms[f].rows == 0 || !StoredForms::is_read(f, columns);
        std::size_t far = 0;
        for (std::size_t i = 0; i < size; ++i) far += !(std::abs(y[i] - z[i]) <= (in_order ? 0 : tolerance));
        EXPECT_EQ(far, 0) << "of " << size << ", " << columns << " columns";
    }
}

TEST(Storage, NamesAreThoseOfTheCommandLine) {
    EXPECT_EQ(std::vector<std::string_view>(storage_names.begin(), storage_names.end()),
              (std::vector<std::string_view>{"auto", "csr", "repeated", "in-step", "blocked", "sliced"}));
    for (const auto name : storage_names) EXPECT_EQ(Storage(name).name(), name);
    EXPECT_EQ(Storage("auto"), Storage::automatic);
    EXPECT_EQ(Storage("csr"), Storage::compressed_rows);
    try {
        Storage("in_step");
        ADD_FAILURE();
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(),
                     "there is no storage 'in_step': did you mean in-step? There are: auto, csr, repeated, in-step, "
                     "blocked, sliced");
    }
}

TEST(Storage, ReportCountsTheRowsOfAllRanks) {
    MpiComm comm;
    constexpr Global n = 400;
    const auto partition = Partition::even(n, comm.size());
    const auto rows = rows_of(partition, comm.rank(), tridiagonal);
    const CsrMatrix<double> A(comm, partition, rows), C(comm, partition, rows, 1, Storage::compressed_rows),
        S(comm, partition, rows_of(partition, comm.rank(), scattered), 1, Storage("repeated"));
    const Global waiting = 2 * (comm.size() - 1);
    for (const int columns : {1, 3}) {
        const auto report = report_storage(A, columns);
        ASSERT_EQ(report.forms.size(), storage_names.size() - 1);
        for (std::size_t f = 0; f < report.forms.size(); ++f) {
            const auto& [name, count, words] = report.forms[f];
            EXPECT_EQ(name, storage_names[f + 1]);
            EXPECT_EQ(count, name == "csr" ? waiting : name == "repeated" ? n - waiting : 0);
        }
        EXPECT_EQ(report.main, "repeated");
        EXPECT_EQ(report.halved_rows, 0);
        EXPECT_NE(report.in_words("auto").find(" % of the rows repeat one of "), std::string::npos)
            << report.in_words("auto");
        EXPECT_NE(report.in_words("in-step").find("; in-step was asked for, and does not pay"), std::string::npos);
        EXPECT_LT(report.bytes_per_nonzero, report_storage(C, columns).bytes_per_nonzero);
        EXPECT_EQ(report_storage(C, columns).main, "csr");
        EXPECT_EQ(report_storage(S, columns).forms[1].rows, 0);
    }
}

TEST(Storage, RepeatedRowsGiveTheSameProduct) {
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
                EXPECT_EQ(C.forms()["repeated"].rows + C.forms()["in-step"].rows, 0);
                EXPECT_LE(A.bytes(1), C.bytes(1));
                EXPECT_LE(A.forms()["repeated"].different, each.different);
                if (each.different > 0 && comm.size() == 1) {
                    EXPECT_GT(A.forms()["repeated"].rows, 0.9 * static_cast<double>(each.rows));
                    EXPECT_LT(A.bytes(1), 0.8 * C.bytes(1));
                }
                for (const int columns : {1, 2, 3}) expect_product(A, each.formula, columns);
                expect_same_products(A, C, 1e-13);
            }
}

TEST(Storage, RowsInStepGiveTheSameProduct) {
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
                EXPECT_EQ(C.forms()["in-step"].rows, 0);
                if (comm.size() == 1) {
                    EXPECT_EQ(A.forms()["repeated"].rows, 0);
                    EXPECT_EQ(A.forms()["in-step"].rows, each.pays ? A.local_rows() : 0);
                    EXPECT_LT(A.forms().bytes(1), (!each.pays ? 1.1 : each.single ? 0.4 : 0.75) * C.forms().bytes(1));
                }
                expect_same_products(A, C, each.single ? 1e-7 : 1e-11);
            }
}

/// Matrices of 700 rows with nonzeros where `near` says, kept in a form for products of one column: no value like
/// another, all in single precision, or few different ones. `bytes`: at most so many of those of compressed rows, in
/// turn.
template <class Near>
void expect_narrow(Near near, std::string_view form, const std::array<double, 3>& bytes) {
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
                    EXPECT_EQ(A.forms()[form].rows, A.local_rows());
                    EXPECT_LT(A.forms().bytes(1), each.bytes * C.forms().bytes(1));
                    EXPECT_EQ(A.bytes(1) - A.forms().bytes(1), C.bytes(1) - C.forms().bytes(1));
                    EXPECT_EQ(A.bytes(3), C.bytes(3));
                }
                expect_same_products(A, C, each.tolerance);
            }
}

TEST(Storage, BlockedRowsGiveTheSameProduct) {
    // Nodes of three unknowns, of five, of two, of nine; neighbours in a band; unknowns coupled to the like of others.
    const auto node = [](Global i) {
        return i < 300 ? i / 3 : i < 400 ? 100 + i / 5 : i < 600 ? 200 + i / 2 : 500 + i / 9;
    };
    const auto near = [&](Global i, Global j) {
        const Global a = node(i), b = node(j);
        return i != 13 &&
               (a == b || (std::abs(a - b) < 25 && (7 * a * a + 13 * b) % 5 == 0) || (j == i + 40 && i % 7 == 0));
    };
    expect_narrow(near, "blocked", {0.88, 0.55, 0.3});
}

// A symmetric matrix whose rows run in step, or are in blocks, keeps one of two mirror images; with one pair that
// differs, both of all.
TEST(Storage, SymmetricMatricesAreHalved) {
    MpiComm comm;
    constexpr Global n = 720, nx = 40, ny = 6;
    const auto grid = [](Global i, Global j) {
        const Global dx = j % nx - i % nx, dy = j / nx % ny - i / nx % ny, dz = j / (nx * ny) - i / (nx * ny);
        return std::abs(dx) + std::abs(dy) + std::abs(dz) <= 1;
    };
    const auto nodes = [](Global i, Global j) {
        const Global a = std::min(i, j) / 3, b = std::max(i, j) / 3;
        return i != 13 && j != 13 && (a == b || (b - a < 70 && (7 * a * a + 13 * b) % 5 == 0));
    };
    struct Case {
        std::function<bool(Global, Global)> near;
        std::string_view form;
    };
    for (const auto& [near, form] : {Case{grid, "in-step"}, Case{nodes, "blocked"}}) {
        const auto distinct = [&](Global i, Global j) {
            return near(i, j) ? 2 + uniform(3, std::min(i, j), std::max(i, j)) : 0.0;
        };
        const auto single = [&](Global i, Global j) {
            return near(i, j) ? static_cast<double>(1 + std::min(i, j) * 1000 + std::max(i, j)) : 0.0;
        };
        const auto few = [&](Global i, Global j) {
            return near(i, j) ? 1.0 / static_cast<double>(1 + (i + j) % 200) : 0.0;
        };
        const auto unlike = [&](Global i, Global j) { return i == 361 && j == 360 ? 7.0 : distinct(i, j); };
        const auto missing = [&](Global i, Global j) { return i == 361 && j == 360 ? 0.0 : distinct(i, j); };
        for (const Formula& formula : std::vector<Formula>{distinct, single, few, unlike, missing})
            for (const auto& partition : partitions(n, comm.size()))
                for (const int threads : {1, 2}) {
                    if (threads > 1 && comm.size() > 1) continue;
                    const auto rows = rows_of(partition, comm.rank(), formula);
                    const CsrMatrix<double> A(comm, partition, rows, threads);
                    const CsrMatrix<double> C(comm, partition, rows, threads, Storage::compressed_rows);
                    if (comm.size() * threads == 1) {
                        const bool symmetric = formula(361, 360) == formula(360, 361);
                        EXPECT_EQ(A.forms()[form].rows, n);
                        if (symmetric) {
                            EXPECT_EQ(report_storage(A, 1).halved_rows, n);
                            EXPECT_EQ(report_storage(A, 2).halved_rows, A.forms()["in-step"].rows);
                            EXPECT_LT(A.forms().bytes(1), 0.5 * C.forms().bytes(1));
                        } else if (formula(361, 360) != 0) {
                            EXPECT_EQ(report_storage(A, 1).halved_rows, 0);
                        }
                    }
                    expect_same_products(A, C, formula(1, 1) > 1000 ? 1e-7 : 1e-12);
                }
    }
}

// Columns further apart than 16 bits count are reached in two steps; rows without columns in common stay as they are.
TEST(Storage, BlockedRowsStepFar) {
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
        const CsrMatrix<double> A(comm, partition, rows, 1, Storage("blocked"));
        const CsrMatrix<double> C(comm, partition, rows, 1, Storage::compressed_rows);
        EXPECT_EQ(A.forms()["blocked"].rows, per_node == 3 ? local : 0);
        expect_same_products(A, C, 1e-13);
    }
}

// A step in two, from a column of another thread's rows, lands on an entry that is kept with its mirror image.
TEST(Storage, BlockedRowsStepOverImages) {
    MpiComm comm;
    if (comm.size() > 1) GTEST_SKIP() << "two threads of one rank";
    constexpr Global n = 180'003;
    LocalRows<double> rows;
    for (Global i = 0; i < n; ++i) {
        const Global node = i / 3 * 3;
        for (const Global begin : {Global{60'000}, Global{125'535}, Global{180'000}}) {
            const bool together =
                (node == 180'000) != (begin == 180'000) && (node == 60'000 || node == 125'535 || node == 180'000);
            if (node != begin && !together) continue;
            for (Global k = begin; k < begin + 3; ++k) {
                rows.columns.push_back(k);
                rows.values.push_back(uniform(1, std::min(i, k), std::max(i, k)));
            }
        }
        if (node != 60'000 && node != 125'535 && node != 180'000)
            for (Global k = node; k < node + 3; ++k) {
                rows.columns.push_back(k);
                rows.values.push_back(uniform(1, std::min(i, k), std::max(i, k)));
            }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    const auto partition = Partition::even(n, 1);
    const CsrMatrix<double> A(comm, partition, rows, 2, Storage("blocked"));
    const CsrMatrix<double> C(comm, partition, rows, 2, Storage::compressed_rows);
    EXPECT_EQ(report_storage(A, 1).halved_rows, n);
    expect_same_products(A, C, 1e-13);
}

// A step over most of the matrix takes more terms than there are nonzeros so far.
TEST(Storage, BlockedRowsBeginWithALongStep) {
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
    EXPECT_EQ(A.forms()["blocked"].rows, local);
    std::vector<double> x(static_cast<std::size_t>(local)), y(x), z(x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = uniform(9, static_cast<Global>(i));
    A.apply({x.data(), A.local_rows(), 1}, {y.data(), A.local_rows(), 1});
    C.apply({x.data(), A.local_rows(), 1}, {z.data(), A.local_rows(), 1});
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], z[i], 1e-13);
}

TEST(Storage, SlicedRowsGiveTheSameProduct) {
    // Without order: 0 to 12 nonzeros a row, one row of 30; no value like another, or in single precision, or few.
    const auto near = [](Global i, Global j) {
        if (i == 333) return j % 24 == 0;
        return i % 50 != 0 && std::abs(i - j) < 90 && (i == j || (7 * i * i + 13 * j) % 31 == 0);
    };
    expect_narrow(near, "sliced", {0.96, 0.65, 0.42});
}

// Columns further apart than 16 bits count, within a term of a slice: compressed rows stay.
TEST(Storage, RowsWithFarColumnsAreNotSliced) {
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
    const CsrMatrix<double> A(comm, partition, rows, 1, Storage("sliced"));
    EXPECT_EQ(A.forms()["sliced"].rows, 0);
    const CsrMatrix<double> C(comm, partition, rows, 1, Storage::compressed_rows);
    EXPECT_EQ(A.bytes(1), C.bytes(1));
}

}  // namespace
}  // namespace stretto
