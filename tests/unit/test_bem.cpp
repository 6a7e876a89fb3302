// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cmath>
#include <functional>

#include "stretto/bem/problem.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {
namespace {

using Corners = std::array<Point, 3>;

/// ∫ over the triangle by 4^depth parts of one point each.
double by_parts(const Corners& t, int depth, const std::function<double(const Point&)>& f) {
    const auto& [a, b, c] = t;
    if (depth == 0) return norm(cross(b - a, c - a)) / 2 * f((1.0 / 3) * (a + b + c));
    const Point ab = 0.5 * (a + b), bc = 0.5 * (b + c), ca = 0.5 * (c + a);
    return by_parts({a, ab, ca}, depth - 1, f) + by_parts({ab, b, bc}, depth - 1, f) +
           by_parts({ca, bc, c}, depth - 1, f) + by_parts({ab, bc, ca}, depth - 1, f);
}

TEST(TrianglePotential, AtTheCentroidOfAnEquilateralTriangle) {
    const Corners t{{{0, 0, 0}, {2, 0, 0}, {1, std::sqrt(3.0), 0}}};
    const Point centre = (1.0 / 3) * (t[0] + t[1] + t[2]);
    EXPECT_NEAR(triangle_potential(centre, t), std::sqrt(3.0) * 2 * std::log(2 + std::sqrt(3.0)), 1e-14);
}

TEST(TrianglePotential, IsTheIntegral) {
    const Corners t{{{0.1, 0, 0.3}, {1.2, 0.1, 0}, {0.2, 0.9, -0.2}}};
    for (int k = 0; k < 20; ++k) {
        const Point p{2 * uniform(1, k, 0), 2 * uniform(1, k, 1), 0.6 + std::abs(uniform(1, k, 2))};
        const double parts = by_parts(t, 8, [&](const Point& y) { return 1 / norm(p - y); });
        EXPECT_NEAR(triangle_potential(p, t), parts, 1e-5 * parts);
    }
    // Continuous across the plane, the edges and at the corners.
    for (const Point& p : {t[0], 0.5 * (t[0] + t[1]), 0.3 * t[0] + 0.7 * t[2], 2.0 * t[1] - t[0]}) {
        const double value = triangle_potential(p, t);
        EXPECT_TRUE(std::isfinite(value));
        EXPECT_NEAR(triangle_potential(p + Point{1e-9, -2e-9, 1e-9}, t), value, 1e-6);
    }
}

TEST(SingleLayer, FarRuleAndGalerkin) {
    const auto mesh = icosphere(20);
    const auto collocation = single_layer(mesh, Testing::collocation), galerkin = single_layer(mesh, Testing::galerkin);
    for (Index j = 0; j < mesh.size(); j += 97) {
        double value = 0;
        const Index i = 1234;
        collocation({&i, 1}, {&j, 1}, &value);
        const double exact = triangle_potential(mesh.centroid(i), mesh.corners(j));
        EXPECT_NEAR(value, exact, 1e-8 * exact);
        double one = 0, other = 0;
        galerkin({&i, 1}, {&j, 1}, &one);
        galerkin({&j, 1}, {&i, 1}, &other);
        EXPECT_EQ(one, other);
        EXPECT_NEAR(
            one, by_parts(mesh.corners(i), 5, [&](const Point& p) { return triangle_potential(p, mesh.corners(j)); }),
            1e-4 * one);
    }
    const Index i = 77;
    double self = 0;
    galerkin({&i, 1}, {&i, 1}, &self);
    EXPECT_NEAR(self,
                by_parts(mesh.corners(i), 7, [&](const Point& p) { return triangle_potential(p, mesh.corners(i)); }),
                1e-3 * self);
}

struct Solved {
    BemProblem problem;
    std::vector<double> density;
};

Solved solved(Comm& comm, BemProblem problem, Testing testing = Testing::collocation) {
    HMatrixOptions options;
    options.epsilon = 1e-5;
    options.symmetric = testing == Testing::galerkin;
    const HMatrix A(comm, problem.mesh.geometry(), single_layer(problem.mesh, testing), options);
    std::vector<double> b(static_cast<std::size_t>(A.local_rows())), x(b.size());
    for (Index i = 0; i < A.local_rows(); ++i) b[static_cast<std::size_t>(i)] = problem.wanted(A.original(i), testing);
    SolveOptions solver;
    solver.method = testing == Testing::galerkin ? "cg" : "bicgstab";
    solver.rtol = 1e-6;
    const MultiVector<double> X(x.data(), A.local_rows(), 1);
    const auto result = solve<double>(comm, A, Identity{}, {b.data(), A.local_rows(), 1}, X, solver);
    EXPECT_TRUE(result.converged());
    return {std::move(problem), A.gather(X)};
}

/// The relative error of what the problem knows the truth of.
double truth_error(Comm& comm, const std::string& spec, Testing testing = Testing::collocation) {
    const auto [problem, density] = solved(comm, make_bem_problem(comm, spec), testing);
    return *charges(problem, density).truth_error;
}

double order(Comm& comm, const std::string& name, Testing testing, int coarse = 320) {
    const auto at = [&](int n) { return truth_error(comm, fmt::format("{},n={}", name, n), testing); };
    const double first = at(coarse), second = at(4 * coarse);  // half the size of a triangle
    EXPECT_LT(second, 0.03) << name;
    return std::log2(first / second);
}

TEST(Bem, ConvergesToTheTruth) {
    MpiComm comm;
    EXPECT_NEAR(truth_error(comm, "sphere:n=1280"), 4.3 / 1280, 0.05 * 4.3 / 1280);
    for (const auto testing : {Testing::collocation, Testing::galerkin}) {
        EXPECT_NEAR(order(comm, "sphere:radius=2", testing, 180), 2, 0.15);
        EXPECT_NEAR(order(comm, "sphere_in_field:radius=0.5", testing, 180), 2, 0.15);
    }
    EXPECT_NEAR(order(comm, "two_spheres:distance=3", Testing::collocation, 640), 2, 0.2);
    EXPECT_NEAR(order(comm, "cube:grading=1", Testing::collocation, 300), 4.0 / 3, 0.2);
    EXPECT_GT(order(comm, "cube:grading=3", Testing::collocation, 300), 1.8);
}

/// a e/artanh(e), a e/arcsin(e), e the eccentricity, a the longest half axis (1).
TEST(Bem, SpheroidsHaveTheirCapacitance) {
    MpiComm comm;
    const auto error = [&](Index f, double across, double along, double truth) {
        auto problem = make_bem_problem(comm, fmt::format("sphere:n={}", 20 * f * f));
        for (Point& p : problem.mesh.vertices) p = {across * p[0], across * p[1], along * p[2]};
        problem.truth = {"capacitance", truth};
        const auto [same, density] = solved(comm, std::move(problem));
        return *charges(same, density).truth_error;
    };
    for (const double ratio : {2.0, 4.0}) {
        const double e = std::sqrt(1 - 1 / (ratio * ratio));
        for (const auto& [across, along, truth] :
             {std::tuple(1 / ratio, 1.0, e / std::atanh(e)), {1.0, 1 / ratio, e / std::asin(e)}}) {
            const double coarse = error(6, across, along, truth), fine = error(12, across, along, truth);
            EXPECT_LT(fine, 0.02);
            EXPECT_NEAR(std::log2(coarse / fine), 2, 0.3) << across << " " << along;
        }
    }
    EXPECT_NEAR(std::sqrt(0.75) / std::atanh(std::sqrt(0.75)), 0.65759536110203, 1e-13);
    EXPECT_NEAR(std::sqrt(0.75) / std::asin(std::sqrt(0.75)), 0.82699334313269, 1e-13);
}

/// In units of 4πε₀: 1/(4π) on a sphere of radius 1 at 1 V, 3 cosθ/(4π) in a field.
TEST(Bem, ChargeDensitiesConverge) {
    MpiComm comm;
    const auto error = [&](const char* name, Index f) {
        const auto [problem, density] = solved(comm, make_bem_problem(comm, fmt::format("{}:n={}", name, 20 * f * f)));
        double squares = 0, all = 0;
        for (Index i = 0; i < problem.mesh.size(); ++i) {
            const Point c = problem.mesh.centroid(i);
            const double pi = 3.141592653589793, truth = (problem.field > 0 ? 3 * c[2] / norm(c) : 1) / (4 * pi),
                         off = density[static_cast<std::size_t>(i)] - truth;
            squares += problem.mesh.area(i) * off * off;
            all += problem.mesh.area(i) * truth * truth;
        }
        return std::sqrt(squares / all);
    };
    for (const char* name : {"sphere", "sphere_in_field"}) {
        const double coarse = error(name, 6), fine = error(name, 12), order = std::log2(coarse / fine);
        EXPECT_LT(fine, 0.02) << name;
        EXPECT_GT(order, 1.4) << name;
        EXPECT_LT(order, 2.2) << name;
    }
}

TEST(Bem, ProblemsOfThePaperHaveItsSizes) {
    MpiComm comm;
    const auto size = [&](const char* name) { return make_bem_problem(comm, name).mesh.size(); };
    EXPECT_NEAR(size("100ts"), 101250, 0.02 * 101250);
    EXPECT_EQ(make_bem_problem(comm, "100ts:n=2000").potential, (std::vector<double>{1, -1}));
    EXPECT_EQ(size("1ms:n=2000"), size("two_spheres:n=2000"));
    EXPECT_EQ(make_bem_problem(comm, "338ts:n=3200").potential.size(), 16u);
    EXPECT_EQ(make_bem_problem(comm, "338ts:n=3200,pairs=3").potential.size(), 6u);
    for (const auto& [name, grid] : {std::pair("hum2:n=1000", 2), {"hum4:n=1000", 4}, {"hum6:n=1000", 6}}) {
        const auto problem = make_bem_problem(comm, name);
        EXPECT_EQ(problem.potential, std::vector<double>(static_cast<std::size_t>(grid * grid), 0.0)) << name;
        EXPECT_EQ(problem.field, 1);
        EXPECT_EQ(problem.mesh.size(), grid * grid * humanoid(1000).size());
    }
    EXPECT_NEAR(humanoid(19664).size(), 19664, 0.1 * 19664);
    EXPECT_THROW(size("hum2:pairs=2"), InputError);
}

TEST(Bem, VtuHasAllTriangles) {
    MpiComm comm;
    const auto problem = make_bem_problem(comm, "two_spheres:n=40");
    const auto text = to_vtu(problem, std::vector<double>(40, 0.5));
    EXPECT_NE(text.find("NumberOfPoints=\"24\" NumberOfCells=\"40\""), std::string::npos);
    EXPECT_EQ(std::ranges::count(text, '\n'), 40 * 6 + 24 + 27);
}

}  // namespace
}  // namespace stretto
