// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/text.hpp"

namespace stretto {
namespace {

/// A place in a grid, or a step in it; x runs fastest.
struct Cell {
    Global x, y, z;
    Cell operator+(const Cell& step) const { return {x + step.x, y + step.y, z + step.z}; }
    bool operator==(const Cell&) const = default;
};

/// Columns of the grid's rows in increasing order come from these steps in increasing order of z, y, x.
std::vector<Cell> stencil(const Cell& size, bool corners) {
    std::vector<Cell> steps;
    for (Global z = -1; z <= 1; ++z)
        for (Global y = -1; y <= 1; ++y)
            for (Global x = -1; x <= 1; ++x)
                if ((corners || std::abs(x) + std::abs(y) + std::abs(z) <= 1) && std::abs(x) < size.x &&
                    std::abs(y) < size.y && std::abs(z) < size.z)
                    steps.push_back({x, y, z});
    return steps;
}

std::optional<Global> parse_size(std::string_view text) {
    const auto value = parse_count(text);
    return value && *value >= 1 ? value : std::nullopt;
}

[[noreturn]] void refuse_size(const Spec& spec, const ProblemKind& kind) {
    throw InputError(fmt::format("'{}': the size must be {}, in positive integers whose product is at most 2^62",
                                 spec.text, kind.arguments));
}

/// The grid that an argument N or NXxNY[xNZ] gives.
Cell parse_grid(const Spec& spec, const ProblemKind& kind, std::size_t dimensions) {
    if (spec.positional.size() != 1) refuse_size(spec, kind);
    std::vector<Global> sizes;
    std::string_view rest = spec.positional.front();
    for (std::size_t cut = 0; cut != std::string_view::npos; rest.remove_prefix(std::min(cut + 1, rest.size()))) {
        cut = rest.find('x');
        const auto size = parse_size(rest.substr(0, cut));
        if (!size) refuse_size(spec, kind);
        sizes.push_back(*size);
    }
    if (sizes.size() == 1) sizes.resize(dimensions, sizes.front());
    if (sizes.size() != dimensions) refuse_size(spec, kind);
    sizes.resize(3, 1);
    Global rows = 1;
    for (const Global size : sizes) {
        if (size > (Global{1} << 62) / rows) refuse_size(spec, kind);
        rows *= size;
    }
    return {sizes[0], sizes[1], sizes[2]};
}

void check_count(Global rows, Global per_row) {
    if (rows > std::numeric_limits<Index>::max() / per_row)
        throw InputError(
            fmt::format("one rank would hold up to {} rows of {} nonzeros, more than a local 32-bit "
                        "index can count: use more ranks",
                        rows, per_row));
}

/// A row for every cell, with the value that coefficient(cell, step) gives for the neighbour one step away;
/// the step {0, 0, 0} is the diagonal. Neighbours outside the grid are left out (Dirichlet).
template <class Coefficient>
Generator on_grid(Cell size, bool corners, Coefficient coefficient) {
    const auto make = [=, steps = stencil(size, corners)](Global begin, Global end) {
        check_count(end - begin, static_cast<Global>(steps.size()));
        LocalRows<double> rows;
        const auto count = static_cast<std::size_t>(end - begin);
        rows.start.reserve(count + 1);
        rows.columns.reserve(count * steps.size());
        rows.values.reserve(count * steps.size());
        for (Global row = begin; row < end; ++row) {
            const Cell cell{row % size.x, row / size.x % size.y, row / size.x / size.y};
            for (const Cell& step : steps) {
                const auto [x, y, z] = cell + step;
                if (x < 0 || x >= size.x || y < 0 || y >= size.y || z < 0 || z >= size.z) continue;
                rows.columns.push_back((z * size.y + y) * size.x + x);
                rows.values.push_back(coefficient(cell, step));
            }
            rows.start.push_back(static_cast<Global>(rows.columns.size()));
        }
        return rows;
    };
    return {size.x * size.y * size.z, make, {size.x, size.y, size.z}};
}

constexpr bool is_diagonal(const Cell& step) { return step == Cell{0, 0, 0}; }

/// −1 for every neighbour, and as many on the diagonal as an inner cell has.
template <std::size_t dimensions, bool corners>
Generator poisson(const Spec& spec, const ProblemKind& kind, const Options&) {
    const double diagonal = corners ? std::pow(3, dimensions) - 1 : 2.0 * dimensions;
    return on_grid(parse_grid(spec, kind, dimensions), corners,
                   [=](const Cell&, const Cell& step) { return is_diagonal(step) ? diagonal : -1.0; });
}

/// The same without flow through the boundary (Neumann): on the diagonal as many as a cell has neighbours. Singular:
/// constants are its null space.
template <std::size_t dimensions>
Generator neumann(const Spec& spec, const ProblemKind& kind, const Options&) {
    const Cell size = parse_grid(spec, kind, dimensions);
    return on_grid(size, false, [=](const Cell& cell, const Cell& step) {
        if (!is_diagonal(step)) return -1.0;
        const int missing = (cell.x == 0) + (cell.x == size.x - 1) + (cell.y == 0) + (cell.y == size.y - 1) +
                            (cell.z == 0) + (cell.z == size.z - 1);
        return static_cast<double>(6 - missing);
    });
}

Generator anisotropic(const Spec& spec, const ProblemKind& kind, const Options& options) {
    const double epsilon = options.number("epsilon");
    return on_grid(parse_grid(spec, kind, 2), false, [=](const Cell&, const Cell& step) {
        return is_diagonal(step) ? 2 + 2 * epsilon : step.y != 0 ? -epsilon : -1.0;
    });
}

Generator anisotropic3d(const Spec& spec, const ProblemKind& kind, const Options& options) {
    const double along_y = options.number("y"), along_z = options.number("z");
    return on_grid(parse_grid(spec, kind, 3), false, [=](const Cell&, const Cell& step) {
        return is_diagonal(step) ? 2 + 2 * along_y + 2 * along_z
               : step.z != 0     ? -along_z
               : step.y != 0     ? -along_y
                                 : -1.0;
    });
}

/// −Δu + peclet (wind·∇u) for a unit vector, first-order upwind, times h², h = 1/(NX + 1).
template <std::size_t dimensions>
Generator convection(const Spec& spec, const ProblemKind& kind, double peclet, std::array<double, 3> wind) {
    const Cell size = parse_grid(spec, kind, dimensions);
    for (double& speed : wind) speed *= peclet / static_cast<double>(size.x + 1);
    const double diagonal = 2.0 * dimensions + std::abs(wind[0]) + std::abs(wind[1]) + std::abs(wind[2]);
    return on_grid(size, false, [=](const Cell&, const Cell& step) {
        if (is_diagonal(step)) return diagonal;
        const double along = static_cast<double>(step.x) * wind[0] + static_cast<double>(step.y) * wind[1] +
                             static_cast<double>(step.z) * wind[2];
        return -1 + std::min(0.0, along);
    });
}

Generator convection2d(const Spec& spec, const ProblemKind& kind, const Options& options) {
    const double angle = options.number("angle");
    return convection<2>(spec, kind, options.number("peclet"), {std::cos(angle), std::sin(angle), 0});
}

Generator convection3d(const Spec& spec, const ProblemKind& kind, const Options& options) {
    const double c = 1 / std::numbers::sqrt3;
    return convection<3>(spec, kind, options.number("peclet"), {c, c, c});
}

/// Diffusion with a random coefficient in every cell, contrast^u with u uniform in [−½, ½), cells outside the
/// grid included; between two cells the harmonic mean of theirs.
template <std::size_t dimensions>
Generator jump(const Spec& spec, const ProblemKind& kind, const Options& options) {
    const double exponent = 0.5 * std::log(options.number("contrast"));
    const auto seed = static_cast<std::uint64_t>(options.number("seed"));
    const Cell size = parse_grid(spec, kind, dimensions);
    const auto resistance = [=](const Cell& cell) {  // numbered in a grid with a margin of one cell
        const auto plane = static_cast<std::uint64_t>(cell.z + 1) * static_cast<std::uint64_t>(size.y + 2) +
                           static_cast<std::uint64_t>(cell.y + 1);
        return std::exp(-exponent * uniform(seed, static_cast<Global>(plane), cell.x + 1));
    };
    return on_grid(size, false, [=](const Cell& cell, const Cell& step) {
        const double here = resistance(cell);
        const auto mean = [&](const Cell& towards) { return 2 / (here + resistance(cell + towards)); };
        if (!is_diagonal(step)) return -mean(step);
        double sum = mean({-1, 0, 0}) + mean({1, 0, 0}) + mean({0, -1, 0}) + mean({0, 1, 0});
        if constexpr (dimensions == 3) sum += mean({0, 0, -1}) + mean({0, 0, 1});
        return sum;
    });
}

/// Of hat functions of one dimension on an element [0, 1], at its ends a and b, the integral of their product, derived
/// or not.
double integral(Global a, bool derived_a, Global b, bool derived_b) {
    const auto slope = [](Global end) { return end == 1 ? 1.0 : -1.0; };
    if (derived_a && derived_b) return slope(a) * slope(b);
    if (derived_a || derived_b) return slope(derived_a ? a : b) / 2;
    return a == b ? 1.0 / 3 : 1.0 / 6;
}

/// Linear elasticity of trilinear cubes of edge one, with Young's modulus one: what moves a point in direction i when
/// the point a step away moves in direction j, for all sets of the eight cubes around it.
class Elasticity {
public:
    explicit Elasticity(double ratio) : blocks_(sets * steps) {
        const double lambda = ratio / ((1 + ratio) * (1 - 2 * ratio)), mu = 1 / (2 * (1 + ratio));
        for (std::size_t set = 0; set < sets; ++set)
            for (std::size_t cube = 0; cube < 8; ++cube) {
                if ((set >> cube & 1) == 0) continue;
                const Cell here = corner(cube);
                for (std::size_t other = 0; other < 8; ++other) {
                    const Cell there = corner(other);
                    const auto product = [&](int i, int j) {
                        return integral(here.x, i == 0, there.x, j == 0) * integral(here.y, i == 1, there.y, j == 1) *
                               integral(here.z, i == 2, there.z, j == 2);
                    };
                    const double gradients = product(0, 0) + product(1, 1) + product(2, 2);
                    auto& block = blocks_[place(set, {there.x - here.x, there.y - here.y, there.z - here.z})];
                    for (int i = 0; i < 3; ++i)
                        for (int j = 0; j < 3; ++j)
                            block[3 * static_cast<std::size_t>(i) + static_cast<std::size_t>(j)] +=
                                lambda * product(i, j) + mu * (product(j, i) + (i == j ? gradients : 0));
                }
            }
    }
    /// Bit k of `set`: there is the cube of which the point is corner(k).
    const std::array<double, 9>& block(std::size_t set, const Cell& step) const { return blocks_[place(set, step)]; }
    static Cell corner(std::size_t k) {
        return {static_cast<Global>(k & 1), static_cast<Global>(k >> 1 & 1), static_cast<Global>(k >> 2)};
    }

private:
    static constexpr std::size_t sets = 256, steps = 27;
    static std::size_t place(std::size_t set, const Cell& step) {
        return set * steps + static_cast<std::size_t>((step.z + 1) * 9 + (step.y + 1) * 3 + step.x + 1);
    }
    std::vector<std::array<double, 9>> blocks_;
};

/// A body held at its face x = −1, with the three displacements of a point one after another.
Generator elasticity(const Spec& spec, const ProblemKind& kind, const Options& options) {
    const Cell size = parse_grid(spec, kind, 3);
    if (size.y < 2 || size.z < 2)
        throw InputError(fmt::format(
            "'{}': along y and z at least two points are wanted, between which there are cubes", spec.text));
    if (size.x * size.y * size.z > (Global{1} << 62) / 3) refuse_size(spec, kind);
    const auto make = [=, steps = stencil(size, true), material = Elasticity(options.number("ratio"))](Global begin,
                                                                                                       Global end) {
        const auto per_row = 3 * static_cast<Global>(steps.size());
        check_count(end - begin, per_row);
        LocalRows<double> rows;
        rows.start.reserve(static_cast<std::size_t>(end - begin) + 1);
        rows.columns.reserve(static_cast<std::size_t>((end - begin) * per_row));
        rows.values.reserve(static_cast<std::size_t>((end - begin) * per_row));
        for (Global row = begin; row < end; ++row) {
            const Global point = row / 3;
            const Cell cell{point % size.x, point / size.x % size.y, point / size.x / size.y};
            std::size_t set = 0;
            for (std::size_t k = 0; k < 8; ++k) {
                const auto [x, y, z] = Elasticity::corner(k);
                const bool is_there = (x == 1 || cell.x < size.x - 1) && (y == 1 ? cell.y > 0 : cell.y < size.y - 1) &&
                                      (z == 1 ? cell.z > 0 : cell.z < size.z - 1);
                set |= std::size_t{is_there} << k;
            }
            for (const Cell& step : steps) {
                const auto [x, y, z] = cell + step;
                if (x < 0 || x >= size.x || y < 0 || y >= size.y || z < 0 || z >= size.z) continue;
                const auto& block = material.block(set, step);
                for (Global j = 0; j < 3; ++j) {
                    rows.columns.push_back(3 * ((z * size.y + y) * size.x + x) + j);
                    rows.values.push_back(block[static_cast<std::size_t>(3 * (row % 3) + j)]);
                }
            }
            rows.start.push_back(static_cast<Global>(rows.columns.size()));
        }
        return rows;
    };
    return {3 * size.x * size.y * size.z, make, {3 * size.x, size.y, size.z}};
}

/// The diagonal matrix whose entries are the eigenvalues of poisson2d:N, in the order of the grid.
Generator diagonal(const Spec& spec, const ProblemKind& kind, const Options&) {
    if (spec.positional.size() != 2 || spec.positional[0] != "poisson2d") refuse_size(spec, kind);
    const auto size = parse_size(spec.positional[1]);
    if (!size || *size > (Global{1} << 31)) refuse_size(spec, kind);
    const auto make = [n = *size](Global begin, Global end) {
        check_count(end - begin, 1);
        LocalRows<double> rows;
        const auto eigenvalue = [&](Global i) {  // 4 sin² rather than 2 − 2 cos: exact for the small ones, too
            const double sine =
                std::sin(static_cast<double>(i + 1) * std::numbers::pi / (2.0 * static_cast<double>(n + 1)));
            return 4 * sine * sine;
        };
        for (Global row = begin; row < end; ++row) {
            rows.columns.push_back(row);
            rows.values.push_back(eigenvalue(row % n) + eigenvalue(row / n));
            rows.start.push_back(row + 1 - begin);
        }
        return rows;
    };
    return {*size * *size, make, {*size, *size, 1}};
}

constexpr OptionInfo convection3d_options[] = {{"peclet", 20, 0, 1e12, "convection over diffusion on the unit cube"}};
constexpr OptionInfo convection2d_options[] = {{"peclet", 20, 0, 1e12, "convection over diffusion on the unit square"},
                                               {"angle", 0.6, -10, 10, "direction of the wind in radians"}};
constexpr OptionInfo anisotropic_options[] = {{"epsilon", 1e-3, 1e-12, 1e12, "diffusion along y, 1 along x"}};
constexpr OptionInfo anisotropic3d_options[] = {{"y", 1, 1e-12, 1e12, "diffusion along y, 1 along x"},
                                                {"z", 1e-3, 1e-12, 1e12, "diffusion along z"}};
constexpr OptionInfo jump_options[] = {{"contrast", 1e4, 1, 1e16, "largest over smallest coefficient"},
                                       {"seed", 1, 0, 0x1p53, "of the random coefficients", true}};

constexpr OptionInfo elasticity_options[] = {{"ratio", 0.25, 0, 0.499, "Poisson's, of what a body is made of"}};

constexpr std::string_view size2d = "N or NXxNY", size3d = "N or NXxNYxNZ";
constexpr ProblemKind kinds[] = {
    {"poisson2d", size2d, "5-point Laplacian, diagonal 4", {}, true, poisson<2, false>},
    {"poisson3d", size3d, "7-point Laplacian, diagonal 6", {}, true, poisson<3, false>},
    {"poisson3d27", size3d, "27-point Laplacian, diagonal 26, neighbours -1", {}, true, poisson<3, true>},
    {"neumann2d", size2d, "5-point Laplacian without flow through the boundary: singular", {}, false, neumann<2>, true},
    {"neumann3d", size3d, "7-point Laplacian without flow through the boundary: singular", {}, false, neumann<3>, true},
    {"aniso2d", size2d, "5-point diffusion, weaker along y", anisotropic_options, true, anisotropic},
    {"aniso3d", size3d, "7-point diffusion, different along y and z", anisotropic3d_options, true, anisotropic3d},
    {"jump2d", size2d, "5-point diffusion, log-uniform random cells", jump_options, true, jump<2>},
    {"jump3d", size3d, "7-point diffusion, log-uniform random cells", jump_options, true, jump<3>},
    {"elasticity3d", size3d, "linear elasticity of cubes, held at one face, 3 unknowns a point", elasticity_options,
     true, elasticity},
    {"diagonal", "poisson2d,N", "diagonal matrix with the spectrum of poisson2d:N", {}, true, diagonal},
    {"convdiff2d", size2d, "convection-diffusion, first-order upwind", convection2d_options, false, convection2d},
    {"convdiff3d", size3d, "convection-diffusion, first-order upwind, wind along (1,1,1)", convection3d_options, false,
     convection3d},
};

}  // namespace

std::span<const ProblemKind> problems() { return kinds; }

Generator generator(std::string_view text) {
    const Spec spec = parse_spec(text);
    for (const auto& kind : kinds)
        if (kind.name == spec.name)
            return kind.generator(spec, kind, Options(spec, kind.options, spec.positional.size()));
    throw InputError(
        refusal(fmt::format("there is no problem '{}'", spec.name), spec.name, names_of(kinds, &ProblemKind::name)));
}

DistributedRows generate(const Comm& comm, std::string_view spec) {
    std::optional<DistributedRows> problem;
    agree(comm, [&] {
        const auto [rows, make, grid] = generator(spec);
        auto partition = Partition::even(rows, comm.size());
        auto mine = make(partition.first(comm.rank()), partition.first(comm.rank() + 1));
        problem.emplace(std::move(partition), std::move(mine));
    });
    return std::move(*problem);
}

}  // namespace stretto
