// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include "bench.hpp"
#include "stretto/core/error.hpp"
#include "stretto/driver/registry.hpp"

using namespace stretto;

namespace {

/// GMRES as the paper has it, first, and what its methods gain over it.
BenchFamily gmres(std::string_view name, std::string_view problem, int m) {
    BenchFamily family{name, problem, {1}, {}, 20 * m, m};
    for (const auto* method :
         {"gmres:orth=cgs", "gmres", "gmres:orth=cgs2", "pipelined_gmres:l=2", "pipelined_gmres:l=5",
          "pipelined_gmres:l=10", "s_step_gmres:s=5", "s_step_gmres:s=10", "s_step_gmres:s=5,orth=pip",
          "s_step_gmres:s=10,orth=pip", "pipelined_s_step_gmres:l=2,t=5,tau=0",
          "pipelined_s_step_gmres:l=2,t=5,tau=0.001", "pipelined_s_step_gmres:l=2,t=5"})
        family.variants.push_back({method, false, m == 20 ? "m=20" : m == 60 ? "m=60" : ""});
    return family;
}

const std::vector<BenchFamily>& families() {
    static const std::vector<BenchFamily> all{
        // Krasnopolsky 2019, Tables 3 and 4.
        {"bicgstab",
         "poisson3d:200",
         {1, 4, 16},
         {{"bicgstab", false},
          {"improved_bicgstab", false},
          {"pipelined_bicgstab", false},
          {"bicgstab", true},
          {"reordered_bicgstab", true},
          {"pipelined_bicgstab", true}}},
        // Cools, Cornelis, Ghysels and Vanroose 2019, Section 4; its other problem is diagonal:poisson2d,N.
        {"cg",
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
          {"deep_pipelined_cg:l=5", true}}},
        // Yamazaki, Hoemmen, Luszczek and Dongarra 2017, Figs. 11 to 13 and 15: 20 cycles.
        gmres("gmres", "poisson2d:1024", 30),
        gmres("gmres20", "poisson3d27:128", 20),
        gmres("gmres60", "poisson2d:1024", 60)};
    return all;
}

}  // namespace

const BenchFamily& find_family(const std::string& name) {
    for (const auto& family : families())
        if (family.name == name) return family;
    std::string names;
    for (const auto& family : families()) names += fmt::format("{}{}", names.empty() ? "" : ", ", family.name);
    throw InputError(fmt::format("there is no benchmark '{}'; there are: {}", name, names));
}

std::string BenchVariant::spec(double norm_of_A) const {
    std::string spec = without_safeguards(std::string(method), norm_of_A);
    if (!more.empty()) spec += fmt::format("{}{}", spec.find(':') == std::string::npos ? ':' : ',', more);
    return spec;
}
