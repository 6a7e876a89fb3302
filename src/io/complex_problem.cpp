// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/complex_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numbers>
#include <optional>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/io/problem.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;

/// −Δ − k²(1 − i damping), of which the mesh width takes k to 2π/points.
Complex helmholtz(const Options& options, Global, Global, Global row, Global column, double value) {
    if (row != column) return value;
    const double k = 2 * std::numbers::pi / options.number("points");
    return {value - k * k, k * k * options.number("damping")};
}

/// A link from the lower of two rows to the upper one turns by this angle, and back by its opposite.
Complex link(double value, double angle, bool upwards) { return std::polar(1.0, upwards ? angle : -angle) * value; }

/// Links along x turn by an angle that grows with y: a constant flux through every square of the lattice.
Complex magnetic(const Options& options, Global nx, Global, Global row, Global column, double value) {
    if (row == column) return value + options.number("mass");
    if (std::abs(row - column) >= nx) return value;  // along y
    const Global y = row / nx;
    return link(value, 2 * std::numbers::pi * options.number("flux") * static_cast<double>(y), column > row);
}

/// Every link turns by an angle of its own.
Complex gauge(const Options& options, Global nx, Global ny, Global row, Global column, double value) {
    if (row == column) return value + options.number("mass");
    const Global step = std::abs(row - column), low = std::min(row, column);
    const int direction = step >= nx * ny ? 2 : step >= nx ? 1 : 0;
    const auto seed = static_cast<std::uint64_t>(options.number("seed"));
    return link(value, std::numbers::pi * options.number("disorder") * uniform(seed, low, direction), column > row);
}

constexpr OptionInfo helmholtz_options[] = {{"points", 10, 2, 1e12, "of the grid in a wavelength"},
                                            {"damping", 0.1, -1e12, 1e12, "imaginary part of k², over k²"}};
constexpr OptionInfo magnetic_options[] = {{"flux", 0.1, -0.5, 0.5, "through a square of the lattice, in quanta"},
                                           {"mass", 0.01, 0, 1e12, "added to the diagonal"}};
constexpr OptionInfo gauge_options[] = {{"disorder", 1, 0, 1, "largest angle of a link, over π"},
                                        {"mass", 0.01, 0, 1e12, "added to the diagonal"},
                                        {"seed", 1, 0, 0x1p53, "of the random angles", true}};

constexpr std::string_view size2d = "N or NXxNY", size3d = "N or NXxNYxNZ";
constexpr ComplexProblemKind kinds[] = {
    {"helmholtz2d", size2d, "5-point Helmholtz operator with damping: complex symmetric", helmholtz_options,
     "poisson2d", false, helmholtz},
    {"helmholtz3d", size3d, "7-point Helmholtz operator with damping: complex symmetric", helmholtz_options,
     "poisson3d", false, helmholtz},
    {"magnetic2d", size2d, "5-point Laplacian in a magnetic field: hermitian", magnetic_options, "poisson2d", true,
     magnetic},
    {"gauge2d", size2d, "5-point Laplacian with random phases on its links: hermitian", gauge_options, "poisson2d",
     true, gauge},
    {"gauge3d", size3d, "7-point Laplacian with random phases on its links: hermitian", gauge_options, "poisson3d",
     true, gauge},
};

const ComplexProblemKind* find(const std::string& name) {
    const auto found = std::ranges::find(kinds, name.substr(0, name.find(':')), &ComplexProblemKind::name);
    return found == std::end(kinds) ? nullptr : &*found;
}

}  // namespace

std::span<const ComplexProblemKind> complex_problems() { return kinds; }

bool is_complex_problem(const std::string& name) { return find(name) != nullptr; }

#if STRETTO_COMPLEX
namespace {
LocalRows<Complex> as_complex(LocalRows<double> real) {
    return {std::move(real.start), std::move(real.columns), {real.values.begin(), real.values.end()}};
}
}  // namespace

DistributedRowsOf<Complex> load_complex_problem(const Comm& comm, const std::string& name, int threads,
                                                const Progress& progress) {
    const auto* const kind = find(name);
    std::error_code ignored;
    if (!kind && file_of_problem(name) == name && all_max(comm, Global{std::filesystem::exists(name, ignored)}) > 0)
        return read_matrix<Complex>(comm, name, threads, progress);
    if (!kind) {
        auto real = load_problem(comm, name, threads, progress);
        return {std::move(real.partition), as_complex(std::move(real.rows))};
    }
    std::optional<DistributedRowsOf<Complex>> problem;
    agree(comm, [&] {
        const Spec spec = parse_spec(name);
        const Options options(spec, kind->options, spec.positional.size());
        if (spec.positional.size() != 1)
            throw InputError(fmt::format("'{}': the size must be {}", name, kind->arguments));
        const auto real = generator(fmt::format("{}:{}", kind->grid, spec.positional.front()));
        auto partition = Partition::even(real.rows, comm.size());
        const Global first = partition.first(comm.rank());
        auto rows = as_complex(real.make(first, partition.first(comm.rank() + 1)));
        for (Index i = 0; i < rows.rows(); ++i)
            for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
                rows.values[k] =
                    kind->entry(options, real.grid[0], real.grid[1], first + i, rows.columns[k], rows.values[k].real());
        problem.emplace(std::move(partition), std::move(rows));
    });
    return std::move(*problem);
}
#endif

}  // namespace stretto
