// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "show/progress.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/sparse/csr.hpp"

/// Writes to a file, or to standard output for "-". Throws stretto::InputError if it cannot.
void write_text(const std::string& path, const std::string& text);

/// The same for the JSON of a command: its members, with the version of Stretto first; or a list of such objects.
void write_json(const std::string& path, const nlohmann::ordered_json& members);

/// Collective. Rank 0 alone looks: the others may see another disk.
bool exists(const stretto::Comm& comm, const std::string& path);

/// Whether a word looks like a problem of `stretto solve`.
bool names_problem(const std::string& text);

/// Collective. stretto::load_problem with a progress line.
stretto::DistributedRows load_problem(const stretto::Comm& comm, const std::string& problem, int threads,
                                      ProgressLine& line);

/// Collective. The same as a matrix, in the storage of this name.
stretto::CsrMatrix<double> load_matrix(stretto::Comm& comm, const std::string& problem, const std::string& storage,
                                       int threads, ProgressLine& line);

/// So that nothing is lost after a long run: output files that cannot be written, or would overwrite each other or an
/// input, end the run before it starts, with stretto::InputError. Leaves no file behind. Empty paths: not asked for.
void check_outputs(const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others = {});

/// Collective. The same, where rank 0 looks.
void check_outputs(const stretto::Comm& comm, const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others = {});

/// Collective. An array written beside its place and then moved there, so that no half-written file is taken for a
/// solution.
void write_solution(const stretto::Comm& comm, const stretto::Partition& partition, const std::string& path,
                    std::span<const double> x, int columns);
void write_solution(const stretto::Comm& comm, const stretto::Partition& partition, const std::string& path,
                    std::span<const std::complex<double>> x, int columns);
