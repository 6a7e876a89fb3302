// SPDX-License-Identifier: BSD-3-Clause
// Other values for the same entries, and memory that runs out while a matrix is built or updated.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string_view>
#include <thread>

#include "allocations.hpp"
#include "formulas.hpp"
#include "stretto/core/random.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {
namespace {

/// Refuses the allocation that comes after so many of other threads than the first.
struct Refusal {
    static inline const auto first_thread = std::this_thread::get_id();
    static inline std::atomic<int> left{-1};

    explicit Refusal(int after) {
        left = after;
        refuses = +[] { return std::this_thread::get_id() != first_thread && left-- == 0; };
    }
    Refusal(const Refusal&) = delete;
    ~Refusal() { refuses = nullptr; }
};

// Wherever in the building of a form, on a thread other than the first: an error on every rank, not the end of the
// program.
TEST(UpdateValues, OutOfMemoryOnAThreadIsAnError) {
    MpiComm comm;
    const auto blocks = [](Global i, Global j) {
        return i / 3 == j / 3 || std::abs(i / 3 - j / 3) == 5 ? 1 + uniform(5, i, j) : 0;
    };
    const auto partition = Partition::even(240, comm.size());
    const auto rows = rows_of(partition, comm.rank(), blocks);
    for (const std::string_view storage : storage_names) {
        int refused = 0, times = 0;
        for (bool built = false; !built; refused += 1 + refused / 4, ++times) {
            ASSERT_LT(times, 100);
            std::string message;
            try {
                const Refusal refusal(refused);
                const CsrMatrix<double> A(comm, partition, rows, 2, Storage(storage));
                built = true;
            } catch (const InputError& error) {
                message = error.what();
            }
            ASSERT_EQ(built, message.find("is out of memory") == std::string::npos) << message;
        }
#ifdef _OPENMP
        const bool allocates = (storage == "blocked" || storage == "auto") && allocations_are_counted();
        EXPECT_GT(times, allocates ? 5 : 0) << storage;
#endif
    }
}

TEST(UpdateValues, OutOfMemoryInAnUpdateLeavesCompressedRows) {
    MpiComm comm;
    const auto band = [](Global i, Global j) { return std::abs(i - j) < 3 ? 1 + uniform(5, i, j) : 0; };
    const Formula twice = [&](Global i, Global j) { return 2 * band(i, j); };
    const auto partition = Partition::even(240, comm.size());
    CsrMatrix<double> A(comm, partition, rows_of(partition, comm.rank(), band), 2, Storage("in-step"));
    const auto values = rows_of(partition, comm.rank(), twice).values;
    int refused = 0;
    for (bool built = false; !built; refused += 1 + refused / 4) {
        ASSERT_LT(refused, 10'000);
        try {
            const Refusal refusal(refused);
            A.update_values(values);
            built = true;
        } catch (const InputError& error) {
            ASSERT_NE(std::string(error.what()).find("is out of memory"), std::string::npos) << error.what();
        }
        expect_product(A, twice, 2);
    }
}

/// That both are the same to the last bit, in products, powers and what they read.
void expect_same(const CsrMatrix<double>& A, const CsrMatrix<double>& B) {
    EXPECT_EQ(A.local().values, B.local().values);
    EXPECT_EQ(A.norm(), B.norm());
    EXPECT_EQ(A.norm_bound(), B.norm_bound());
    for (const int columns : {1, 3}) {
        EXPECT_EQ(A.bytes(columns), B.bytes(columns));
        const auto size = static_cast<std::size_t>(A.local_rows()) * static_cast<std::size_t>(columns);
        std::vector<double> x(size), y(size), z(size);
        for (std::size_t i = 0; i < size; ++i) x[i] = uniform(9, static_cast<Global>(i));
        const MultiVector<double> X(x.data(), A.local_rows(), columns);
        A.apply(X, {y.data(), A.local_rows(), columns});
        B.apply(X, {z.data(), A.local_rows(), columns});
        EXPECT_EQ(y, z);
        A.apply_transpose(X, {y.data(), A.local_rows(), columns});
        B.apply_transpose(X, {z.data(), A.local_rows(), columns});
        EXPECT_EQ(y, z);
    }
}

/// v₁ … v₃ of three products for one exchange, where that pays.
std::vector<double> powers(const CsrMatrix<double>& A) {
    const auto n = static_cast<std::size_t>(A.local_rows());
    std::vector<double> values(4 * n);
    for (std::size_t i = 0; i < n; ++i) values[i] = uniform(9, static_cast<Global>(i));
    SmallMatrix<double> B(4, 3, 1);
    for (int i = 0; i < 3; ++i) {
        B(i, i, 0) = 0.5;
        B(i + 1, i, 0) = 2;
        if (i > 0) B(i - 1, i, 0) = 0.25;
    }
    A.apply_powers({{values.data(), A.local_rows(), 1}, n, 4}, 0, 3, B);
    return values;
}

TEST(UpdateValues, UpdatedValuesGiveWhatAFreshMatrixGives) {
    MpiComm comm;
    const auto band = [](Global i, Global j) { return std::abs(i - j) < 3; };
    const auto far = [](Global i, Global j) { return i == j || std::abs(i - j) == 1 || std::abs(i - j) == 40; };
    const auto nodes = [](Global i, Global j) { return i / 3 == j / 3 || std::abs(i / 3 - j / 3) == 20; };
    const auto loose = [](Global i, Global j) {
        return i == j || (std::abs(i - j) < 90 && (7 * i * i + 13 * j) % 31 == 0);
    };
    // Constant, one of few, symmetric, none like another: the storage follows.
    const std::vector<Formula> fills{[](Global i, Global j) { return i == j ? 4.0 : -1.0; },
                                     [](Global i, Global j) { return 1.0 / static_cast<double>(1 + (i + j) % 20); },
                                     [](Global i, Global j) { return 2 + uniform(3, std::min(i, j), std::max(i, j)); },
                                     [](Global i, Global j) { return 2 + uniform(3, i, j); }};
    int with_powers = 0;
    for (const std::function<bool(Global, Global)>& pattern :
         std::vector<std::function<bool(Global, Global)>>{band, far, nodes, loose})
        for (const auto& partition : {Partition::even(360, comm.size()), partitions(360, comm.size()).back()})
            for (const std::string_view storage : storage_names)
                for (const int threads : {1, 2}) {
                    if (threads > 1 && (comm.size() > 1 || storage != "auto")) continue;
                    const auto rows_with = [&](const Formula& fill) {
                        return rows_of(partition, comm.rank(),
                                       [&](Global i, Global j) { return pattern(i, j) ? fill(i, j) : 0; });
                    };
                    CsrMatrix<double> A(comm, partition, rows_with(fills.back()), threads, Storage(storage));
                    const bool in_a_row = A.prepare_powers(3) == 3;
                    for (const auto& fill : fills) {
                        const auto rows = rows_with(fill);
                        const CsrMatrix<double> fresh(comm, partition, rows, threads, Storage(storage));
                        if (&fill == &fills.front())
                            A.update_values(rows);
                        else
                            A.update_values(std::span(rows.values));
                        expect_same(A, fresh);
                        if (!in_a_row) continue;
                        ASSERT_EQ(fresh.prepare_powers(3), 3);
                        EXPECT_EQ(powers(A), powers(fresh));
                        ++with_powers;
                    }
                }
    EXPECT_GT(with_powers, 0);
}

TEST(UpdateValues, RefusedUpdatesLeaveTheMatrixAsItIs) {
    MpiComm comm;
    const auto partition = Partition::even(12, comm.size());
    const auto good = rows_of(partition, comm.rank(), tridiagonal);
    CsrMatrix<double> A(comm, partition, good);
    const bool last = comm.rank() == comm.size() - 1;
    const auto expect_refused_update = [&](auto spoil, const std::string& message) {
        auto rows = good;
        for (double& value : rows.values) value *= 3;
        if (last) spoil(rows);
        try {
            A.update_values(rows);
            ADD_FAILURE() << "accepted, instead of: " << message;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
        }
        expect_product(A, tridiagonal, 2);
    };
    expect_refused_update([](auto& rows) { rows.values.back() = std::nan(""); }, "row 12, column 12: the value is nan");
    expect_refused_update([](auto& rows) { rows.values[rows.values.size() - 2] = INFINITY; },
                          "row 12, column 11: the value is inf");
    expect_refused_update([](auto& rows) { rows.columns[rows.columns.size() - 2] = 3; },
                          "row 12, column 4: a new value where the matrix has one in column 11");
    expect_refused_update(
        [](auto& rows) {
            rows.columns.pop_back();
            rows.values.pop_back();
            --rows.start.back();
        },
        "row 12: 1 new values for 2 nonzeros");
    expect_refused_update([](auto& rows) { rows.start.pop_back(); }, "was given new values of");
    expect_refused_update([](auto& rows) { rows.values.pop_back(); }, "inconsistent");
    auto values = good.values;
    if (last) values.push_back(1);
    EXPECT_THROW(A.update_values(values), InputError);
    expect_product(A, tridiagonal, 1);
}

}  // namespace
}  // namespace stretto
