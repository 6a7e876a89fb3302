// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stretto/comm/latency_comm.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/driver/registry.hpp"

// Options that several commands take, and their values.

/// A number within limits, which excludes what is no number, with the message that it is not `what`.
CLI::Validator number(double minimum, double maximum, const char* what);
/// The same for whole numbers, also written as 1e5: with transform, for it writes them out.
CLI::Validator whole_number(double minimum, double maximum, const char* what);

/// How processes communicate.
struct CommArguments {
    std::string progress_mode = "auto";
    std::string latency;  ///< emulated; empty: none
    std::string machine;  ///< file where probes are kept; empty: none
};
void add_comm_options(CLI::App& app, CommArguments& comm);
void add_machine_option(CLI::App& app, std::string& machine);
void add_storage_option(CLI::App& app, std::string& storage);
void add_device_option(CLI::App& app, std::string& device);
void add_threads_option(CLI::App& app, int& threads);
void add_columns_option(CLI::App& app, int& columns);
void add_json_option(CLI::App& app, std::string& json, const char* what);

/// The communicator that a user asked for.
class ChosenComm {
public:
    /// Throws stretto::InputError where --emulate-latency is none.
    ChosenComm(stretto::MpiComm& mpi, const CommArguments& asked);
    stretto::Comm& get() { return slow_ ? static_cast<stretto::Comm&>(*slow_) : mpi_; }

private:
    stretto::MpiComm& mpi_;
    std::optional<stretto::LatencyComm> slow_;
};

/// A --method.
struct AskedMethod {
    std::string text;               ///< NAME[:key=value,…]
    const stretto::Method* method;  ///< null: auto, until it is chosen
};

/// Throws stretto::InputError where it is none, or has options that it does not take.
AskedMethod asked_method(const std::string& text);

/// What `stretto solve`, `bem` and `kernel` take alike.
struct SolveArguments {
    CommArguments comm;
    std::string problem;
    std::string rhs = "ones", guess;
    int columns = 0;  ///< 0: one, or as many as the file has
    std::vector<std::string> methods;
    std::string precond = "none";
    bool insist = false;  ///< also on what the structure of the matrix speaks against
    double rtol = 1e-8;
    double atol = 0;
    int max_iterations = 100000;
    std::string formulation = "merged", verify = "true";
    int threads = 0;  ///< 0: the cores of the node over its ranks
    std::string json, history, solution, plot, trace;
    std::string checkpoint, resume;  ///< FILE[,every=…], FILE
    bool true_residuals = false;     ///< in history and plot
    bool progress = false;           ///< also where standard error is no terminal

    std::vector<AskedMethod> asked_methods() const;  ///< Throws as asked_method.
};
void add_solve_options(CLI::App& app, SolveArguments& solve);
