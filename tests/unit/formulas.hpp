// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "by_formula.hpp"
#include "stretto/core/random.hpp"
#include "stretto/sparse/csr.hpp"

// Matrices given by formulas, for tests of products.

namespace stretto {

/// Random and sparse, with an empty row, a dense row, a dense column and no symmetry.
inline double scattered(Global i, Global j) {
    if (i == 3) return 0;
    if (i == 5 || j == 6 || uniform(1, i, j) > 0.6) return uniform(2, i, j);
    return 0;
}

inline double tridiagonal(Global i, Global j) { return i == j ? 2 : std::abs(i - j) == 1 ? -1 : 0; }

/// Even, all rows on one rank, and cuts at random places, so that some ranks are empty.
inline std::vector<Partition> partitions(Global rows, int ranks) {
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

/// That it is the dense one, for random vectors.
inline void expect_product(const CsrMatrix<double>& A, const Formula& formula, int columns) {
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

}  // namespace stretto
