// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Files that PETSc writes, for example with -ksp_view_mat binary:FILE -ksp_view_rhs binary:FILE: real numbers of double
// precision, indices of 32 or 64 bits. read_matrix and read_array (matrix_market.hpp) come here by a file's content.
// Collective; rank 0 alone touches the file. Errors are InputErrors with the same message on all ranks.

#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/sparse/distributed_rows.hpp"

namespace stretto {

/// Whether the file begins like one of PETSc's.
bool is_petsc_binary(const Comm& comm, const std::string& path);

/// The first matrix of the file, square and sparse, its rows dealt evenly. Throws InputError, naming the file and what
/// is wrong in it.
DistributedRows read_petsc_matrix(const Comm& comm, const std::string& path);

/// This rank's rows of the first vector of the file. Throws InputError as `read_petsc_matrix`, and where it has not as
/// many rows as the matrix.
std::vector<double> read_petsc_vector(const Comm& comm, const std::string& path, const Partition& partition);

}  // namespace stretto
