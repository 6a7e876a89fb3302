// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stretto/driver/result.hpp"
#include "stretto/methods/method.hpp"

namespace stretto {

/// All methods, in the order in which tables show them.
std::span<const Method* const> methods();

/// Throws InputError that lists the names there are.
const Method& find_method(std::string_view name);

/// What it stores beyond x and b with its default options.
int vectors_stored(const Method& method, bool preconditioned);

/// The options of a specification that another method takes too, where they mean the same there: for one that goes on
/// where another leaves off. Two methods may call different things by one name (`gap`).
Options options_for(Spec spec, const Method& method);

/// A specification whose iterations are all alike: without the safeguards that act now and then, and with the options
/// that Method::steady names, where it does not ask for others. `norm`: a bound of the eigenvalues of A M⁻¹.
std::string without_safeguards(const std::string& spec, double norm);

/// What one iteration costs, counted by running the method's own text on a small problem. `spec`: NAME:key=value,…
PerIteration iteration_cost(const std::string& spec, Formulation formulation, bool preconditioned);

}  // namespace stretto
