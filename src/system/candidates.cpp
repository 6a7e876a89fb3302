// SPDX-License-Identifier: BSD-3-Clause
// What may solve a system, in the order of what it is assumed to take.
#include "candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

/// What a kind of preconditioner takes, in products of compressed rows, and what it is worth: iterations are `least`
/// and, of those with Jacobi's, the part `plain` and the part `incomplete` of what incomplete factors without fill
/// leave. Fitted to real matrices and generated ones, on one rank and two (docs/measured/choice.md).
struct Kind {
    std::string_view name;
    double setup;    ///< products
    double seconds;  ///< of a set-up, besides
    double use;      ///< products; 0: of complete factors, by their fill
    double row;      ///< seconds of a use for each row, which waits for others
    double least, plain, incomplete;
    std::string_view why;
};
constexpr std::string_view polynomial = "chebyshev";
constexpr std::string_view replicated = "additive_schwarz:lu,overlap=100";
constexpr std::array kinds{
    Kind{"none", 0, 0, 0, 0, 0, 1.5, 0, "nothing to set up"},
    Kind{"jacobi", 1, 0, 0.1, 0, 0, 1, 0, "next to nothing to set up, and the quickest to use"},
    Kind{polynomial, 13, 5e-5, 4, 0, 1, 0.25, 0, "a polynomial: several products for one reduction"},
    Kind{"block_jacobi:ic0", 50, 2e-5, 1.4, 1.2e-8, 1, 0, 1, "incomplete Cholesky suits most SPD matrices"},
    Kind{"block_jacobi:ilu0", 40, 2e-5, 1.4, 1.2e-8, 1, 0, 1, "incomplete LU factors, quick to set up"},
    Kind{"block_jacobi:ilut", 250, 1e-4, 2.5, 3e-8, 2, 0, 0.3, "incomplete LU with fill where it counts"},
    Kind{"additive_schwarz:ilut", 280, 4e-4, 3, 3e-8, 2, 0.02, 0.3,
         "overlapping blocks, incomplete LU with fill where it counts"},
    Kind{"amg", 200, 1.5e-3, 10, 1.5e-7, 4, 0.1, 0, "multigrid: iterations hardly grow with the size"},
    Kind{"block_jacobi:cholesky", 0, 4e-4, 0, 0, 2, 0.15, 0, "complete Cholesky factors"},
    Kind{"block_jacobi:lu", 0, 6e-4, 0, 0, 2, 0.15, 0, "complete LU factors"},
    Kind{"additive_schwarz:cholesky,restricted=0,overlap=2", 0, 1e-3, 0, 0, 3, 0.05, 0,
         "overlapping blocks, each solved exactly"},
    Kind{"additive_schwarz:lu,overlap=2", 0, 1.3e-3, 0, 0, 2, 0.03, 0, "overlapping blocks, each solved exactly"},
    Kind{replicated, 0, 2e-3, 0, 0, 1, 0, 0, "a direct solve on every rank, for reductions cost more"},
};

// More rows than these take too much memory for complete factors on every rank, or at all.
constexpr double most_replicated = 50000, most_direct = 1e6;

/// Entries of complete factors over those of the matrix: grids in two or three dimensions, and what is less regular.
double fill(const Structure& structure, double rows, double nonzeros) {
    const double size = std::max(2.0, rows), row = nonzeros / size;
    if (row < 6) return 0.7 * std::log2(size);
    if (structure.like_grid() && row < 9) return std::cbrt(size);
    return 6 * std::pow(std::max(1.0, size / 5000), 0.25);
}

const Kind& kind_of(std::string_view precond) {
    const auto found = std::ranges::find(kinds, precond, &Kind::name);
    if (found != kinds.end()) return *found;
    const bool complete = precond.find("lu") != precond.npos || precond.find("cholesky") != precond.npos;
    return *std::ranges::find(kinds, complete ? "additive_schwarz:lu,overlap=2" : "block_jacobi:ilut", &Kind::name);
}

bool is_twice(const NextStep& step) { return step.method == "bicgstab"; }  // two products an iteration

/// Iterations of a method for so many of CG or BiCGStab, for which kinds are known. Restarts cost GMRES some.
double of_family(const NextStep& step, double iterations) {
    constexpr double about_two_cycles = 60;
    if (step.method == "gmres") return (iterations < about_two_cycles ? 1.5 : 2.6) * iterations;
    return (step.method == "minres" ? 1.2 : 1) * iterations;
}

/// Iterations with incomplete factors without fill, over those with Jacobi's preconditioner: they are exact along
/// lines.
double incomplete_part(const Structure& structure) {
    constexpr double least = 0.03, with_hubs = 0.5;
    if (structure.has_hubs()) return with_hubs;
    const double scattered = structure.like_grid() ? 0.4 : 0.27;
    return std::max(least, scattered * std::sqrt(std::max(0.0, 1 - structure.pair_share)));
}

/// Iterations for each of Jacobi's, beside the least.
double slope(const Structure& structure, const Kind& kind) {
    const double part = kind.name == "amg" && structure.like_grid() ? 0 : kind.plain;
    return part + kind.incomplete * incomplete_part(structure);
}

/// Iterations with Jacobi's preconditioner, by the points along a side of a grid, more where they couple along lines,
/// or by the size alone.
double usual_difficulty(const Structure& structure, const Sizes& sizes, bool twice) {
    const bool plane = sizes.nonzeros < 6 * sizes.rows;
    const double side = std::pow(std::max(1.0, sizes.rows), plane ? 1.0 / 2 : 1.0 / 3),
                 isotropic = plane ? 0.5 : 1.0 / 3;
    const double lines = 1 + 2 * std::max(0.0, structure.pair_share - isotropic);
    constexpr double less_than_cg = 0.8;  // BiCGStab
    // Of what no grid tells one in three takes several times as long: hence more than in the median.
    if (!structure.like_grid()) return (twice ? 160 : 280) * std::pow(sizes.rows / 1000, 0.25);
    return (twice ? less_than_cg : 1) * (plane ? 3.3 : 4) * side * lines;
}

}  // namespace

std::optional<double> difficulty(const Structure& structure, const NextStep& step, double iterations) {
    constexpr double tells = 0.02;
    const Kind& kind = kind_of(step.precond);
    if ((kind.use == 0 && kind.name != "none") || slope(structure, kind) < tells) return {};
    return std::max(1.0, (iterations * iterations / of_family(step, iterations) - kind.least) / slope(structure, kind));
}

Expectation expectation(const Structure& structure, const Sizes& sizes, const PartTimes& parts, const NextStep& step) {
    const Kind& kind = kind_of(step.precond);
    const bool whole = sizes.ranks == 1 || kind.name == replicated;
    Expectation found;
    found.step = step;
    if (found.step.why.empty()) found.step.why = kind.why;
    // A product of compressed rows: what is stored with fewer bytes is so for products alone.
    const double product = std::max(parts.product, 12 * sizes.nonzeros / sizes.ranks / parts.bandwidth);
    double use = kind.use * product + kind.row * sizes.rows / sizes.ranks, setup = kind.setup * product;
    const bool twice = is_twice(step);
    const double hard = sizes.difficulty.value_or(usual_difficulty(structure, sizes, twice));
    found.iterations = of_family(step, kind.least + slope(structure, kind) * hard);
    if (kind.use == 0 && kind.name != "none") {  // complete factors
        const double share = whole ? 1 : sizes.ranks, matrix = product * (whole ? sizes.ranks : 1);
        const double filled = fill(structure, sizes.rows / share, sizes.nonzeros / share);
        use = 2 * matrix * filled;
        const bool symmetric = kind.name.find("cholesky") != std::string_view::npos;
        setup = (symmetric ? 1 : 1.3) * matrix * (60 * filled + 4 * filled * filled);
        if (whole) found.iterations = 1;
    }
    found.setup = kind.seconds + setup;
    if (kind.name == polynomial) {  // products with the matrix as it is stored, and vectors between them
        constexpr double steps = 13, of_setup = 170, of_use = 40;
        found.setup =
            kind.seconds + steps * (parts.product + (sizes.ranks > 1 ? parts.reduction : 0)) + of_setup * parts.vector;
        use = kind.use * parts.product + of_use * parts.vector;
    }
    // Incomplete factors lean on the diagonal.
    if (twice && kind.use > 0 && structure.rows > 0)
        found.iterations *= 1 + 20 * static_cast<double>(structure.zero_diagonal) / static_cast<double>(structure.rows);
    const double products = twice ? 2 : 1,
                 work = products * (parts.product + use) + (twice || step.method == "gmres" ? 20 : 10) * parts.vector;
    const double classic = step.method == "gmres" ? 1 : twice ? 3 : 2;
    const double hidden = twice ? 1 : step.method == "gmres" ? 0.25 : 0.4;  // or of blocks
    const double reductions = parts.reduction > work ? hidden : classic;
    constexpr double outside = 4;  // reductions at the start and at the end
    found.iteration = work + reductions * parts.reduction;
    found.outside = outside * parts.reduction + parts.product;
    return found;
}

namespace {

struct Way {
    std::string_view method, precond;
};

std::vector<Way> definite(const Sizes& sizes) {
    if (sizes.ranks == 1)
        return {
            {"cg", "jacobi"}, {"cg", "chebyshev"},         {"cg", "block_jacobi:ic0"}, {"cg", "block_jacobi:cholesky"},
            {"cg", "amg"},    {"gmres", "block_jacobi:lu"}};
    return {{"cg", "jacobi"},
            {"cg", "chebyshev"},
            {"cg", "block_jacobi:ic0"},
            {"cg", "block_jacobi:cholesky"},
            {"cg", "additive_schwarz:cholesky,restricted=0,overlap=2"},
            {"cg", "amg"},
            {"gmres", replicated}};
}

std::vector<Way> not_definite(const Sizes& sizes) {
    if (sizes.ranks == 1)
        return {
            {"gmres", "block_jacobi:lu"}, {"minres", "jacobi"}, {"minres", "none"}, {"bicgstab", "block_jacobi:ilut"}};
    return {{"minres", "jacobi"},
            {"minres", "none"},
            {"gmres", replicated},
            {"gmres", "additive_schwarz:lu,overlap=2"},
            {"bicgstab", "additive_schwarz:ilut"}};
}

std::vector<Way> unsymmetric(const Structure& structure, const Sizes& sizes, const PartTimes& parts) {
    std::vector<Way> ways;
    if (structure.zero_diagonal == 0) ways = {{"bicgstab", "jacobi"}, {"bicgstab", "block_jacobi:ilu0"}};
    ways.push_back({"bicgstab", "block_jacobi:ilut"});
    if (structure.like_grid()) {
        ways.push_back({"bicgstab", "chebyshev"});
        ways.push_back({"bicgstab", "amg"});
    }
    if (sizes.ranks == 1) {
        ways.push_back({"gmres", "block_jacobi:lu"});
    } else {
        ways.push_back({"bicgstab", "additive_schwarz:ilut"});
        ways.push_back({"bicgstab", "additive_schwarz:lu,overlap=2"});
        ways.push_back({"gmres", replicated});
    }
    if (parts.reduction > parts.product)  // GMRES has the fewest reductions, in blocks
        for (std::size_t i = 0, all = ways.size(); i < all; ++i)
            if (ways[i].method == "bicgstab" && ways[i].precond != "jacobi") ways.push_back({"gmres", ways[i].precond});
    return ways;
}

std::vector<Expectation> expected(const std::vector<Way>& ways, const Structure& structure, const Sizes& sizes,
                                  const PartTimes& parts) {
    std::vector<Expectation> all;
    constexpr double enough_levels = 1000;
    for (const auto& [method, precond] : ways) {
        if (precond == "amg" && (!amg_is_built() || sizes.rows < enough_levels)) continue;
        if (precond == replicated && sizes.rows > most_replicated) continue;
        if (precond == "block_jacobi:lu" && sizes.rows > most_direct) continue;
        if (precond == "jacobi" && structure.positive_diagonal != structure.rows && method != "bicgstab" &&
            !structure.negative())
            continue;
        NextStep step;
        step.method = method;
        step.precond = precond;
        all.push_back(expectation(structure, sizes, parts, step));
    }
    // Iterations are assumed and may be several times as many; what a direct solve takes is known where hardly more
    // than its few reductions count.
    constexpr double risk = 1.5;
    std::ranges::stable_sort(all, {}, [](const Expectation& each) {
        const bool known = each.iterations <= 1 && each.setup < each.outside;
        return (known ? 1 : risk) * each.seconds();
    });
    return all;
}

}  // namespace

std::vector<Expectation> candidates(const Structure& structure, const Sizes& sizes, const PartTimes& parts) {
    if (!structure.symmetric()) return expected(unsymmetric(structure, sizes, parts), structure, sizes, parts);
    return expected(structure.may_be_definite() ? definite(sizes) : not_definite(sizes), structure, sizes, parts);
}

std::vector<Expectation> indefinite_candidates(const Structure& structure, const Sizes& sizes, const PartTimes& parts) {
    return expected(not_definite(sizes), structure, sizes, parts);
}

}  // namespace stretto
