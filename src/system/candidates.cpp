// SPDX-License-Identifier: BSD-3-Clause
// What may solve a system, in the order of what it is assumed to take.
#include "candidates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

constexpr double ns = 1e-9;

/// What a kind of preconditioner takes, in seconds by the nonzeros of A and by its rows, which wait for each other in
/// triangular solves, and what it is worth: iterations are `least` and, of those with Jacobi's, the part `plain` and
/// the part `incomplete` of what incomplete factors without fill leave. Measured on real matrices and generated ones,
/// a core of an AMD EPYC, family 25 (docs/measured/choice.md): what counts is how they stand to each other.
struct Kind {
    std::string_view name;
    double setup;    ///< for each nonzero
    double fixed;    ///< of a set-up, besides
    double use;      ///< for each nonzero; 0: of complete factors, by their entries
    double use_row;  ///< for each row
    double least, plain, incomplete;
    std::string_view why;
};
constexpr std::string_view polynomial = "chebyshev", multigrid = "amg", with_threshold = "block_jacobi:ilut",
                           overlapping = "additive_schwarz:ilut", replicated = "additive_schwarz:lu,overlap=100";
constexpr std::array kinds{
    Kind{"none", 0, 0, 0, 0, 0, 1.3, 0, "nothing to set up"},
    Kind{"jacobi", ns, 4e-6, 0.02 * ns, 0.5 * ns, 0, 1, 0, "next to nothing to set up, and the quickest to use"},
    Kind{polynomial, 0, 5e-5, 0, 0, 1, 0.23, 0, "a polynomial: several products for one reduction"},
    Kind{"block_jacobi:ic0", 22 * ns, 2e-5, 0.52 * ns, 2.4 * ns, 1, 0, 1,
         "incomplete Cholesky suits most SPD matrices"},
    Kind{"block_jacobi:ilu0", 16 * ns, 2e-5, 0.52 * ns, 2.4 * ns, 1, 0, 1, "incomplete LU factors, quick to set up"},
    Kind{with_threshold, 60 * ns, 5e-5, 0.6 * ns, 9 * ns, 3, 0, 0.22, "incomplete LU with fill where it counts"},
    Kind{overlapping, 75 * ns, 4e-4, 0.8 * ns, 11 * ns, 3, 0.02, 0.22,
         "overlapping blocks, incomplete LU with fill where it counts"},
    Kind{multigrid, 150 * ns, 1.8e-3, 2 * ns, 20 * ns, 13, 0.1, 0, "multigrid: iterations hardly grow with the size"},
    Kind{"block_jacobi:cholesky", 0, 2e-4, 0, 0, 2, 0.15, 0, "complete Cholesky factors"},
    Kind{"block_jacobi:lu", 0, 2e-4, 0, 0, 2, 0.15, 0, "complete LU factors"},
    Kind{"additive_schwarz:cholesky,restricted=0,overlap=2", 0, 6e-4, 0, 0, 3, 0.05, 0,
         "overlapping blocks, each solved exactly"},
    Kind{"additive_schwarz:lu,overlap=2", 0, 8e-4, 0, 0, 2, 0.03, 0, "overlapping blocks, each solved exactly"},
    Kind{replicated, 0, 1e-3, 0, 0, 1, 0, 0, "a direct solve on every rank, for reductions cost more"},
};

// More rows than these take too much memory for complete factors on every rank, or at all.
constexpr double most_replicated = 50000, most_direct = 1e6;

constexpr double between_ranks = 1.5e-3;  // seconds: multigrid's set-up waits for others on every level

/// Complete factors of so many rows: counted, or what grids in two and three dimensions have and what is less regular.
FactorCounts factors_of(const Structure& structure, const Sizes& sizes, double rows, double nonzeros) {
    if (sizes.factors) {  // of one rank's block
        const double blocks = rows * sizes.ranks / std::max(1.0, sizes.rows);
        return {sizes.factors->entries * std::pow(blocks, 1.2), sizes.factors->work * std::pow(blocks, 1.6)};
    }
    const double size = std::max(2.0, rows), row = nonzeros / size;
    const double fill = row < 6                            ? 0.3 * std::log2(size)
                        : structure.like_grid() && row < 9 ? 0.09 * std::pow(size, 0.57)
                                                           : 2 * std::max(1.0, std::pow(size / 10000, 0.4));
    const double blocks = rows * sizes.ranks / std::max(1.0, sizes.rows);
    const double entries = std::min(fill * nonzeros, sizes.profile * blocks);
    return {entries, 2 * entries * entries / size};
}

const Kind& kind_of(std::string_view precond) {
    const auto found = std::ranges::find(kinds, precond, &Kind::name);
    if (found != kinds.end()) return *found;
    const bool complete = precond.find("lu") != precond.npos || precond.find("cholesky") != precond.npos;
    return *std::ranges::find(kinds, complete ? "additive_schwarz:lu,overlap=2" : with_threshold, &Kind::name);
}

bool is_complete(const Kind& kind) { return kind.use == 0 && kind.name != "none" && kind.name != polynomial; }

/// By which blocks overlap.
int layers(const Kind& kind) {
    return kind.name == overlapping ? 1 : kind.name.find("overlap=2") != kind.name.npos ? 2 : 0;
}

/// Iterations of a family for so many of CG. Restarts cost GMRES some.
double of_family(const NextStep& step, double cg) {
    constexpr double two_products = 0.72, a_cycle = 30, restarts = 0.75, most = 2.5;
    if (step.method == "bicgstab") return two_products * cg;
    if (step.method != "gmres") return (step.method == "minres" ? 1.2 : 1) * cg;
    return std::clamp(std::pow(cg / a_cycle, restarts), 1.0, most) * cg;
}

/// Iterations with incomplete factors without fill, over those with Jacobi's preconditioner: they are exact along
/// lines.
constexpr double exact_along_lines = 0.03;
double incomplete_part(const Structure& structure) {
    constexpr double with_hubs = 0.5;
    if (structure.has_hubs()) return with_hubs;
    const double scattered = structure.like_grid() ? 0.45 : 0.27;
    return std::max(exact_along_lines, scattered * std::sqrt(std::max(0.0, 1 - structure.pair_share)));
}

/// Iterations for each of Jacobi's, beside the least.
double slope(const Structure& structure, const Kind& kind, int ranks) {
    constexpr double of_bodies = 0.03;
    if (kind.name == multigrid && structure.unknowns_at_a_point > 1) return of_bodies;
    if (kind.name == multigrid && structure.like_grid()) {
        constexpr double grounded = 0.05, few = 0.004, many = 0.5;  // of circuits it stands those that are near ground
        return !structure.has_hubs() ? 0 : structure.sum_share > grounded ? few : many;
    }
    if (kind.incomplete == 0) return kind.plain;
    const double part = incomplete_part(structure), factors = kind.incomplete * part;
    // Of what couples blocks, which complete factors of each would leave as well.
    const double cut = kind.name == overlapping ? 0 : kind.incomplete < 1 ? 0.4 : 0.17;
    return std::min(1.0, kind.plain + (kind.incomplete < 1 ? std::max(exact_along_lines, factors) : factors) +
                             cut * part * std::log2(ranks));
}

/// Iterations of CG with Jacobi's preconditioner, by the points along a side of a grid, more where they couple along
/// lines; else by what A makes of the vector of ones, which is not far from the smallest eigenvalue of what comes from
/// differential equations.
double usual_difficulty(const Structure& structure, const Sizes& sizes) {
    constexpr double of_circuits = 600;
    if (structure.has_hubs()) return of_circuits;
    if (!structure.like_grid()) {
        constexpr double smooth = 0.01, least = 70, most = 600;
        if (structure.sum_share > (structure.symmetric() ? 0 : smooth))
            return std::clamp(19 / std::sqrt(structure.sum_share), structure.symmetric() ? 1 : least, most);
        return (structure.symmetric() ? 280 : most) * std::pow(sizes.rows / 1000, 0.25);
    }
    const bool plane = sizes.nonzeros < 6 * sizes.rows;
    const double side = std::pow(std::max(1.0, sizes.rows), plane ? 1.0 / 2 : 1.0 / 3),
                 isotropic = plane ? 0.5 : 1.0 / 3;
    double lines = 1 + 2 * std::max(0.0, structure.pair_share - isotropic);
    constexpr double nearly_symmetric = 0.2, floating = 0.1, harder = 4;
    double jumps = std::pow(std::max(1.0, structure.row_spread), 1.0 / 16);
    if (!structure.symmetric()) jumps = 1;
    if (!structure.symmetric() && structure.asymmetry > nearly_symmetric) lines = 1;  // convection
    // Hardly anything holds the constants, where a boundary with given values would.
    if (!structure.symmetric() && std::abs(structure.sum_share) * side < floating) jumps = harder;
    const double indefinite = structure.symmetric() && !structure.may_be_definite() ? 3 : 1;
    return indefinite * (plane ? 3.3 : 4) * side * lines * jumps;
}

/// What Helmholtz's equation makes: incomplete factors and multigrid do not stand it.
bool is_wave(const Structure& structure) {
    return structure.symmetric() && !structure.may_be_definite() && structure.like_grid();
}

}  // namespace

bool is_direct(const NextStep& step) { return step.method == "gmres" && is_complete(kind_of(step.precond)); }

double assumed_difficulty(const Structure& structure, const Sizes& sizes) {
    return sizes.difficulty.value_or(usual_difficulty(structure, sizes));
}

std::optional<double> difficulty(const Structure& structure, const Sizes& sizes, const NextStep& step,
                                 double iterations) {
    constexpr double tells = 0.02;
    const Kind& kind = kind_of(step.precond);
    const double each = slope(structure, kind, sizes.ranks);
    if (is_complete(kind) || each < tells) return {};
    return std::max(1.0, (iterations * iterations / of_family(step, iterations) - kind.least) / each);
}

namespace {

/// A rank's rows and nonzeros that a preconditioner is made of.
struct Part {
    double rows, nonzeros;
};
Part part_of(const Kind& kind, const Sizes& sizes) {
    const bool whole = sizes.ranks == 1 || kind.name == replicated;
    const double rows = whole ? sizes.rows : std::min(sizes.rows, sizes.rows / sizes.ranks + layers(kind) * sizes.halo);
    return {rows, sizes.nonzeros * rows / std::max(1.0, sizes.rows)};
}

/// Seconds of one use of what has no complete factors, without what it waits for.
double use_of(const Kind& kind, const Sizes& sizes, const PartTimes& parts) {
    // A polynomial: products with the matrix as it is stored, and vectors between them.
    constexpr double products = 4, vectors = 30;
    if (kind.name == polynomial) return products * parts.product + vectors * parts.vector;
    const auto [rows, nonzeros] = part_of(kind, sizes);
    return (kind.use * nonzeros + kind.use_row * rows) * parts.columns;
}

}  // namespace

std::optional<double> assumed_use(const Sizes& sizes, const PartTimes& parts, std::string_view precond) {
    const auto kind = std::ranges::find(kinds, precond, &Kind::name);
    if (kind == kinds.end() || is_complete(*kind)) return {};
    return use_of(*kind, sizes, parts);
}

Expectation expectation(const Structure& structure, const Sizes& sizes, const PartTimes& parts, const NextStep& step) {
    const Kind& kind = kind_of(step.precond);
    const bool whole = sizes.ranks == 1 || kind.name == replicated;
    const auto [rows, nonzeros] = part_of(kind, sizes);
    double setup = kind.fixed + kind.setup * nonzeros, use = 0;
    const double each = kind.name == "none" && sizes.constant_diagonal ? 1 : slope(structure, kind, sizes.ranks);
    double iterations = of_family(step, kind.least + each * assumed_difficulty(structure, sizes));
    if (is_complete(kind)) {
        const auto factors = factors_of(structure, sizes, rows, nonzeros);
        const bool symmetric = kind.name.find("cholesky") != std::string_view::npos;
        use = (2.2 * ns * factors.entries + 10 * ns * rows) * parts.columns;
        setup += (symmetric ? 500 : 800) * ns * rows + (symmetric ? 95 : 140) * ns * factors.entries +
                 (symmetric ? 0.08 : 0.13) * ns * factors.work;
        if (whole) iterations = 1;
    } else {
        use = use_of(kind, sizes, parts);
    }
    if (kind.name == with_threshold || kind.name == overlapping) {  // fill is where rows couple with many
        const double zeros = structure.zero_diagonal > 0 ? 2.5 : 1;
        setup += zeros * 300 * ns * (1 - structure.pair_share) * nonzeros;
    } else if (kind.name == multigrid && structure.has_hubs()) {  // whose coarse levels are small
        setup -= 80 * ns * nonzeros;
    } else if (kind.name == multigrid && structure.unknowns_at_a_point > 1) {  // long rows, and few of them
        setup -= 40 * ns * nonzeros;
    } else if (kind.incomplete == 1) {  // long rows meet each other more often
        setup += 0.15 * ns * nonzeros * nonzeros / rows;
    } else if (kind.name == polynomial) {  // the largest eigenvalue
        constexpr double products = 14, vectors = 600;
        setup += products * (parts.product + (sizes.ranks > 1 ? parts.reduction : 0)) + vectors * parts.vector;
    }
    if (kind.name == multigrid && sizes.ranks > 1) setup += between_ranks;
    if (kind.name == multigrid) use += parts.reduction;  // which its coarsest level waits for
    // Incomplete factors lean on the diagonal.
    if (kind.incomplete > 0 && structure.rows > 0)
        iterations *= 1 + 20 * static_cast<double>(structure.zero_diagonal) / static_cast<double>(structure.rows);
    if (kind.incomplete > 0 && is_wave(structure)) iterations *= 10;
    Expectation found = quickest_of_family(parts, step.method, use, iterations);
    found.step = step;
    if (found.step.why.empty()) found.step.why = kind.why;
    found.setup = setup;
    return found;
}

namespace {

struct Way {
    std::string_view method, precond;
};

std::vector<Way> definite(const Sizes& sizes) {
    std::vector<Way> ways{
        {"cg", "jacobi"}, {"cg", polynomial}, {"cg", "block_jacobi:ic0"}, {"gmres", with_threshold}, {"cg", multigrid}};
    if (sizes.ranks == 1) {
        ways.push_back({"gmres", "block_jacobi:cholesky"});
        ways.push_back({"gmres", "block_jacobi:lu"});
    } else {
        ways.push_back({"cg", "block_jacobi:cholesky"});
        ways.push_back({"cg", "additive_schwarz:cholesky,restricted=0,overlap=2"});
        ways.push_back({"gmres", replicated});
    }
    return ways;
}

std::vector<Way> not_definite(const Sizes& sizes) {
    if (sizes.ranks == 1)
        return {{"gmres", "block_jacobi:lu"}, {"minres", "jacobi"}, {"minres", "none"}, {"bicgstab", with_threshold}};
    return {{"minres", "jacobi"},
            {"minres", "none"},
            {"gmres", replicated},
            {"gmres", "additive_schwarz:lu,overlap=2"},
            {"bicgstab", overlapping}};
}

std::vector<Way> unsymmetric(const Structure& structure, const Sizes& sizes) {
    std::vector<Way> ways;
    if (structure.zero_diagonal == 0) ways = {{"bicgstab", "jacobi"}, {"bicgstab", "block_jacobi:ilu0"}};
    ways.push_back({"bicgstab", with_threshold});
    if (structure.like_grid()) {
        ways.push_back({"bicgstab", polynomial});
        ways.push_back({"bicgstab", multigrid});
    }
    if (sizes.ranks > 1) {
        ways.push_back({"bicgstab", overlapping});
        ways.push_back({"bicgstab", "additive_schwarz:lu,overlap=2"});
    }
    ways.push_back({"gmres", sizes.ranks == 1 ? std::string_view("block_jacobi:lu") : replicated});
    return ways;
}

/// Each way with the family that is the quickest with it, in the order of ways.
std::vector<Expectation> expected_of_all(const std::vector<Way>& ways, const Structure& structure, const Sizes& sizes,
                                         const PartTimes& parts) {
    std::vector<Expectation> all;
    constexpr double enough_levels = 1000;
    for (const auto& [method, precond] : ways) {
        if (method == "minres" && precond == "none" && sizes.constant_diagonal) continue;  // as jacobi is, then
        if (precond == multigrid && (!amg_is_built() || sizes.rows < enough_levels)) continue;
        if (precond == replicated && sizes.rows > most_replicated) continue;
        if (precond == "block_jacobi:lu" && sizes.rows > most_direct) continue;
        if (precond == "jacobi" && structure.positive_diagonal != structure.rows && method != "bicgstab" &&
            !structure.negative())
            continue;
        const auto expect = [&](std::string_view family) {
            NextStep step;
            step.method = family;
            step.precond = precond == "jacobi" && sizes.constant_diagonal ? "none" : precond;
            return expectation(structure, sizes, parts, step);
        };
        auto way = expect(method);
        // GMRES has the fewest reductions, in blocks, and one product an iteration.
        if (method == "cg" || method == "bicgstab")
            if (auto other = expect("gmres"); other.seconds() < way.seconds()) way = std::move(other);
        all.push_back(std::move(way));
    }
    return all;
}

/// By what each loses to the quickest, in the mean of how hard the system may be: for that is not known.
std::vector<Expectation> expected(const std::vector<Way>& ways, const Structure& structure, const Sizes& sizes,
                                  const PartTimes& parts) {
    const double usual = assumed_difficulty(structure, sizes), unsure = sizes.difficulty ? 1.5 : 3;
    auto all = expected_of_all(ways, structure, sizes, parts);
    constexpr double most = 3;    // then something else is gone on with
    constexpr double risk = 0.3;  // of what the set-up of factors that were not counted is assumed to take
    std::vector<double> loss(all.size());
    for (const double hard : {1 / unsure, 1.0, unsure}) {
        auto then = sizes;
        then.difficulty = hard * usual;
        const auto times = expected_of_all(ways, structure, then, parts);
        const double least = std::ranges::min(times, {}, &Expectation::seconds).seconds();
        for (std::size_t k = 0; k < all.size(); ++k) {
            const double seconds =
                times[k].seconds() + (is_direct(all[k].step) && !sizes.factors ? risk * times[k].setup : 0);
            loss[k] += std::min(most, seconds / least);
        }
    }
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return loss[k]; });
    std::vector<Expectation> ranked;
    for (const auto k : order) ranked.push_back(std::move(all[k]));
    return ranked;
}

}  // namespace

std::vector<Expectation> candidates(const Structure& structure, const Sizes& sizes, const PartTimes& parts) {
    if (!structure.symmetric()) return expected(unsymmetric(structure, sizes), structure, sizes, parts);
    return expected(structure.may_be_definite() ? definite(sizes) : not_definite(sizes), structure, sizes, parts);
}

std::vector<Expectation> indefinite_candidates(const Structure& structure, const Sizes& sizes, const PartTimes& parts) {
    return expected(not_definite(sizes), structure, sizes, parts);
}

}  // namespace stretto
