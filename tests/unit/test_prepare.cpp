// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "allocations.hpp"
#include "stretto/sparse/structure.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/ordering.hpp"
#include "stretto/system/prepare.hpp"
#include "systems.hpp"

namespace stretto {
namespace {

constexpr Global n = 60;

/// Rows and columns of very different size; unsymmetric.
double badly_scaled(Global i, Global j) {
    const auto size = [](Global k) { return std::pow(10.0, static_cast<double>(k * 7 % 9) - 4); };
    if (i == j) return 8 * size(i) * size(j + 3);
    return (i - j) * (i - j) % 17 == 1 || std::abs(i - j) == 7 ? uniform(1, i, j) * size(i) * size(j + 3) : 0;
}
double badly_scaled_spd(Global i, Global j) {
    const auto size = [](Global k) { return std::pow(10.0, static_cast<double>(k * 7 % 9) - 4); };
    return (i == j ? 4 : std::abs(i - j) == 1 || std::abs(i - j) == 8 ? -0.9 : 0) * size(i) * size(j);
}
/// A grid whose rows were shuffled.
double shuffled(Global i, Global j) {
    const auto place = [](Global k) { return k * 23 % n; };
    const Global p = place(i), q = place(j);
    if (p == q) return 4.5 + static_cast<double>(p) / 100;
    const Global row = std::abs(p / 10 - q / 10), column = std::abs(p % 10 - q % 10);
    return row + column == 1 ? -1 : 0;
}

const std::vector<std::string> all_steps{
    "", "equilibrate", "rcm", "metis", "nonzeros", "metis,rcm", "equilibrate,metis", "equilibrate,rcm,nonzeros"};

TEST(Prepare, RowsThatMoveAgainAllocateNothing) {
    MpiComm comm;
    // Row i goes to place 7 i modulo n: from every rank to every other.
    const auto partition = Partition::even(n, comm.size());
    std::vector<Global> numbers;
    for (Global i = partition.first(comm.rank()); i < partition.first(comm.rank() + 1); ++i)
        numbers.push_back(7 * i % n);
    const RowMoves moves(comm, numbers, partition);
    const std::size_t rows = numbers.size();
    std::vector<double> b(2 * rows), moved(2 * rows), back(2 * rows);
    for (std::size_t k = 0; k < b.size(); ++k)
        b[k] = static_cast<double>(2 * partition.first(comm.rank()) + static_cast<Global>(k));
    RowMoves::Packed packed;
    for (int time = 0; time < 2; ++time) {
        const auto before = allocations.load();
        moves.forward(comm, b, 2, moved, packed);
        moves.back(comm, moved, 2, back, packed);
        EXPECT_TRUE(time == 0 || allocations.load() == before);
        EXPECT_EQ(back, b);
    }
    for (std::size_t k = 0; k < rows; ++k) {
        const Global place = partition.first(comm.rank()) + static_cast<Global>(k),
                     row = 43 * place % n;  // 7 · 43 = 301
        EXPECT_EQ(moved[2 * k], static_cast<double>(2 * row));
    }
}

/// The same x and the same residual, of the original system, whatever was done before.
TEST(Prepare, SolutionsAndResidualsAreTheOriginals) {
    MpiComm comm;
    for (const auto& formula : {badly_scaled, badly_scaled_spd, shuffled})
        for (const auto& text : all_steps)
            for (const int columns : {1, 3}) {
                const auto A = matrix(comm, n, formula);
                Values b(A, columns, [](Global i, int j) { return uniform(5, i, j); }), x(A, columns);
                const bool symmetric = formula != badly_scaled;
                const PreparedSystem system(comm, rows_of(comm, n, formula), parse_prepare(text), symmetric);
                const auto M = system.preconditioner("block_jacobi:lu");
                auto hat = system.forward(b.data(), columns);
                std::vector<double> solution(hat.size());
                SolveOptions options;
                options.method = "bicgstab";
                const Index rows = system.matrix().local_rows();
                const auto result = solve<double>(comm, system.matrix(), *M, {hat.data(), rows, columns},
                                                  {solution.data(), rows, columns}, options);
                RowMoves::Packed packed;
                system.back(solution, columns, x.view().values(), packed);
                const auto residuals = true_residuals(A, b, x);
                for (int j = 0; j < columns; ++j) {
                    const auto& column = result.columns[static_cast<std::size_t>(j)];
                    EXPECT_EQ(column.status, Status::converged) << text;
                    EXPECT_LE(residuals[static_cast<std::size_t>(j)], 1.1e-8) << text;
                    // Sums in another order round differently: by 1e-16 ‖A‖‖x‖.
                    EXPECT_NEAR(column.relative_residual, residuals[static_cast<std::size_t>(j)],
                                1e-3 * residuals[static_cast<std::size_t>(j)] + 1e-9)
                        << text;
                }
            }
}

/// The preconditioner of the prepared system is C M̂⁻¹ R: with complete factors of Â the inverse of A, also transposed.
TEST(Prepare, EquilibratedPreconditionersFitTheOriginal) {
    MpiComm comm(MPI_COMM_SELF);
    const auto A = matrix(comm, n, badly_scaled);
    const PreparedSystem system(comm, rows_of(comm, n, badly_scaled), parse_prepare("equilibrate"), false);
    const auto M = system.preconditioner("block_jacobi:lu");
    for (const bool transpose : {false, true}) {
        Values x(A, 2, [](Global i, int j) { return uniform(6, i, j); }), image(A, 2), back(A, 2);
        transpose ? A.apply_transpose(x.view(), image.view()) : A.apply(x.view(), image.view());
        transpose ? M->apply_transpose(image.view(), back.view()) : M->apply(image.view(), back.view());
        EXPECT_LT(distance(comm, x, back), 1e-7);  // the condition number is about 1e8
    }
    const auto scales = system.preconditioner("none");
    EXPECT_FALSE(scales->symmetric());
    EXPECT_TRUE(PreparedSystem(comm, rows_of(comm, n, badly_scaled_spd), parse_prepare("equilibrate"), true)
                    .preconditioner("block_jacobi:ic0")
                    ->symmetric());
    EXPECT_EQ(PreparedSystem(comm, rows_of(comm, n, shuffled), {}, true).preconditioner("none"), nullptr);
}

TEST(Prepare, EquilibratedEntriesAreNearOne) {
    MpiComm comm;
    for (const bool symmetric : {false, true}) {
        const auto formula = symmetric ? badly_scaled_spd : badly_scaled;
        const PreparedSystem system(comm, rows_of(comm, n, formula), parse_prepare("equilibrate"), symmetric);
        const auto rows = system.scaled().local();
        std::vector<double> columns(n);
        for (Index i = 0; i < rows.rows(); ++i) {
            double largest = 0;
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) {
                largest = std::max(largest, std::abs(rows.values[k]));
                auto& column = columns[static_cast<std::size_t>(rows.columns[k])];
                column = std::max(column, std::abs(rows.values[k]));
            }
            EXPECT_GT(largest, 0.2);
            EXPECT_LT(largest, 4);
        }
        MPI_Allreduce(MPI_IN_PLACE, columns.data(), n, MPI_DOUBLE, MPI_MAX, comm.mpi());
        for (const double largest : columns) {
            EXPECT_GT(largest, 0.2);
            EXPECT_LT(largest, 4);
        }
        if (symmetric) {
            EXPECT_TRUE(analyse(comm, {system.matrix().partition(), rows}).symmetric());
        }
    }
}

/// A path whose rows are numbered without order, and one row apart: neighbours end up side by side again.
TEST(Prepare, ReverseCuthillMcKeeNarrowsTheBand) {
    MpiComm comm;
    constexpr Global each = 101;
    const auto partition = Partition::even(each * comm.size(), comm.size());
    const Global first = partition.first(comm.rank());
    LocalRows<double> rows;
    const auto place = [](Global i) { return i * 37 % 100; };  // where row i < 100 lies on the path
    for (Global i = 0; i < each; ++i) {
        for (Global j = 0; j < each; ++j)
            if (i == j || (i < 100 && j < 100 && std::abs(place(i) - place(j)) == 1)) {
                rows.columns.push_back(first + j);
                rows.values.push_back(1);
            }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    const auto order = reverse_cuthill_mckee(comm, {partition, rows});
    ASSERT_EQ(order.size(), static_cast<std::size_t>(each));
    std::vector<Index> position(order.size(), -1);
    for (std::size_t k = 0; k < order.size(); ++k) position[static_cast<std::size_t>(order[k])] = static_cast<Index>(k);
    EXPECT_EQ(std::ranges::count(position, -1), 0);
    for (Global i = 0; i < 100; ++i)
        for (Global j = 0; j < 100; ++j)
            if (std::abs(place(i) - place(j)) == 1) {
                EXPECT_EQ(std::abs(position[static_cast<std::size_t>(i)] - position[static_cast<std::size_t>(j)]), 1);
            }
}

TEST(Prepare, KeepsContiguousRowsThatAreCutLeast) {
    MpiComm comm;
    // Blocks that are the ranks' own: nothing can be better.
    const auto blocks = [&](Global i, Global j) {
        const auto partition = Partition::even(n, comm.size());
        return partition.owner(i) == partition.owner(j) ? (i == j ? 100.0 : 1.0) : 0.0;
    };
    const PreparedSystem system(comm, rows_of(comm, n, blocks), parse_prepare("metis"), true);
    EXPECT_EQ(system.partition_quality().edge_cut, 0);
    EXPECT_EQ(system.matrix().partition(), Partition::even(n, comm.size()));
    if (comm.size() > 1) {
        ASSERT_EQ(system.remarks().size(), 1U);
        EXPECT_NE(system.remarks().front().find("left as it was"), std::string::npos) << system.remarks().front();
    }
}

TEST(Prepare, PartitionsAreBalancedAndCutLess) {
    MpiComm comm;
    const auto before = quality(comm, rows_of(comm, n, shuffled));
    const PreparedSystem metis(comm, rows_of(comm, n, shuffled), parse_prepare("metis"), true);
    const auto after = metis.partition_quality();
    if (comm.size() > 1) {
        EXPECT_LT(2 * after.edge_cut, before.edge_cut);
        EXPECT_LT(after.halo, before.halo);
        EXPECT_LT(after.imbalance, 1.3);
        EXPECT_EQ(after.halo, all_sum(comm, Global{metis.matrix().halo_rows()}));
    } else {
        EXPECT_EQ(after.edge_cut, 0);
    }
    const auto uneven = [](Global i, Global j) { return i == j ? 2.0 : i < 10 ? 0.01 : 0.0; };
    const PreparedSystem balanced(comm, rows_of(comm, n, uneven), parse_prepare("nonzeros"), false);
    EXPECT_LT(balanced.partition_quality().imbalance, 1.35);
    if (comm.size() > 1) {
        EXPECT_GT(quality(comm, rows_of(comm, n, uneven)).imbalance, 1.5);
    }
}

TEST(Prepare, FewRowsManyRanks) {
    MpiComm comm;
    for (const Global rows : {1, 2, 3})
        for (const auto& text : all_steps) {
            const auto formula = [](Global i, Global j) { return i == j ? 4.0 : -1.0; };
            const PreparedSystem system(comm, rows_of(comm, rows, formula), parse_prepare(text), true);
            const auto A = matrix(comm, rows, formula);
            Values b(A, 2, [](Global i, int j) { return uniform(5, i, j); });
            auto hat = system.forward(b.data(), 2);
            std::vector<double> x(hat.size());
            const Index local = system.matrix().local_rows();
            EXPECT_TRUE(solve<double>(comm, system.matrix(), Identity{}, {hat.data(), local, 2}, {x.data(), local, 2})
                            .converged())
                << text;
            RowMoves::Packed packed;
            system.back(x, 2, b.view().values(), packed);
            EXPECT_EQ(system.forward(b.data(), 2), x) << text;
        }
}

TEST(Prepare, RefusesUnknownSteps) {
    EXPECT_THROW(parse_prepare("equilibrate,scale"), InputError);
    EXPECT_THROW(parse_prepare("metis,nonzeros"), InputError);
    EXPECT_THROW(parse_prepare("rcm,"), InputError);
}

TEST(Structure, SeesWhatIsThere) {
    MpiComm comm;
    const auto look = [&](const Formula& formula) { return analyse(comm, rows_of(comm, 20, formula)); };
    const auto spd = look([](Global i, Global j) { return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0; });
    EXPECT_TRUE(spd.symmetric_pattern() && spd.symmetric());
    EXPECT_EQ(spd.positive_diagonal, 20);
    EXPECT_EQ(spd.dominant_rows, 20);
    EXPECT_EQ(spd.structural_rank, 20);
    EXPECT_NE(hint(spd, 1).find("--method cg"), std::string::npos);

    const auto values = look([](Global i, Global j) {
        return i == j ? 1.0 : i == j + 1 ? -1.0 : i + 1 == j ? 2.0 : 0.0;
    });
    EXPECT_TRUE(values.symmetric_pattern());
    EXPECT_FALSE(values.symmetric());
    EXPECT_NEAR(values.asymmetry, 3 / std::sqrt(2), 1e-15);  // of the last two rows
    EXPECT_EQ(values.dominant_rows, 1);                      // the last

    // Large elsewhere: that does not hide the last two rows.
    const auto skew = look([](Global i, Global j) {
        return i == j ? (i < 18 ? 1e13 : 2.0) : i == 18 && j == 19 ? 1.0 : i == 19 && j == 18 ? -1.0 : 0.0;
    });
    EXPECT_FALSE(skew.symmetric());

    const auto pattern = look([](Global i, Global j) { return i == j || i == j + 1 ? -1.0 : 0.0; });
    EXPECT_EQ(pattern.unmatched, 19);
    EXPECT_EQ(pattern.positive_diagonal, 0);
    EXPECT_EQ(pattern.zero_diagonal, 0);

    const auto cyclic = look([](Global i, Global j) { return (i + 1) % 20 == j ? 1.0 : 0.0; });
    EXPECT_EQ(cyclic.zero_diagonal, 20);
    EXPECT_EQ(cyclic.structural_rank, 20);

    const auto singular = look([](Global i, Global j) { return j == 3 || (i == 3 && j == 5) ? 1.0 : 0.0; });
    EXPECT_EQ(singular.structural_rank, 2);
    EXPECT_NE(hint(singular, 1).find("no values make"), std::string::npos);

    const auto rounding = look([](Global i, Global j) {
        return i == j ? 2.0 : std::abs(i - j) == 1 ? (i < j ? -1 : -1 - 1e-15) : 0.0;
    });
    EXPECT_TRUE(rounding.symmetric());
    EXPECT_GT(rounding.asymmetry, 0);
    EXPECT_EQ(rounding.lines().size(), 5U);
}

}  // namespace
}  // namespace stretto
