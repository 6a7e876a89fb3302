// SPDX-License-Identifier: BSD-3-Clause
#include "solve_complex.hpp"
#include "stretto/core/error.hpp"
#include "stretto/io/complex_problem.hpp"

using namespace stretto;

bool is_complex_solve(const Comm&, const SolveArguments& arguments, const std::string& scalar) {
    if (scalar == "complex" || is_complex_problem(arguments.problem))
        throw InputError("this program was built without complex numbers (STRETTO_SCALARS)");
    return false;
}

int solve_complex(const Context&, Comm&, const SolveArguments&, const std::string&, Plan&, ProgressLine&) { return 2; }
