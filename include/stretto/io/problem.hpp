// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/comm/comm.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/io/matrix_market.hpp"

namespace stretto {

/// Collective. The matrix that `name` means, its rows dealt evenly: a generated problem (generators.hpp), the path of a
/// Matrix Market file, or `kron:FILE,N`: the Kronecker sum of the n × n matrix A of a file with the 1D Laplacian of N
/// points, A ⊗ I + I ⊗ tridiag(−1, 2, −1), as if A were extruded along an axis; row k n + i is A's row i in layer k.
/// Every rank holds A for that. Throws InputError, the same on every rank.
DistributedRows load_problem(const Comm& comm, const std::string& name, int threads = 1, const Progress& progress = {});

/// The file that `name` needs; empty for a generated problem.
std::string file_of_problem(const std::string& name);

}  // namespace stretto
