// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../run_methods.hpp"

/// Collective. Whether the problem or the right-hand sides of a solve are complex, or --scalar asks for it. Throws
/// stretto::InputError where it asks for real ones and they are not.
bool is_complex_solve(const stretto::Comm& comm, const SolveArguments& arguments, const std::string& scalar);

/// Collective. `stretto solve` of a complex system, its matrix in the storage of this name. Returns the exit code.
int solve_complex(const Context& context, stretto::Comm& comm, const SolveArguments& arguments,
                  const std::string& storage, Plan& plan, ProgressLine& line);
