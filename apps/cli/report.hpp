// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/driver/result.hpp"

/// What a run of `stretto solve` has to tell: as a table for people and as JSON for programs.
class Report {
public:
    struct Head {
        std::string problem, precond, formulation;
        std::string latency;  ///< emulated; empty: none
        stretto::Global rows, nonzeros;
        int columns, ranks, threads;
        double rtol, atol;
        int max_iterations;
        double setup_seconds;
        std::vector<std::string> remarks;
        std::string prepare;
        nlohmann::ordered_json structure, partition;
        nlohmann::ordered_json storage = nullptr;  ///< null: the operator says what it is otherwise
        double precond_bytes, precond_seconds;     ///< of all ranks, and of its set-up
    };

    explicit Report(Head head) : head_(std::move(head)) {}

    /// Collective: seconds are the longest, bytes the sum of all ranks.
    void add(const stretto::Comm& comm, const std::string& method, const stretto::Result& result);

    /// Adds to the JSON of the last run.
    void annotate(const std::string& name, nlohmann::ordered_json what) { runs_.back()[name] = std::move(what); }

    void print_head() const;
    void print_last() const;
    void print_foot() const;
    void write_json(const std::string& path) const;
    void keep_history(const stretto::Result& result);
    void write_history(const std::string& path) const;

private:
    Head head_;
    std::vector<nlohmann::ordered_json> runs_;
    std::string history_;  // as CSV
};

/// Writes to a file, or to standard output for "-". Throws stretto::InputError if it cannot.
void write_text(const std::string& path, const std::string& text);
