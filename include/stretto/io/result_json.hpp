// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/driver/result.hpp"

namespace stretto {

/// What the JSON of a solve tells beside the result: what was solved, and how.
struct RunInfo {
    std::string program = "stretto solve";  ///< what solved it, as it is typed
    std::string problem, method, precond = "none", prepare, formulation = "merged", device = "cpu";
    std::string scalar = "real";  ///< or complex
    std::string latency;          ///< emulated; empty: none
    Global rows = 0, nonzeros = 0;
    int columns = 1, threads = 1;
    int ranks = 1;
    bool reproducible = false;  ///< the same bits on any number of ranks and threads
    /// Others of the command line that say what was solved: names and values, these as they are typed.
    std::vector<std::pair<std::string, std::string>> options;
    double rtol = 0, atol = 0;
    int max_iterations = 0;
    double setup_seconds = 0, precond_seconds = 0;  ///< the longest of all ranks
    double precond_bytes = 0;                       ///< of all ranks
    std::vector<std::string> remarks;
    std::string choice, multigrid, structure, null_space, partition, storage;  ///< JSON; empty: null

    /// What to type for a step: a line for a shell.
    std::string command(const NextStep& step) const;
};

/// Collective. The JSON object of `stretto solve --json` (docs/results.md), on every rank: seconds are the longest,
/// bytes the sum of all ranks.
std::string result_json(const Comm& comm, const RunInfo& run, const Result& result);

/// The version of the library, as 0.2.0.
std::string_view version();

}  // namespace stretto
