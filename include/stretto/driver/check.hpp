// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/driver/registry.hpp"

namespace stretto {

/// Throws InputError unless a method, NAME[:key=value,…], takes a preconditioner that changes from one use to the next,
/// which is called `precond`; empty: it has no name.
void check_flexible(const std::string& method, const std::string& precond);

}  // namespace stretto
