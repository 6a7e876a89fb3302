// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <complex>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/bem/mesh.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/hmatrix/fill.hpp"

namespace stretto {

/// What density on a surface makes a scattered wave: charges, or charges and dipoles together, which have a unique
/// solution at every wave number (Brakhage and Werner 1965).
enum class Layer { single, combined };
inline constexpr std::string_view layer_names[] = {"single", "combined"};

/// A plane wave exp(ik d·x), time factor exp(−iωt), and a sound-soft body: the scattered wave takes the incident one
/// away on its surface. It is made by a density σ that is constant on each triangle: u(x) = ∫ G σ, or
/// ∫ (∂G/∂n − iη G) σ, where G = exp(ikr)/(4πr) and n points out of the body; η is k, but one over half the body's
/// diameter for longer waves, of which ∂G/∂n alone would know too little.
class Scattering {
public:
    /// The mesh must outlive it. `wave_number`: of any unit of length that is one over the mesh's; `direction`: of any
    /// length. Throws InputError where a wave number is not above 0, or so large that a side of a triangle is longer
    /// than the wave, and where the direction is none.
    Scattering(const TriangleMesh& mesh, double wave_number, Layer layer, const Point& direction = {0, 0, 1});

    /// Entry (i, j): what a unit density on triangle j makes at the centroid of triangle i. Static parts are exact, and
    /// the rest is by a rule of degree 5, as all of it is from 12 triangle sizes on.
    ComplexFill matrix() const;
    /// −exp(ik d·x) at the centroids.
    std::vector<std::complex<double>> right_hand_side() const;

    std::complex<double> incident(const Point& p) const;
    /// The scattered wave at a point outside of the body.
    std::complex<double> scattered(std::span<const std::complex<double>> density, const Point& p) const;
    /// u∞, where the scattered wave is exp(ikr)/r u∞ far away in this direction (of length 1).
    std::complex<double> far_field(std::span<const std::complex<double>> density, const Point& towards) const;

    const TriangleMesh& mesh() const { return *mesh_; }
    double wave_number() const { return wave_number_; }
    const Point& direction() const { return direction_; }
    /// The longest side of a triangle, in wave lengths: the error grows with its square.
    double longest_side() const;

private:
    struct Element;
    const TriangleMesh* mesh_;
    std::shared_ptr<const std::vector<Element>> elements_;
    double wave_number_, coupling_;
    Layer layer_;
    Point direction_;
};

/// u∞ of a sound-soft sphere around the origin, at the cosine of the angle to the incident wave (Mie's series).
std::complex<double> sphere_far_field(double radius, double wave_number, double cosine);

/// A VTK file (.vtu) of a density.
std::string to_vtu(const Scattering& scattering, std::span<const std::complex<double>> density);

/// What a density means far away.
struct FarField {
    std::complex<double> forward, backward;
    double cross_section = 0;  ///< ∫ |u∞|² over all directions
    /// (4π/k) Im u∞ forwards: the same for the wave itself, which loses no energy (the optical theorem).
    double extinction = 0;
    double sphere_error = 0;  ///< ‖u∞ − that of a sphere‖/‖that of a sphere‖ over all directions, where one was named
};
/// Collective: ranks share the directions. `radius` is that of a sphere around the origin to compare with; 0: none.
/// Throws InputError where `interrupt` was raised on any rank.
FarField far_field(const Comm& comm, const Scattering& scattering, std::span<const std::complex<double>> density,
                   double radius = 0, const std::atomic<bool>* interrupt = nullptr);

/// Collective. A picture (SVG), on rank 0, of the whole wave at an instant in the plane through the body's middle that
/// the direction is in: blue below zero, red above, the body left out. Throws as far_field.
std::string wave_picture(Comm& comm, const Scattering& scattering, std::span<const std::complex<double>> density,
                         const std::atomic<bool>* interrupt = nullptr);

}  // namespace stretto
