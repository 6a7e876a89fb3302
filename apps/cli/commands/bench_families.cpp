// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "../files.hpp"
#include "bench.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/driver/registry.hpp"

using namespace stretto;

namespace {

/// The methods of a family that have no variant yet, with their default options.
BenchFamily with_others(BenchFamily family, std::string_view classic, bool preconditioned = true,
                        std::string_view more = {}) {
    for (const Method* method : methods()) {
        const auto is_there = [&](const BenchVariant& variant) {
            return variant.method.substr(0, variant.method.find(':')) == method->name;
        };
        if (method->classic != classic || std::ranges::any_of(family.variants, is_there)) continue;
        family.variants.push_back({method->name, false, more});
        if (preconditioned) family.variants.push_back({method->name, true, more});
    }
    return family;
}

/// GMRES as the paper has it, first, and what its methods gain over it.
BenchFamily gmres(std::string_view name, std::string_view problem, int m) {
    BenchFamily family{name, problem, {1}, {}, 20 * m, m};
    const char* const more = m == 20 ? "m=20" : m == 60 ? "m=60" : "";
    for (const auto* method :
         {"gmres:orth=cgs", "gmres", "gmres:orth=cgs2", "pipelined_gmres:l=2", "pipelined_gmres:l=5",
          "pipelined_gmres:l=10", "s_step_gmres:s=5", "s_step_gmres:s=10", "s_step_gmres:s=5,orth=pip",
          "s_step_gmres:s=10,orth=pip", "pipelined_s_step_gmres:l=2,t=5,tau=0",
          "pipelined_s_step_gmres:l=2,t=5,tau=0.001", "pipelined_s_step_gmres:l=2,t=5"})
        family.variants.push_back({method, false, more});
    return with_others(std::move(family), "gmres", false, more);
}

/// Those that papers have measured, and then the families of other methods.
std::vector<BenchFamily> all_families() {
    std::vector<BenchFamily> all{
        // Krasnopolsky 2019, Tables 3 and 4.
        with_others({"bicgstab",
                     "poisson3d:200",
                     {1, 4, 16},
                     {{"bicgstab", false},
                      {"improved_bicgstab", false},
                      {"pipelined_bicgstab", false},
                      {"bicgstab", true},
                      {"reordered_bicgstab", true},
                      {"pipelined_bicgstab", true}}},
                    "bicgstab"),
        // Cools, Cornelis, Ghysels and Vanroose 2019, Section 4; its other problem is diagonal:poisson2d,N.
        with_others({"cg",
                     "poisson2d:2048",
                     {1},
                     {{"cg", false},
                      {"single_reduction_cg", false},
                      {"pipelined_cg", false},
                      {"deep_pipelined_cg:l=1"},
                      {"deep_pipelined_cg:l=2"},
                      {"deep_pipelined_cg:l=3"},
                      {"deep_pipelined_cg:l=5"},
                      {"cg", true},
                      {"single_reduction_cg", true},
                      {"pipelined_cg", true},
                      {"deep_pipelined_cg:l=1", true},
                      {"deep_pipelined_cg:l=2", true},
                      {"deep_pipelined_cg:l=3", true},
                      {"deep_pipelined_cg:l=5", true}},
                     24,
                     4},  // what s-step methods do in a block of theirs
                    "cg"),
        // Yamazaki, Hoemmen, Luszczek and Dongarra 2017, Figs. 11 to 13 and 15: 20 cycles.
        gmres("gmres", "poisson2d:1024", 30), gmres("gmres20", "poisson3d27:128", 20),
        gmres("gmres60", "poisson2d:1024", 60)};
    for (const Method* method : methods())
        if (std::ranges::find(all, method->classic, &BenchFamily::name) == all.end())
            all.push_back(with_others({method->classic, "poisson3d:100", {1, 4, 16}, {}}, method->classic));
    return all;
}

const std::vector<BenchFamily>& families() {
    static const auto all = all_families();
    return all;
}

}  // namespace

const BenchFamily& find_family(const std::string& name) {
    for (const auto& family : families())
        if (family.name == name) return family;
    auto names = names_of(families(), &BenchFamily::name);
    names.insert(names.end(), {"hmatrix", "groups"});
    if (names_problem(name))
        throw InputError(
            fmt::format("'{0}' is a problem: did you mean stretto bench FAMILY --problem {0}? Families are: {1}", name,
                        fmt::join(names, ", ")));
    throw InputError(refusal(fmt::format("there is no benchmark '{}'", name), name, names));
}

std::string BenchVariant::spec(double norm_of_A) const {
    std::string spec = without_safeguards(std::string(method), norm_of_A);
    if (!more.empty()) spec += fmt::format("{}{}", spec.find(':') == std::string::npos ? ':' : ',', more);
    return spec;
}
