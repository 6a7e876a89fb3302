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
    DenseArguments() { rtol = 1e-6; }  // what the hierarchical matrix is good for
    std::string hmatrix;               ///< options, with commas between
    std::string layout = "distributed";
};
void add_dense_options(CLI::App& app, DenseArguments& dense);

/// What is looked at before anything is read.
struct DensePlan {
    std::vector<AskedMethod> methods;
    std::vector<std::string> solutions;
    std::optional<Plot> plot;
};

/// Collective. `more`: outputs besides those of solves. Throws stretto::InputError.
DensePlan check_dense(const stretto::Comm& comm, const DenseArguments& arguments, std::vector<AskedMethod> methods,
                      const std::vector<std::string>& more = {});

/// Everything of a system but what it is made of.
struct DenseSystem {
    stretto::Geometry geometry;
    stretto::Fill fill;
    bool symmetric = false, positive_definite = false;
    std::function<double(stretto::Index point, int column)> b;
    int columns = 1;
    std::vector<std::string> remarks;
    /// Tells what a solution (n × columns, in the order of the points) means, for people, and returns it for the JSON.
    std::function<nlohmann::ordered_json(const std::vector<double>& x)> tell;
    /// Writes what is asked for besides the solution of a method.
    std::function<void(std::size_t method, const std::vector<double>& x)> write;
};

/// Collective. Compresses, solves, reports. Returns the exit code. Throws stretto::InputError on every rank alike.
int solve_dense(const Context& context, stretto::Comm& comm, const DenseArguments& arguments, const DenseSystem& system,
                DensePlan& plan, ProgressLine& line);
