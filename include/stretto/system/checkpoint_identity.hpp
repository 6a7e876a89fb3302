// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace stretto {

/// What tells a preconditioner from others in a checkpoint (Snapshot::precond): those that are made of a rank's rows
/// depend on how many ranks there are.
std::string identity_of(const std::string& precond, const std::string& prepare, int ranks);

/// As given to SystemOptions.
struct IdentifiedPreconditioner {
    std::string precond, prepare;
};
/// What an identity is of.
IdentifiedPreconditioner identified(const std::string& identity);

}  // namespace stretto
