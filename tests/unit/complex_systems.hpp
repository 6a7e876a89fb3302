// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "by_formula.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/sparse/csr.hpp"

// Complex systems for tests, small enough to be solved densely.

namespace stretto {

using Complex = std::complex<double>;
using ComplexFormula = FormulaOf<Complex>;
using ComplexValues = ValuesOf<Complex>;

inline CsrMatrix<Complex> complex_matrix(Comm& comm, Partition partition, const ComplexFormula& entry,
                                         int threads = 1) {
    auto rows = rows_of<Complex>(partition, comm.rank(), entry);
    return {comm, std::move(partition), std::move(rows), threads};
}

/// A grid of nx × ny points, of which neighbours are coupled by `east` and `north`, and back by `west` and `south`.
struct Grid {
    Global nx, ny;
    Complex centre, east, west, north, south;

    Global rows() const { return nx * ny; }
    Complex operator()(Global i, Global j) const {
        const Global dx = j % nx - i % nx, dy = j / nx - i / nx;
        if (dx == 0 && dy == 0) return centre;
        if (dy == 0 && dx == 1) return east;
        if (dy == 0 && dx == -1) return west;
        if (dx == 0 && dy == 1) return north;
        if (dx == 0 && dy == -1) return south;
        return 0;
    }
};

/// A particle on a lattice in a magnetic field, as links of one phase: hermitian, and definite above a shift of 0.
inline Grid hermitian_grid(double shift = 0.05) {
    const Complex a = -std::polar(1.0, 0.7), b = -std::polar(1.0, -1.3);
    return {11, 9, 4 + shift, a, std::conj(a), b, std::conj(b)};
}
/// −Δ u − k² u with damping: complex symmetric, not hermitian.
inline Grid helmholtz_grid() { return {11, 9, {4 - 0.6, 0.4}, -1, -1, -1, -1}; }
/// No symmetry at all.
inline Grid convection_grid() { return {11, 9, {4, -0.3}, {-1.4, 0.2}, {-0.6, 0.3}, {-1, -0.5}, {-0.8, 0.1}}; }
/// Skew-hermitian but for its diagonal.
inline Grid skew_grid() { return {11, 9, 2, {1, 0.3}, {-1, 0.3}, {0.4, -0.6}, {-0.4, -0.6}}; }

/// Gaussian elimination with pivots: x of A x = b, for all rows of one column.
inline std::vector<Complex> dense_solve(Global n, const ComplexFormula& entry, std::vector<Complex> b) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<std::vector<Complex>> A(size, std::vector<Complex>(size));
    for (Global i = 0; i < n; ++i)
        for (Global j = 0; j < n; ++j) A[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = entry(i, j);
    for (std::size_t k = 0; k < size; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < size; ++i)
            if (std::abs(A[i][k]) > std::abs(A[pivot][k])) pivot = i;
        std::swap(A[k], A[pivot]);
        std::swap(b[k], b[pivot]);
        for (std::size_t i = k + 1; i < size; ++i) {
            const Complex factor = A[i][k] / A[k][k];
            if (factor == 0.0) continue;
            for (std::size_t j = k; j < size; ++j) A[i][j] -= factor * A[k][j];
            b[i] -= factor * b[k];
        }
    }
    for (std::size_t k = size; k-- > 0;) {
        for (std::size_t j = k + 1; j < size; ++j) b[k] -= A[k][j] * b[j];
        b[k] /= A[k][k];
    }
    return b;
}

inline Complex random_complex(std::uint64_t seed, Global row, int column) {
    return {uniform(seed, row, 2 * column), uniform(seed, row, 2 * column + 1)};
}

/// Σ conj(a) b over all ranks.
inline Complex inner_product(const Comm& comm, MultiVector<Complex> a, MultiVector<Complex> b, int j, int k) {
    Complex sum = 0;
    for (Index i = 0; i < a.rows(); ++i) sum += std::conj(a(i, j)) * b(i, k);
    return {all_sum(comm, sum.real()), all_sum(comm, sum.imag())};
}

}  // namespace stretto
