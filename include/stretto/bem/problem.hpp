// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/bem/mesh.hpp"
#include "stretto/bem/single_layer.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/core/spec.hpp"

namespace stretto {

/// Perfect conductors: each closed surface has its potential; in a uniform field E along z the charges make E z
/// besides.
struct BemProblem {
    TriangleMesh mesh;
    std::vector<Index> surface;     ///< of each triangle
    std::vector<double> potential;  ///< of each surface
    double field = 0;
    double sphere_radius = 0;          ///< of a single sphere around the origin; 0: it is something else
    std::vector<std::string> remarks;  ///< what was changed in a mesh from a file
    struct Truth {
        std::string what;  ///< capacitance, charge (of the first surface) or dipole
        double value;
    };
    std::optional<Truth> truth;

    /// The right-hand side: what the charges are to make on a triangle.
    double wanted(Index triangle, Testing testing) const;
};

/// What the charge densities (one a triangle, in units of 4πε₀) amount to.
struct BemCharges {
    std::vector<double> by_surface;
    double total = 0;
    double dipole = 0;  ///< along z
    std::optional<double>
        capacitance;  ///< in units of 4πε₀: of one conductor, or of equal pairs with ±V, Q/V of half of them
    std::optional<double> truth_error;  ///< relative
};
BemCharges charges(const BemProblem& problem, std::span<const double> density);

/// A row of the table of problems.
struct BemProblemKind {
    std::string_view name, arguments, help;
    std::span<const OptionInfo> options;
};
std::span<const BemProblemKind> bem_problems();

/// Collective. Makes the problem that NAME:key=value,… names, or reads mesh:FILE (on rank 0). Throws InputError on
/// every rank alike.
BemProblem make_bem_problem(const Comm& comm, const std::string& spec);

/// A number of each triangle, for a VTK file.
struct CellData {
    std::string_view name;
    std::vector<double> values;
    bool integer = false;
};
/// A VTK file (.vtu) of the triangles with such data.
std::string to_vtu(const TriangleMesh& mesh, std::span<const CellData> data);
/// With charge density, potential and number of the surface.
std::string to_vtu(const BemProblem& problem, std::span<const double> density);

/// A picture (SVG) of the triangles, coloured by charge density: blue below zero, red above.
std::string to_svg(const BemProblem& problem, std::span<const double> density);

}  // namespace stretto
