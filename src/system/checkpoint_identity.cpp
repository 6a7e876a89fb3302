// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/checkpoint_identity.hpp"

#include <fmt/format.h>

#include <string_view>

#include "stretto/core/spec.hpp"

namespace stretto {
namespace {

constexpr std::string_view after = " after ", on = " on ";

}  // namespace

std::string identity_of(const std::string& precond, const std::string& prepare, int ranks) {
    const auto name = parse_spec(precond).name;
    const bool alike = name == "none" || name == "jacobi" || name == "chebyshev";
    std::string identity = precond;
    if (!prepare.empty()) identity += fmt::format("{}{}", after, prepare);
    if (!alike) identity += fmt::format("{}{} ranks", on, ranks);
    return identity;
}

IdentifiedPreconditioner identified(const std::string& identity) {
    const auto what = identity.substr(0, identity.find(on));
    const auto at = what.find(after);
    return {what.substr(0, at), at == what.npos ? "" : what.substr(at + after.size())};
}

}  // namespace stretto
