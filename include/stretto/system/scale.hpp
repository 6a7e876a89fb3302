// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/sparse/distributed_rows.hpp"

namespace stretto {

/// The diagonals of R A C on this rank, powers of two.
struct Scales {
    std::vector<double> rows;          ///< R
    std::vector<double> columns;       ///< C, where it is not R
    bool symmetric = true;             ///< C is R
    double smallest = 1, largest = 1;  ///< of R, on all ranks
};

/// Collective. Scales the matrix in place, so that the largest entries of its rows and columns are about 1: by rows,
/// then by columns; of a symmetric matrix by the roots of both, again and again, until they are near 1 (Ruiz 2001).
Scales equilibrate(const Comm& comm, DistributedRows& matrix, bool symmetric);

/// C M̂⁻¹ R: what preconditions A where `inner` (null: nothing) does so for R A C. `scales` must outlive it.
std::unique_ptr<Preconditioner> scaled_preconditioner(const CsrMatrix<double>& A, const Scales& scales,
                                                      std::unique_ptr<Preconditioner> inner);

}  // namespace stretto
