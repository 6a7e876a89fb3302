// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "progress.hpp"
#include "stretto/matrix/csr.hpp"
#include "stretto/matrix/generators.hpp"

/// Collective. OMP_NUM_THREADS where set; else this rank's share of the node's cores, and no more than it is bound to.
int default_threads(const stretto::Comm& comm);

/// Collective. Rank 0 alone looks: the others may see another disk.
bool exists(const stretto::Comm& comm, const std::string& path);

/// Collective. The rows of a Matrix Market file or of a generated problem, dealt evenly.
stretto::Problem load_problem(stretto::Comm& comm, const std::string& problem, int threads, ProgressLine& line);

/// How products are to be stored: auto or csr.
stretto::Storage storage_of(const std::string& name);

/// Collective. The matrix of a Matrix Market file or of a generated problem. `storage`: auto or csr.
stretto::CsrMatrix<double> load_matrix(stretto::Comm& comm, const std::string& problem, const std::string& storage,
                                       int threads, ProgressLine& line);

/// Collective. What a user should know of how it is stored; empty: nothing.
std::vector<std::string> storage_remarks(const stretto::CsrMatrix<double>& A);

/// Collective. So that nothing is lost after a long run: output files that cannot be written, or would overwrite
/// each other or an input, end the run before it starts. Leaves no file behind. Empty paths: not asked for.
void check_outputs(const stretto::Comm& comm, const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others = {});
