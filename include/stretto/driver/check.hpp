// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/comm/comm.hpp"
#include "stretto/driver/registry.hpp"

namespace stretto {

/// What a specification NAME[:key=value,…] asks for.
struct MethodChoice {
    Spec spec;  ///< of the method that runs
    const Method* method;
    Options options;
    bool in_single = false;  ///< its vectors are in single precision, and what it finds is refined
};

/// Throws InputError that lists the methods there are, or names an option that it does not take.
MethodChoice choose_method(const std::string& spec);

/// The same method with all its vectors in single precision: refine:inner=NAME,… around it, or as it is where it says
/// so itself. Throws as choose_method.
std::string in_single(const std::string& method);

/// Throws InputError unless a method, NAME[:key=value,…], takes a preconditioner that changes from one use to the next,
/// which is called `precond`; empty: it has no name.
void check_flexible(const std::string& method, const std::string& precond);

/// Throws InputError where sums are to be the same bits on any number of ranks, and those of this method for complex
/// vectors are not.
void check_reproducible_complex(const Comm& comm, const Method& method);

}  // namespace stretto
