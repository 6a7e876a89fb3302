// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/check.hpp"

#include <fmt/format.h>

#include "stretto/core/error.hpp"

namespace stretto {

void check_flexible(const std::string& text, const std::string& precond) {
    const Spec spec = parse_spec(text);
    const Method& method = find_method(spec.name);
    if (method.flexible(Options(spec, method.options))) return;
    throw InputError(
        fmt::format("the preconditioner {} changes from one use to the next: {} does not allow that, "
                    "gmres:flexible=1 and bicgstab do",
                    precond, text));
}

}  // namespace stretto
