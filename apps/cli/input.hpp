// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "progress.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/sparse/csr.hpp"

/// Collective. OMP_NUM_THREADS where set; else this rank's share of the node's cores, and no more than it is bound to.
int default_threads(const stretto::Comm& comm);

/// Collective. Rank 0 alone looks: the others may see another disk.
bool exists(const stretto::Comm& comm, const std::string& path);

/// Collective. stretto::load_problem with a progress line.
stretto::DistributedRows load_problem(stretto::Comm& comm, const std::string& problem, int threads, ProgressLine& line);

/// What --storage takes, and what it means.
std::vector<std::string> storage_choices();
stretto::Storage storage_of(const std::string& name);

/// Collective. The same as a matrix, in a storage of storage_choices().
stretto::CsrMatrix<double> load_matrix(stretto::Comm& comm, const std::string& problem, const std::string& storage,
                                       int threads, ProgressLine& line);

/// Collective. How products of so many columns read it, for programs and for people.
nlohmann::ordered_json describe_storage(const stretto::CsrMatrix<double>& A, int columns);
std::string storage_in_words(const stretto::CsrMatrix<double>& A, int columns, const std::string& asked);

/// So that nothing is lost after a long run: output files that cannot be written, or would overwrite each other or an
/// input, end the run before it starts, with stretto::InputError. Leaves no file behind. Empty paths: not asked for.
void check_outputs(const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others = {});

/// Collective. The same, where rank 0 looks.
void check_outputs(const stretto::Comm& comm, const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others = {});
