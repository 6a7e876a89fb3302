// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../run_methods.hpp"
#include "stretto/hmatrix/fill.hpp"
#include "stretto/hmatrix/geometry.hpp"

/// What `stretto bem` and `stretto kernel` share: dense systems, as hierarchical matrices.

struct DenseArguments : SolveArguments {
    DenseArguments() {
        rtol = 1e-6;  // what the hierarchical matrix is good for
        precond = {};
    }
    std::string hmatrix;  ///< options, with commas between
    std::string layout = "distributed", device = "cpu";
};
void add_dense_options(CLI::App& app, DenseArguments& dense);

/// Takes what suits the matrix where nobody asked for a method, or asked for auto.
void choose_for(bool symmetric, bool positive_definite, DenseArguments& arguments);

/// Collective. `more`: outputs besides those of solves. Throws stretto::InputError.
Plan check_dense(const stretto::Comm& comm, const DenseArguments& arguments, std::vector<AskedMethod> methods,
                 const std::vector<std::string>& more = {});

/// Everything of a system but what it is made of.
struct DenseSystem {
    stretto::Geometry geometry;
    stretto::Fill fill;
    bool symmetric = false, positive_definite = false;
    /// About how many times rtol errors of the matrix, ε = rtol, would be in the residual: so much smaller ε is taken.
    double error_growth = 1;
    std::function<double(stretto::Index point, int column)> b;
    int columns = 1;
    std::vector<std::string> remarks;
    /// The command as it was typed, and those of its options that say what is solved (RunInfo).
    std::string program;
    std::vector<std::pair<std::string, std::string>> options;
    /// Tells what a solution (n × columns, in the order of the points) means, for people, and returns it for the JSON.
    std::function<nlohmann::ordered_json(const std::vector<double>& x)> tell;
    /// Writes what is asked for besides the solution of a method.
    std::function<void(std::size_t method, const std::vector<double>& x)> write;
};

/// Collective. Compresses, solves, reports. Returns the exit code. Throws stretto::InputError on every rank alike.
int solve_dense(const Context& context, stretto::Comm& comm, const DenseArguments& arguments, const DenseSystem& system,
                Plan& plan, ProgressLine& line);
