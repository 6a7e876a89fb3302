// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stretto/io/result_json.hpp"
#include "stretto/system/describe.hpp"

/// What a run of `stretto solve` has to tell: as a table for people and as JSON for programs.
class Report {
public:
    /// `run` is of all methods.
    explicit Report(stretto::RunInfo run) : run_(std::move(run)) {}

    /// Collective. As stretto::result_json.
    void add(const stretto::Comm& comm, const std::string& method, const stretto::Result& result);

    /// What solved the run that is added next: `now` has the preconditioner and, where something was left open, the
    /// choice.
    void solved_with(const stretto::RunInfo& now);

    /// Adds to the JSON of the last run.
    void annotate(const std::string& name, nlohmann::ordered_json what) { runs_.back()[name] = std::move(what); }

    void print_head(int ranks) const;
    void print_last() const;
    void print_foot() const;
    void write_json(const std::string& path) const;
    void keep_history(const stretto::Result& result);
    void write_history(const std::string& path) const;

private:
    stretto::RunInfo run_;
    std::vector<nlohmann::ordered_json> runs_;
    std::string history_;  // as CSV
};
