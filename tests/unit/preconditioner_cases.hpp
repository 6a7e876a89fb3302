// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Matrices and specifications that the tests of preconditioners go through, and M⁻¹ as a dense matrix.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "stretto/precond/table.hpp"
#include "systems.hpp"

namespace stretto {

/// Rows by columns, for small matrices.
struct Dense {
    Global n;
    std::vector<double> values;
    explicit Dense(Global size) : n(size), values(static_cast<std::size_t>(size * size)) {}
    double& operator()(Global i, Global j) { return values[static_cast<std::size_t>(i * n + j)]; }

    Dense inverse() const {
        Dense a = *this, result(n);
        for (Global i = 0; i < n; ++i) result(i, i) = 1;
        for (Global k = 0; k < n; ++k) {
            Global pivot = k;
            for (Global i = k; i < n; ++i)
                if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
            for (auto* matrix : {&a, &result})
                for (Global j = 0; j < n; ++j) std::swap((*matrix)(k, j), (*matrix)(pivot, j));
            const double scale = 1 / a(k, k);
            for (auto* matrix : {&a, &result})
                for (Global j = 0; j < n; ++j) (*matrix)(k, j) *= scale;
            for (Global i = 0; i < n; ++i) {
                const double factor = i == k ? 0 : a(i, k);
                for (auto* matrix : {&a, &result})
                    for (Global j = 0; j < n && factor != 0; ++j) (*matrix)(i, j) -= factor * (*matrix)(k, j);
            }
        }
        return result;
    }
};

inline Dense dense(Global n, const Formula& formula) {
    Dense result(n);
    for (Global i = 0; i < n; ++i)
        for (Global j = 0; j < n; ++j) result(i, j) = formula(i, j);
    return result;
}

/// M⁻¹, from what it does to the unit vectors.
inline Dense applied(const CsrMatrix<double>& A, const Preconditioner& M, bool transpose = false) {
    const auto n = static_cast<int>(A.rows());
    Values unit(A, n, [](Global i, int j) { return i == j ? 1.0 : 0.0; }), result(A, n);
    transpose ? M.apply_transpose(unit.view(), result.view()) : M.apply(unit.view(), result.view());
    Dense all(n);
    const Global first = A.partition().first(A.comm().rank());
    for (Index i = 0; i < A.local_rows(); ++i)
        for (int j = 0; j < n; ++j) all(first + i, j) = result.view()(i, j);
    MPI_Allreduce(MPI_IN_PLACE, all.values.data(), n * n, MPI_DOUBLE, MPI_SUM, A.comm().mpi());
    return all;
}

/// The block of a row: of its rank, and there of `blocks`.
inline int block_of(const CsrMatrix<double>& A, Global row, int blocks) {
    const int rank = A.partition().owner(row);
    const auto inside = Partition::even(A.partition().rows(rank), blocks);
    return rank * blocks + inside.owner(row - A.partition().first(rank));
}

inline constexpr Global n = 30;

/// Without symmetry, diagonally dominant by columns and rows, some of its pattern unsymmetric.
inline double general(Global i, Global j) {
    if (i == j) return 6 + static_cast<double>(i % 3);
    if (std::abs(i - j) == 1 || std::abs(i - j) == 6) return -1 + 0.5 * uniform(3, i, j);
    return (3 * i + j) % 11 == 0 && std::abs(i - j) < 9 ? 0.5 * uniform(4, i, j) : 0;
}
inline double symmetric(Global i, Global j) {
    return i == j ? general(i, i) + 2 : general(std::min(i, j), std::max(i, j)) / 2;
}

inline const std::vector<std::string> with_transpose{"jacobi",
                                                     "block_jacobi:ilu0",
                                                     "block_jacobi:ilut,blocks=2",
                                                     "block_jacobi:sai",
                                                     "block_jacobi:sai,pattern=2,blocks=3",
                                                     "block_jacobi:lu",
                                                     "additive_schwarz:ilu0",
                                                     "additive_schwarz:lu,overlap=2,blocks=2",
                                                     "additive_schwarz:lu,restricted=0",
                                                     "chebyshev:degree=3"};
inline const std::vector<std::string> for_symmetric{"block_jacobi:ic0", "block_jacobi:cholesky",
                                                    "additive_schwarz:cholesky,restricted=0,blocks=2"};

inline bool has_amg(const CsrMatrix<double>& A) {
    try {
        (void)make_preconditioner("amg", A);
        return true;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("hypre"), std::string::npos) << error.what();
        return false;
    }
}

}  // namespace stretto
