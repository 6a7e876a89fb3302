// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stretto/core/error.hpp"
#include "stretto/precond/jacobi.hpp"

namespace stretto {

std::span<const PreconditionerKind> preconditioners() {
    static constexpr PreconditionerKind kinds[] = {
        {.name = "none",
         .title = "no preconditioner",
         .source = "",
         .options = {},
         .make = [](const CsrMatrix<double>&, const Options&) { return std::unique_ptr<Preconditioner>(); }},
        {.name = "jacobi",
         .title = "the diagonal of A",
         .source = "Jacobi 1845",
         .options = {},
         .make = [](const CsrMatrix<double>& A, const Options&) -> std::unique_ptr<Preconditioner> {
             return std::make_unique<Jacobi>(A);
         }},
    };
    return kinds;
}

std::unique_ptr<Preconditioner> make_preconditioner(const std::string& text, const CsrMatrix<double>& A) {
    const Spec spec = parse_spec(text);
    const auto kind = std::ranges::find(preconditioners(), spec.name, &PreconditionerKind::name);
    if (kind == preconditioners().end()) {
        std::string names;
        for (const auto& each : preconditioners()) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
        throw InputError(fmt::format("there is no preconditioner '{}'; there are: {}", spec.name, names));
    }
    return kind->make(A, Options(spec, kind->options));
}

}  // namespace stretto
