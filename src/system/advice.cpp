// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "stretto/core/spec.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

using Steps = std::vector<NextStep>;

// Complete factors of more rows are for large memories: there they come after what needs little.
constexpr Global small_enough_for_lu = 200000;
// Of fewer rows complete Cholesky factors take a second or two, also in space, and stand every condition number.
constexpr Global few_rows = 50000;

/// Grids, and what has several unknowns at a point, as elastic bodies.
bool suits_multigrid(const Structure& structure) {
    constexpr Global enough_rows = 1000;  // for more than one level
    return (structure.like_grid() || structure.unknowns_at_a_point > 1) && structure.symmetric_pattern() &&
           structure.rows >= enough_rows && amg_is_built();
}

/// One block for all: nothing is left to iterate for but the rounding of the factors.
NextStep direct(int ranks) {
    return {.method = "gmres",
            .precond = "block_jacobi:lu",
            .one_rank = ranks > 1,
            .why = ranks > 1 ? "a direct solve, if memory allows: LU of the whole matrix on one rank"
                             : "a direct solve, if memory allows: LU of the whole matrix"};
}

/// Symmetric, and perhaps positive definite.
Steps definite(const Structure& structure, int ranks) {
    const NextStep amg{"cg", "amg", {}, {}, false, "multigrid: iterations hardly grow with the size"};
    const NextStep incomplete{"cg", "block_jacobi:ic0", {}, {}, false, "incomplete Cholesky suits most SPD matrices"};
    const NextStep blocks{"cg",  "additive_schwarz:cholesky,restricted=0,overlap=2", {}, {},
                          false, "overlapping blocks, each solved exactly"};
    const NextStep complete{"cg", "block_jacobi:cholesky", {}, {}, false, "complete Cholesky factors: so few rows"};
    const NextStep second = ranks > 1 && structure.rows < ranks * small_enough_for_lu ? blocks : incomplete;
    Steps steps;
    if (suits_multigrid(structure))
        steps = {amg, second, direct(ranks)};
    else if (ranks == 1 && structure.rows < few_rows)
        steps = {complete, incomplete, amg, direct(ranks)};
    else if (structure.rows < small_enough_for_lu)  // of the fourth order, say, which is not for incomplete factors
        steps = {second, direct(ranks), amg};
    else
        steps = {second, amg, direct(ranks)};
    if (!amg_is_built()) std::erase_if(steps, [](const auto& step) { return step.precond == "amg"; });
    return steps;
}

/// Symmetric, with eigenvalues on both sides of zero.
Steps indefinite(const Structure& structure, int ranks) {
    const NextStep minres{"minres", structure.positive_diagonal == structure.rows ? "jacobi" : "none",
                          {},       {},
                          false,    "symmetric and not definite is what minres is for"};
    const NextStep schwarz{"gmres", "additive_schwarz:lu,overlap=2",          {}, {},
                           false,   "overlapping blocks, each solved exactly"};
    const bool small = structure.rows < ranks * small_enough_for_lu;
    if (ranks == 1) return small ? Steps{direct(1), minres} : Steps{minres, direct(1)};
    // Blocks of a saddle point are regular. Those of Helmholtz's equation may be close to a resonance.
    const bool saddle_point = structure.zero_diagonal > 0;
    if (saddle_point) return small ? Steps{schwarz, minres, direct(ranks)} : Steps{minres, schwarz, direct(ranks)};
    return {minres, direct(ranks), schwarz};
}

Steps unsymmetric(const Structure& structure, int ranks) {
    const NextStep amg{"bicgstab", "amg", {}, {}, false, "multigrid: iterations hardly grow with the size"};
    const NextStep ilut{"bicgstab", ranks > 1 ? "additive_schwarz:ilut" : "block_jacobi:ilut",
                        {},         {},
                        false,      "incomplete LU with fill where it counts"};
    const NextStep schwarz{"gmres", "additive_schwarz:lu,overlap=2",          {}, {},
                           false,   "overlapping blocks, each solved exactly"};
    if (structure.zero_diagonal > 0) return ranks > 1 ? Steps{schwarz, ilut, direct(ranks)} : Steps{direct(1), ilut};
    if (suits_multigrid(structure)) return {amg, ilut, direct(ranks)};
    return ranks > 1 ? Steps{ilut, schwarz, direct(ranks)} : Steps{ilut, direct(1)};
}

/// Where the sizes of rows are far apart, preconditioners need them alike.
Steps scaled(const Structure& structure, Steps steps) {
    constexpr double far_apart = 1e6;
    if (structure.row_spread > far_apart)
        for (auto& step : steps) step.prepare = "equilibrate";
    return steps;
}

Steps first_choices(const Structure& structure, int ranks) {
    if (!structure.symmetric()) return unsymmetric(structure, ranks);
    return structure.may_be_definite() ? definite(structure, ranks) : indefinite(structure, ranks);
}

std::string name_of(const std::string& spec) { return parse_spec(spec).name; }

/// The place in these steps of what was tried, or of another method with the same strong preconditioner, which counts
/// for more than the method; −1: not there.
std::ptrdiff_t place(const Steps& steps, const Tried& tried) {
    const bool weak = tried.precond == "none" || tried.precond == "jacobi";
    const auto found = std::ranges::find_if(steps, [&](const NextStep& step) {
        return (!weak || name_of(step.method) == name_of(tried.method)) && step.precond == tried.precond &&
               (step.prepare.empty() || step.prepare == tried.prepare) && !(step.one_rank && tried.ranks > 1);
    });
    return found == steps.end() ? -1 : found - steps.begin();
}

/// A tolerance that the residual attained would meet, rounded up.
std::string tolerance_above(double residual) {
    const double power = std::pow(10.0, std::floor(std::log10(residual)));
    return fmt::format("{:.0e}", std::ceil(1.5 * residual / power) * power);
}

/// Where the limit came first.
NextStep longer(const Tried& tried, int max_iterations, double residual) {
    return {tried.method,  tried.precond,
            tried.prepare, fmt::format("--max-it {}", 10 * static_cast<Global>(std::max(max_iterations, 1))),
            false,         fmt::format("it had come to {:.0e}", residual)};
}

constexpr std::size_t most_steps = 3;

}  // namespace

std::string hint(const Structure& structure, int ranks) {
    if (structure.singular_pattern())
        return "no values make this pattern regular: look at how the system is put together";
    const auto first = choices(structure, ranks).front();
    return fmt::format("{} ({})", first.options(), first.why);
}

Steps choices(const Structure& structure, int ranks) { return scaled(structure, first_choices(structure, ranks)); }

Steps next_steps(const Structure& structure, const Tried& tried, double rtol, int max_iterations,
                 const Result& result) {
    constexpr double nearly_all = 1e-9;  // of ‖b‖: what is left once double precision has done its work
    if (result.passed() || result.status == Status::interrupted) return {};
    if (result.status == Status::least_squares)
        return tried.null_space == "auto"
                   ? Steps{{tried.method, tried.precond, tried.prepare, "--null-space constant", false,
                            "no x has a smaller residual: says that this one is what is wanted"}}
                   : Steps{};
    if (structure.singular_pattern()) return {};
    if (!structure.null_vectors.empty() && tried.null_space == "none")
        return {{tried.method, tried.precond, tried.prepare, "--null-space auto", false,
                 "A is singular: keeps out of b and x what it takes to zero"}};

    const double residual = result.relative_residual();
    Steps steps;
    if (residual < nearly_all && residual > rtol)
        steps.push_back({tried.method, tried.precond, tried.prepare, "--rtol " + tolerance_above(residual), false,
                         "about as far as double precision goes here"});

    constexpr double on_its_way = 0.3;  // of the digits
    const bool limited = result.status == Status::max_iterations && max_iterations < SolveOptions().max_iterations &&
                         residual < std::pow(rtol, on_its_way);
    if (limited) steps.push_back(longer(tried, max_iterations, residual));

    // What was tried may be a step of another way to see the matrix, where it was found not to be definite.
    const auto main = choices(structure, tried.ranks);
    const auto other = structure.symmetric() ? scaled(structure, indefinite(structure, tried.ranks)) : Steps{};
    const bool not_definite = tried.not_definite || result.status == Status::indefinite_matrix ||
                              result.status == Status::indefinite_preconditioner ||
                              (place(main, tried) < 0 && place(other, tried) >= 0);
    const auto& ladder = not_definite && !other.empty() ? other : main;
    const auto at = place(ladder, tried);
    const auto had = [&](const NextStep& step) {
        return std::ranges::any_of(tried.before, [&](const NextStep& before) {
            return place({step}, {.method = before.method,
                                  .precond = before.precond,
                                  .prepare = tried.prepare,
                                  .ranks = tried.ranks}) == 0;
        });
    };
    std::copy_if(ladder.begin() + (at + 1), ladder.end(), std::back_inserter(steps), std::not_fn(had));
    // Where pivots vanished, more of the same kind will not help: the whole matrix at once may.
    if (tried.repaired) std::ranges::stable_sort(steps, {}, [](const NextStep& step) { return step.one_rank ? 0 : 1; });
    constexpr double apart = 10;
    if (at + 1 == std::ssize(ladder) && tried.prepare.empty() && structure.row_spread > apart)
        steps.push_back({tried.method, tried.precond, "equilibrate", {}, false, "rows and columns of one size"});
    if (result.status == Status::max_iterations && !limited && (residual < 0.1 || steps.empty()))
        steps.push_back(longer(tried, max_iterations, residual));
    if (steps.size() > most_steps) steps.resize(most_steps);
    return steps;
}

NextStep dense_choice(bool symmetric, bool positive_definite) {
    if (positive_definite) return {"cg", "block_jacobi", {}, {}, false, "symmetric positive definite"};
    if (symmetric) return {"minres", "none", {}, {}, false, "symmetric, and perhaps not definite"};
    return {"bicgstab", "none", {}, {}, false, "not symmetric"};
}

Steps dense_next_steps(const NextStep& choice, const Tried& tried, double epsilon, int max_iterations,
                       const Result& result) {
    if (result.passed() && epsilon == 0) return {};
    if (result.status == Status::interrupted) return {};
    if (epsilon > 0)
        return {{tried.method,
                 tried.precond,
                 {},
                 fmt::format("--hmatrix epsilon={:.0e}", epsilon),
                 false,
                 "it was the hierarchical matrix that was not good enough"}};
    Steps steps;
    if (name_of(tried.method) != choice.method || (tried.precond == "none" && choice.precond != "none"))
        steps.push_back(choice);
    if (tried.precond != "inner")
        steps.push_back(
            {"gmres:flexible=1", "inner", {}, {}, false, "the strongest preconditioner there is for these"});
    if (result.status == Status::max_iterations)
        steps.push_back(longer(tried, max_iterations, result.relative_residual()));
    if (steps.size() > most_steps) steps.resize(most_steps);
    return steps;
}

}  // namespace stretto
