// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kinds.hpp"
#include "local/solver.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/precond/diagonal_blocks.hpp"
#include "stretto/precond/inner_iterations.hpp"
#include "stretto/precond/jacobi.hpp"

namespace stretto {
namespace {

constexpr OptionInfo jacobi_options[] = {precision_option};
constexpr OptionInfo blocks_option{"blocks", 1, 0, 1e6, "blocks of a rank; 0: one for each thread", true};
constexpr OptionInfo block_jacobi_options[] = {inner_option, blocks_option,  drop_option,
                                               fill_option,  pattern_option, precision_option};
constexpr OptionInfo schwarz_options[] = {
    inner_option,
    {"overlap", 1, 0, 100, "layers of neighbours that a block takes in", true},
    {"restricted", 1, 0, 1, "1: what a block says of its own rows counts, 0: the sum of all blocks (symmetric)", true},
    blocks_option,
    drop_option,
    fill_option,
    pattern_option,
    precision_option};
constexpr OptionInfo chebyshev_options[] = {
    {"degree", 4, 0, 1000, "of the polynomial: products with A", true},
    {"ratio", 30, 1.001, 1e12,
     "of the interval's ends: it reaches from the largest eigenvalue, estimated, down to that over this"},
    precision_option};
constexpr std::string_view amg_cycles[] = {"merged", "hypre"}, amg_coarsenings[] = {"auto", "pmis", "hmis"},
                           amg_updates[] = {"anew", "products", "lagged", "frozen"};
constexpr OptionInfo amg_options[] = {
    {.name = "cycle",
     .default_value = 0,
     .minimum = 0,
     .maximum = 1,
     .help = "merged: Stretto's, whose smoother works on rows of products while they are in cache; hypre: BoomerAMG's",
     .choices = amg_cycles},
    {"degree", 2, 1, 10, "merged: of the smoother's polynomial, before and after", true},
    {"ratio", 4, 1.001, 1e6, "merged: the smoother damps from the largest eigenvalue down to that over this"},
    {.name = "precision",
     .default_value = 0,
     .minimum = 0,
     .maximum = 1,
     .help = "merged: of the coarser levels' coefficients",
     .choices = precisions},
    {.name = "update",
     .default_value = 0,
     .minimum = 0,
     .maximum = 3,
     .help =
         "merged: what new values in the same places change: everything; products: not the interpolation; lagged: "
         "the finest level, and everything once solves take half as many applications more; frozen: that level alone",
     .choices = amg_updates},
    {"strong", 0.5, 0, 1, "a neighbour is strong from this part of the row's largest on"},
    {.name = "coarsen",
     .default_value = 0,
     .minimum = 0,
     .maximum = 2,
     .help = "how coarse rows are chosen; auto: pmis, the quicker to set up, above six nonzeros a row, else hmis",
     .choices = amg_coarsenings},
    {"per_row", 4, 0, 100, "entries of a row of the interpolation, at most; 0: any number", true},
    {"coarsest", 100, 1, 2000, "merged: rows of a level that is solved with its dense inverse, at most", true},
    {"aggressive", 1, 0, 100, "levels of aggressive coarsening: less memory, more iterations", true},
    {"functions", 0, 0, 100, "unknowns at each point, one after the other; 0: as the pattern tells", true},
    {"sweeps", 1, 1, 100, "hypre: of smoothing, before and after", true}};

constexpr OptionInfo inner_iterations_options[] = {{"iterations", 20, 1, 1e6, "inner ones", true}};

/// An option that one choice of another option alone has.
struct OptionOf {
    std::string_view option, choice;
};
constexpr OptionOf of_inner[] = {{"drop", "ilut"}, {"fill", "ilut"}, {"pattern", "sai"}},
                   of_cycle[] = {{"degree", "merged"}, {"ratio", "merged"},    {"precision", "merged"},
                                 {"update", "merged"}, {"coarsest", "merged"}, {"sweeps", "hypre"}};

bool is_given(const Spec& spec, std::string_view name) {
    return std::ranges::find(spec.options, name, [](const auto& option) { return std::string_view(option.first); }) !=
           spec.options.end();
}

/// Throws InputError where an option is given that the choice made of `by` does not have.
void check_choice(const Spec& spec, const Options& options, std::string_view by, std::span<const OptionOf> owned) {
    const auto chosen = options.choice(by);
    for (const auto& [option, choice] : owned)
        if (chosen != choice && is_given(spec, option))
            throw InputError(
                fmt::format("{}: option {} is of {}={}, not of {}={}", spec.name, option, by, choice, by, chosen));
}

bool solver_is_symmetric(const Options& options) { return local_solver(options.choice("inner")).symmetric; }
bool schwarz_is_symmetric(const Options& options) {
    return solver_is_symmetric(options) && options.number("restricted") == 0;
}

std::unique_ptr<Preconditioner> make_inner_iterations(const HMatrix& A, const HMatrixOrigin& origin,
                                                      const Options& options) {
    if (A.is_complex()) throw InputError("inner is for real matrices: block_jacobi takes complex ones, too");
    if (!origin.geometry || !origin.fill)
        throw InputError("inner makes a coarser matrix: it needs the geometry and the kernel (HMatrixOrigin)");
    HMatrixOptions coarse = origin.options;
    coarse.max_rank = 1;
    coarse.announce = nullptr;
    coarse.partition = A.partition();
    return std::make_unique<InnerIterations>(HMatrix(A.comm(), *origin.geometry, *origin.fill, coarse),
                                             static_cast<int>(options.number("iterations")));
}

/// Other words are for preconditioners of sparse matrices; of hierarchical ones there are few.
[[noreturn]] void refuse(const std::string& name, MatrixKind matrix) {
    std::vector<std::string_view> names;
    for (const auto& kind : preconditioners())
        if (kind.takes(matrix)) names.push_back(kind.name);
    const bool sparse = matrix == MatrixKind::sparse;
    throw InputError(
        refusal(fmt::format("there is no preconditioner '{}'{}", name, sparse ? "" : " for hierarchical matrices"),
                sparse ? name : "", names));
}

}  // namespace

std::span<const PreconditionerKind> preconditioners() {
    static constexpr PreconditionerKind kinds[] = {
        {.name = "none",
         .title = "no preconditioner",
         .source = "",
         .options = {},
         .of_sparse = [](const CsrMatrix<double>&, const Options&) { return std::unique_ptr<Preconditioner>(); },
         .of_hierarchical = [](const HMatrix&, const HMatrixOrigin&,
                               const Options&) { return std::unique_ptr<Preconditioner>(); },
         .of_rows = true,
         .replicated = true},
        {.name = "jacobi",
         .title = "the diagonal of A",
         .source = "Jacobi 1845",
         .options = jacobi_options,
         .of_sparse = [](const CsrMatrix<double>& A, const Options& options) -> std::unique_ptr<Preconditioner> {
             return std::make_unique<Jacobi>(A, options.choice("precision") == "single");
         },
         .of_rows = true},
        {.name = "block_jacobi",
         .title = "blocks of each rank, solved exactly or approximately",
         .source = "Meijerink and van der Vorst 1977 (ilu0, ic0); Saad 1994 (ilut); Grote and Huckle 1997 (sai)",
         .options = block_jacobi_options,
         .of_sparse = make_block_jacobi,
         .symmetric = solver_is_symmetric},
        {.name = "additive_schwarz",
         .title = "blocks that overlap",
         .source = "Cai and Sarkis 1999",
         .options = schwarz_options,
         .of_sparse = make_additive_schwarz,
         .symmetric = schwarz_is_symmetric},
        {.name = "chebyshev",
         .title = "a polynomial in D⁻¹A, without reductions",
         .source = "Johnson, Micchelli and Paul 1983",
         .options = chebyshev_options,
         .of_sparse = make_chebyshev,
         .of_rows = true},
        {.name = "amg",
         .title = "algebraic multigrid: the levels of hypre's BoomerAMG",
         .source = "Henson and Yang 2002",
         .options = amg_options,
         .of_sparse = make_amg,
         .has_transpose = false},
        {.name = "block_jacobi",
         .title = "the dense blocks on the diagonal, inverted",
         .source = "Jacobi 1845",
         .options = {},
         .of_hierarchical = [](const HMatrix& A, const HMatrixOrigin& origin, const Options&)
             -> std::unique_ptr<Preconditioner> { return std::make_unique<DiagonalBlocks>(A, origin.replicated); },
         .replicated = true},
        {.name = "inner",
         .title = "bicgstab with a coarser matrix, whose blocks have rank one",
         .source = "Ida, Iwashita, Mifune and Takahashi 2015",
         .options = inner_iterations_options,
         .of_hierarchical = make_inner_iterations,
         .symmetric = never,
         .has_transpose = false,
         .varies = true},
    };
    return kinds;
}

void check_transpose(const Method& method, const PreconditionerKind& kind) {
    if (method.transpose && !kind.has_transpose)
        throw InputError(fmt::format("{} needs products with M⁻ᵀ, which {} does not have: {} takes it", method.name,
                                     kind.name, method.classic));
}

PreconditionerChoice choose_preconditioner(const std::string& text, MatrixKind matrix) {
    Spec spec = parse_spec(text);
    const auto kind = std::ranges::find_if(
        preconditioners(), [&](const auto& each) { return each.name == spec.name && each.takes(matrix); });
    if (kind == preconditioners().end()) refuse(spec.name, matrix);
    // block_jacobi:ilu0 is short for block_jacobi:inner=ilu0.
    const bool has_inner = std::ranges::find(kind->options, "inner", &OptionInfo::name) != kind->options.end();
    if (has_inner && !is_given(spec, "inner") && !spec.positional.empty()) {
        spec.options.emplace_back("inner", spec.positional.front());
        spec.positional.erase(spec.positional.begin());
    }
    Options options(spec, kind->options);
    if (has_inner) check_choice(spec, options, "inner", of_inner);
    if (kind->name == "amg") check_choice(spec, options, "cycle", of_cycle);
    return {&*kind, std::move(options)};
}

std::string preconditioner_in_single(const std::string& spec) {
    const auto [kind, options] = choose_preconditioner(spec, MatrixKind::sparse);
    const bool has = std::ranges::find(kind->options, "precision", &OptionInfo::name) != kind->options.end();
    const bool of_hypre = kind->name == "amg" && options.choice("cycle") == "hypre";
    if (!has || of_hypre || is_given(parse_spec(spec), "precision")) return spec;
    return spec + (spec.find(':') == std::string::npos ? ":" : ",") + "precision=single";
}

std::unique_ptr<Preconditioner> make_preconditioner(const std::string& spec, const CsrMatrix<double>& A) {
    const auto [kind, options] = choose_preconditioner(spec, MatrixKind::sparse);
    if (A.comm().reproducible() && !kind->of_rows) {
        std::vector<std::string_view> names;
        for (const auto& each : preconditioners())
            if (each.of_rows && each.takes(MatrixKind::sparse)) names.push_back(each.name);
        throw InputError(
            refusal(fmt::format("the preconditioner {} is another on another number of ranks, and not reproducible",
                                kind->name),
                    "", names, "those are"));
    }
    return kind->of_sparse(A, options);
}

std::unique_ptr<Preconditioner> make_preconditioner(const std::string& spec, const HMatrix& A,
                                                    const HMatrixOrigin& origin) {
    const auto [kind, options] = choose_preconditioner(spec, MatrixKind::hierarchical);
    if (origin.replicated && !kind->replicated)
        throw InputError(fmt::format("the preconditioner {} works with distributed vectors only", kind->name));
    return kind->of_hierarchical(A, origin, options);
}

}  // namespace stretto
