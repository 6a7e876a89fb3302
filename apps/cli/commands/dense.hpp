// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "../run_methods.hpp"
#include "stretto/system/dense_system.hpp"

/// What `stretto bem` and `stretto kernel` share: dense systems, as hierarchical matrices.

struct DenseArguments : SolveArguments {
    DenseArguments() {
        rtol = 1e-6;  // what the hierarchical matrix is good for
        precond = {};
    }
    std::string hmatrix;  ///< options, with commas between
    std::string layout = "distributed", device = "cpu";
    int devices = 1;  ///< of a rank
    std::string device_vectors = "redundant", hiding = std::string(stretto::hiding_names[2]);
};
void add_dense_options(CLI::App& app, DenseArguments& dense);

/// Takes what suits the matrix where nobody asked for a method, or asked for auto.
void choose_for(const stretto::DenseMatrix& matrix, DenseArguments& arguments);

/// Collective. `more`: outputs besides those of solves. Throws stretto::InputError.
Plan check_dense(const stretto::Comm& comm, const DenseArguments& arguments, std::vector<AskedMethod> methods,
                 const std::vector<std::string>& more = {});

/// A system, and what the command that has it tells.
struct DenseProblem {
    const stretto::DenseMatrix& matrix;
    std::vector<double> b = {};  ///< points × columns, of complex values in pairs
    int columns = 1;
    std::vector<std::string> remarks = {};
    /// The command as it was typed, and those of its options that say what is solved (RunInfo).
    std::string program = {};
    std::vector<std::pair<std::string, std::string>> options = {};
    /// Tells what a solution (as b, in the order of the points) means, for people, and returns it for the JSON.
    std::function<nlohmann::ordered_json(const std::vector<double>& x)> tell = {};
    /// Writes what is asked for besides the solution of a method.
    std::function<void(std::size_t method, const std::vector<double>& x)> write = {};
};

/// Values that are there in pairs.
inline std::span<const std::complex<double>> complex_values(const std::vector<double>& pairs) {
    return {reinterpret_cast<const std::complex<double>*>(pairs.data()), pairs.size() / 2};
}

/// Collective. Compresses, solves, reports. Returns the exit code. Throws stretto::InputError on every rank alike.
int solve_dense(const Context& context, stretto::Comm& comm, const DenseArguments& arguments,
                const DenseProblem& problem, Plan& plan, ProgressLine& line);
