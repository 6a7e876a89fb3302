// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kinds.hpp"
#include "local.hpp"
#include "stretto/core/error.hpp"
#include "stretto/precond/jacobi.hpp"

namespace stretto {
namespace {

constexpr OptionInfo blocks_option{"blocks", 0, 0, 1e6, "blocks of a rank; 0: one for each thread", true};
constexpr OptionInfo block_jacobi_options[] = {inner_option, blocks_option, drop_option, fill_option, pattern_option};
constexpr OptionInfo schwarz_options[] = {
    inner_option,
    {"overlap", 1, 0, 100, "layers of neighbours that a block takes in", true},
    {"restricted", 1, 0, 1, "1: what a block says of its own rows counts, 0: the sum of all blocks (symmetric)", true},
    blocks_option,
    drop_option,
    fill_option,
    pattern_option};
constexpr OptionInfo chebyshev_options[] = {
    {"degree", 4, 0, 1000, "of the polynomial: products with A", true},
    {"ratio", 30, 1.001, 1e12,
     "of the interval's ends: it reaches from the largest eigenvalue, estimated, down to that over this"}};
constexpr OptionInfo amg_options[] = {
    {"strong", 0.5, 0, 1, "a neighbour is strong from this part of the row's largest on; 0.25 suits 2D, 0.5 3D"},
    {"sweeps", 1, 1, 100, "of smoothing, before and after", true},
    {"aggressive", 0, 0, 100, "levels of aggressive coarsening: less memory, more iterations", true}};

}  // namespace

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
        {.name = "block_jacobi",
         .title = "blocks of each rank, solved exactly or approximately",
         .source = "Meijerink and van der Vorst 1977 (ilu0, ic0); Saad 1994 (ilut); Grote and Huckle 1997 (sai)",
         .options = block_jacobi_options,
         .make = make_block_jacobi},
        {.name = "additive_schwarz",
         .title = "blocks that overlap",
         .source = "Cai and Sarkis 1999",
         .options = schwarz_options,
         .make = make_additive_schwarz},
        {.name = "chebyshev",
         .title = "a polynomial in D⁻¹A, without reductions",
         .source = "Johnson, Micchelli and Paul 1983",
         .options = chebyshev_options,
         .make = make_chebyshev},
        {.name = "amg",
         .title = "algebraic multigrid: a V-cycle of hypre's BoomerAMG",
         .source = "Henson and Yang 2002",
         .options = amg_options,
         .make = make_amg},
    };
    return kinds;
}

std::unique_ptr<Preconditioner> make_preconditioner(const std::string& text, const CsrMatrix<double>& A) {
    Spec spec = parse_spec(text);
    const auto kind = std::ranges::find(preconditioners(), spec.name, &PreconditionerKind::name);
    if (kind == preconditioners().end()) {
        std::string names;
        for (const auto& each : preconditioners()) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
        throw InputError(fmt::format("there is no preconditioner '{}'; there are: {}", spec.name, names));
    }
    // block_jacobi:ilu0 is short for block_jacobi:inner=ilu0.
    const bool has_inner = std::ranges::find(kind->options, "inner", &OptionInfo::name) != kind->options.end();
    const bool given = std::ranges::any_of(spec.options, [](const auto& option) { return option.first == "inner"; });
    if (has_inner && !given && !spec.positional.empty()) {
        spec.options.emplace_back("inner", spec.positional.front());
        spec.positional.erase(spec.positional.begin());
    }
    const Options options(spec, kind->options);
    if (has_inner) check_local_options(spec, options);
    return kind->make(A, options);
}

}  // namespace stretto
