// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/driver/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stretto/core/error.hpp"

namespace stretto {

namespace {
/// refine:inner=NAME,… is NAME:… in single precision.
bool take_refine(Spec& spec) {
    if (spec.name != "refine") return false;
    const auto inner = std::ranges::find(spec.options, "inner", &std::pair<std::string, std::string>::first);
    if (inner == spec.options.end())
        throw InputError(
            "refine needs a method to run in single precision: type refine:inner=NAME, as in "
            "refine:inner=cg; options of that method follow");
    spec.name = inner->second;
    spec.options.erase(inner);
    return true;
}
}  // namespace

MethodChoice choose_method(const std::string& text) {
    if (text.starts_with("refine:inner=refine"))
        throw InputError("refine:inner=refine: name a method, as in refine:inner=cg");
    Spec spec = parse_spec(text);
    bool in_single = take_refine(spec);
    const Method& method = find_method(spec.name);
    Options options(spec, method.options);
    if (std::ranges::count(method.options, "basis", &OptionInfo::name) > 0)
        in_single = in_single || options.choice("basis") == "single";
    return {std::move(spec), &method, std::move(options), in_single};
}

void check_flexible(const std::string& text, const std::string& precond) {
    const auto chosen = choose_method(text);
    if (chosen.method->flexible(chosen.options)) return;
    std::string others;
    for (const Method* each : methods()) {
        const bool by_option = std::ranges::count(each->options, "flexible", &OptionInfo::name) > 0;
        if (by_option || each->flexible(Options(Spec{}, each->options)))
            others += fmt::format("{}{}{}", others.empty() ? "" : ", ", each->name, by_option ? ":flexible=1" : "");
    }
    throw InputError(
        fmt::format("the preconditioner{}{} changes from one use to the next: {} does not allow that; these do: {}",
                    precond.empty() ? "" : " ", precond, text, others));
}

void check_reproducible_complex(const Comm& comm, const Method& method) {
    if (comm.reproducible() && method.needs == Needs::any)
        throw InputError(
            fmt::format("{} has complex coefficients, whose products are rounded in more than one way: for hermitian "
                        "matrices cg and its like are reproducible, and minres",
                        method.name));
}

}  // namespace stretto
