// SPDX-License-Identifier: BSD-3-Clause
// Scattered waves by boundary elements, against Mie's series and integrals done by hand.
#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "stretto/bem/scattering.hpp"
#include "stretto/bem/single_layer.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;
using std::numbers::pi;

TEST(Scattering, SolidAngles) {
    const auto mesh = icosphere(3);
    const auto seen = [&](const Point& p) {
        double sum = 0;
        for (Index i = 0; i < mesh.size(); ++i) sum += solid_angle(p, mesh.corners(i));
        return sum;
    };
    EXPECT_NEAR(seen({0.1, -0.2, 0.3}), 4 * pi, 1e-12);
    EXPECT_NEAR(seen({0.1, -2, 0.3}), 0, 1e-12);
    // The first octant of directions.
    EXPECT_NEAR(solid_angle({0, 0, 0}, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}), pi / 2, 1e-14);
    EXPECT_NEAR(solid_angle({0, 0, 0}, {{{1, 0, 0}, {0, 0, 1}, {0, 1, 0}}}), -pi / 2, 1e-14);
}

/// ∫ (∂G/∂n − iηG), or ∫ G, of a triangle at p, cut into many.
Complex by_hand(const std::array<Point, 3>& corners, const Point& p, double k, double coupling, Layer layer,
                int depth) {
    const auto& [a, b, c] = corners;
    const Point middle = (1.0 / 3) * (a + b + c), n = cross(b - a, c - a);
    // Near p once more, so that what is large there is resolved.
    if (depth > 0 && (depth > 7 || norm(middle - p) < 8 * norm(b - a))) {
        const Point ab = 0.5 * (a + b), bc = 0.5 * (b + c), ca = 0.5 * (c + a);
        Complex sum = 0;
        for (const auto& part :
             {std::array{a, ab, ca}, std::array{ab, b, bc}, std::array{ca, bc, c}, std::array{ab, bc, ca}})
            sum += by_hand(part, p, k, coupling, layer, depth - 1);
        return sum;
    }
    // Degree 2.
    Complex sum = 0;
    for (const Point& y : {0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)}) {
        const double r = norm(y - p);
        const Complex G = std::polar(1 / (4 * pi * r), k * r),
                      slope = G * Complex(-1 / r, k) * dot(y - p, n) / (r * norm(n));
        sum += norm(n) / 6 * (layer == Layer::single ? G : slope - Complex(0, coupling) * G);
    }
    return sum;
}

TEST(Scattering, EntriesAreIntegrals) {
    const auto mesh = icosphere(4);
    for (const double k : {0.5, 2.0})
        for (const Layer layer : {Layer::single, Layer::combined}) {
            const Scattering wave(mesh, k, layer);
            Box box;
            for (const Point& p : mesh.vertices) box.add(p);
            const double coupling = std::max(k, 2 / box.diameter());
            const auto fill = wave.matrix();
            for (const Index j : {1, 2, 7, 150, 319}) {
                const Index i = 0;
                Complex value;
                fill({&i, 1}, {&j, 1}, &value);
                const Complex truth = by_hand(mesh.corners(j), mesh.centroid(i), k, coupling, layer, 9);
                EXPECT_NEAR(std::abs(value - truth), 0, 1e-4 * std::abs(truth)) << k << ' ' << j;
            }
            // On the triangle itself the rule does not see all of the wave's kink.
            const Index i = 0;
            Complex value;
            fill({&i, 1}, {&i, 1}, &value);
            Complex truth = by_hand(mesh.corners(i), mesh.centroid(i), k, coupling, layer, 11);
            if (layer == Layer::combined) truth += 0.5;
            EXPECT_NEAR(std::abs(value - truth), 0, 1e-3 * std::abs(truth)) << k;
        }
}

TEST(Scattering, MieConservesEnergy) {
    for (const double ka : {0.3, 1.0, 5.0, 20.0}) {
        const double radius = 2, k = ka / radius;
        constexpr int n = 40000;
        double section = 0;
        for (int i = 0; i < n; ++i)
            section += 2 * pi * std::norm(sphere_far_field(radius, k, -1 + (2 * i + 1.0) / n)) * 2 / n;
        const double extinction = 4 * pi / k * sphere_far_field(radius, k, 1).imag();
        EXPECT_NEAR(section, extinction, 1e-5 * extinction) << ka;
    }
    // A small sphere scatters 4πa², all ways alike.
    EXPECT_NEAR(std::abs(sphere_far_field(1, 1e-4, 0.3)), 1, 1e-3);
}

/// Errors of the far field, and iterations.
std::pair<FarField, int> solve_sphere(Comm& comm, Index f, double radius, double ka, Layer layer,
                                      const char* method = "gmres", const Point& direction = {0, 0, 1}) {
    auto mesh = icosphere(f);
    for (Point& p : mesh.vertices) p = radius * p;
    const Scattering wave(mesh, ka / radius, layer, direction);
    HMatrixOptions options;
    options.epsilon = 1e-6;
    const HMatrix A(comm, mesh.geometry(), wave.matrix(), options);
    const auto whole = wave.right_hand_side();
    std::vector<Complex> b, x(static_cast<std::size_t>(A.local_rows()));
    for (Index i = 0; i < A.local_rows(); ++i) b.push_back(whole[static_cast<std::size_t>(A.original(i))]);
    const auto result = solve<Complex>(comm, A, Identity{}, {b.data(), A.local_rows(), 1},
                                       {x.data(), A.local_rows(), 1}, {.method = method, .rtol = 1e-6});
    EXPECT_TRUE(result.converged());
    const auto pairs = A.gather(in_pairs(MultiVector<Complex>(x.data(), A.local_rows(), 1)));
    const std::span density(reinterpret_cast<const Complex*>(pairs.data()), pairs.size() / 2);
    // Far away the wave is what the far field says.
    const Point towards{0.6, 0, 0.8};
    const double r = 1e4 * radius;
    const Complex there = wave.scattered(density, r * towards),
                  told = std::polar(1 / r, wave.wave_number() * r) * wave.far_field(density, towards);
    EXPECT_NEAR(std::abs(there - told), 0, 3e-3 * std::abs(told));
    return {far_field(comm, wave, density, radius), result.iterations};
}

TEST(Scattering, SpheresAreThoseOfMie) {
    MpiComm comm;
    for (const Layer layer : {Layer::single, Layer::combined})
        for (const double ka : {1.0, 5.0, 10.0}) {
            const Index f = ka < 2 ? 4 : 8;
            const double coarse = solve_sphere(comm, f, 0.7, ka, layer).first.sphere_error;
            const auto [fine, iterations] = solve_sphere(comm, 2 * f, 0.7, ka, layer);
            EXPECT_LT(coarse, 0.15) << ka;
            EXPECT_LT(fine.sphere_error, coarse / 2.8) << ka << layer_names[static_cast<int>(layer)];
            EXPECT_NEAR(fine.cross_section, fine.extinction, 3 * fine.sphere_error * fine.extinction);
        }
}

TEST(Scattering, DirectionsAndMethods) {
    MpiComm comm;
    const double one = solve_sphere(comm, 6, 1, 2, Layer::combined).first.sphere_error;
    const Point other{1 / 3.0, -2 / 3.0, 2 / 3.0};
    EXPECT_NEAR(solve_sphere(comm, 6, 1, 2, Layer::combined, "bicgstab", other).first.sphere_error, one, 0.1 * one);
    EXPECT_NEAR(solve_sphere(comm, 6, 1, 2, Layer::combined, "pipelined_gmres", {0, -1, 0}).first.sphere_error, one,
                0.1 * one);
}

/// Near ka = π the sphere's inside resonates, by what the triangles are a little later: charges alone take more
/// iterations there than on both sides of it, charges and dipoles do not.
TEST(Scattering, CombinedFieldsHaveNoResonances) {
    MpiComm comm;
    const auto iterations = [&](double ka, Layer layer) {
        const auto [far, count] = solve_sphere(comm, 8, 1, ka, layer);
        EXPECT_LT(far.sphere_error, 0.03) << ka;
        return count;
    };
    const double before = 2.9, at = 3.155, after = 3.3;
    EXPECT_GT(iterations(at, Layer::single), iterations(before, Layer::single) + 1);
    EXPECT_GT(iterations(at, Layer::single), iterations(after, Layer::single) + 1);
    EXPECT_LE(iterations(at, Layer::combined),
              std::max(iterations(before, Layer::combined), iterations(after, Layer::combined)));
}

}  // namespace
}  // namespace stretto
