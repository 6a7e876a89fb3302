// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "stretto/bem/problem.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"

namespace stretto {
namespace {

TEST(Mesh, GeneratedOnesAreClosedSurfaces) {
    MpiComm comm;
    for (const char* spec :
         {"sphere:n=20", "sphere:n=2000", "cube:n=12", "cube:n=600,grading=2", "spheres:n=2000,pairs=3",
          "humanoid:n=2000", "humanoid:n=6000,grid=2", "two_spheres:n=500"}) {
        const auto problem = make_bem_problem(comm, spec);  // checks the mesh
        double volume = 0;
        for (Index i = 0; i < problem.mesh.size(); ++i) {
            const auto [a, b, c] = problem.mesh.corners(i);
            volume += dot(a, cross(b, c)) / 6;
        }
        EXPECT_GT(volume, 0.05) << spec;
    }
    const auto figure = make_bem_problem(comm, "humanoid:n=6000,grid=2");
    EXPECT_NEAR(figure.mesh.size(), 4 * 6000, 4 * 1500);
    EXPECT_EQ(figure.potential.size(), 4u);
}

std::string off(const TriangleMesh& mesh) {
    std::string text = fmt::format("OFF\n# of a test\n{} {} 0\n", mesh.vertices.size(), mesh.size());
    for (const Point& p : mesh.vertices) text += fmt::format("{} {} {}\n", p[0], p[1], p[2]);
    for (const auto& [a, b, c] : mesh.triangles) text += fmt::format("3 {} {} {}\n", a, b, c);
    return text;
}
std::string obj(const TriangleMesh& mesh) {
    std::string text;
    for (const Point& p : mesh.vertices) text += fmt::format("v {} {} {}\n", p[0], p[1], p[2]);
    for (const auto& [a, b, c] : mesh.triangles) text += fmt::format("f {}/1 {}//2 {}\n", a + 1, b + 1, c + 1);
    return text;
}
std::string stl(const TriangleMesh& mesh) {
    std::string text = "solid test\n";
    for (Index i = 0; i < mesh.size(); ++i) {
        text += "facet normal 0 0 0\nouter loop\n";
        for (const Point& p : mesh.corners(i)) text += fmt::format("vertex {:e} {:e} {:e}\n", p[0], p[1], p[2]);
        text += "endloop\nendfacet\n";
    }
    return text + "endsolid test\n";
}
std::string binary_stl(const TriangleMesh& mesh) {
    std::string text(80, ' ');
    const auto append = [&](const auto& value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
    append(static_cast<std::uint32_t>(mesh.size()));
    for (Index i = 0; i < mesh.size(); ++i) {
        for (int k = 0; k < 3; ++k) append(0.0f);
        for (const Point& p : mesh.corners(i))
            for (const double value : p) append(static_cast<float>(value));
        append(std::uint16_t{0});
    }
    return text;
}

TEST(Mesh, FilesAreRead) {
    const auto sphere = icosphere(3);
    for (const auto& [name, text] : {std::pair("a.off", off(sphere)),
                                     {"b.OBJ", obj(sphere)},
                                     {"c.stl", stl(sphere)},
                                     {"d.stl", binary_stl(sphere)}}) {
        auto mesh = parse_mesh(name, text);
        check_mesh(mesh, name);
        EXPECT_EQ(mesh.size(), sphere.size()) << name;
        EXPECT_EQ(mesh.vertices.size(), sphere.vertices.size()) << name;
        for (Index i = 0; i < mesh.size(); ++i) EXPECT_LT(norm(mesh.centroid(i) - sphere.centroid(i)), 1e-6) << name;
    }
}

TEST(Mesh, MarksSignsAndContinuedLines) {
    const std::string
        mark = "\xef\xbb\xbf",
        text = "v +0 0 0\nv +1e0 0 \\\n 0\nv 0 +1 0\nv 0 0 +1\nf +1 3 2\nf 1 \\\r\n2 4\nf 1 4 3\nf 2 3 4\\\n\n";
    for (const auto& all : {text, mark + text}) {
        auto mesh = parse_mesh("t.obj", all);
        check_mesh(mesh, "t.obj");
        EXPECT_EQ(mesh.size(), 4);
        EXPECT_EQ(mesh.vertices.size(), 4u);
    }
    EXPECT_THROW(parse_mesh("t.obj", "v +-1 0 0\n"), InputError);
    EXPECT_EQ(parse_mesh("t.off", mark + off(icosphere(1))).size(), 20);
    EXPECT_EQ(parse_mesh("t.stl", mark + stl(icosphere(1))).size(), 20);
}

TEST(Mesh, BinaryStlOfAnotherLength) {
    const auto text = binary_stl(icosphere(1));
    auto solid = text;
    std::memcpy(solid.data(), "solid", 5);
    for (const auto& broken : {text.substr(0, text.size() - 7), text + "1234567", solid.substr(0, text.size() - 50)}) {
        try {
            (void)parse_mesh("t.stl", broken);
            ADD_FAILURE() << "accepted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what())
                          .find(fmt::format("of 20 triangles, as its header tells, has 1084 bytes; this one has {}",
                                            broken.size())),
                      std::string::npos)
                << error.what();
        }
    }
}

void expect_refused(TriangleMesh mesh, const std::string& message) {
    try {
        check_mesh(mesh, "test");
        ADD_FAILURE() << "accepted, instead of: " << message;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
}

TEST(Mesh, BadOnesAreRefused) {
    auto mesh = icosphere(2);
    mesh.triangles.pop_back();
    expect_refused(mesh, "not closed");
    mesh = icosphere(2);
    std::swap(mesh.triangles[5][0], mesh.triangles[5][1]);
    expect_refused(mesh, "orientations");
    mesh = icosphere(2);
    mesh.vertices[0] = mesh.vertices[static_cast<std::size_t>(mesh.triangles[0][1] == 0 ? mesh.triangles[0][0]
                                                                                        : mesh.triangles[0][1])];
    expect_refused(mesh, "degenerate");
    for (const double value : {static_cast<double>(NAN), 1e61, -1e200}) {
        mesh = icosphere(2);
        mesh.vertices[3][1] = value;
        expect_refused(mesh, "vertex 4 has a coordinate that is not finite, or beyond 1e+40");
    }
    mesh = icosphere(2);
    for (Point& p : mesh.vertices) p = 1e-61 * p;
    expect_refused(mesh, "another unit of length");
    mesh = icosphere(2);
    mesh.triangles[1][2] = 1000;
    expect_refused(mesh, "names vertex 1001");
    expect_refused({}, "no triangles");
    mesh = icosphere(2);
    for (auto& triangle : mesh.triangles) std::swap(triangle[0], triangle[1]);
    check_mesh(mesh, "inside out");
    const auto [a, b, c] = mesh.corners(0);
    EXPECT_GT(dot(a, cross(b, c)), 0);
}

std::string refused_as(TriangleMesh mesh) {
    try {
        check_mesh(mesh, "test");
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Mesh, GapsAndOverlapsAreNamed) {
    auto mesh = unit_cube(2);
    mesh.triangles.push_back(mesh.triangles[7]);
    EXPECT_NE(refused_as(mesh).find("with 1 more: surfaces overlap or touch there, or a triangle is there twice"),
              std::string::npos)
        << refused_as(mesh);
    mesh = unit_cube(2);
    mesh.triangles.erase(mesh.triangles.begin() + 3);
    EXPECT_NE(refused_as(mesh).find("3 edges have one triangle only"), std::string::npos) << refused_as(mesh);
    EXPECT_NE(refused_as(mesh).find(": a hole"), std::string::npos) << refused_as(mesh);
    // One triangle is moved away at a corner by a hundredth.
    mesh = unit_cube(2);
    const Index corner = mesh.triangles[0][0];
    mesh.vertices.push_back(mesh.vertices[static_cast<std::size_t>(corner)] + Point{0.01, 0, 0});
    mesh.triangles[0][0] = static_cast<Index>(mesh.vertices.size()) - 1;
    EXPECT_EQ(weld(mesh), "");
    EXPECT_NE(refused_as(mesh).find("a gap of 0.01 to vertex"), std::string::npos) << refused_as(mesh);
}

/// A torus by its formula in single precision: it closes within rounding only.
TEST(Mesh, VerticesWithinRoundingAreWelded) {
    for (const double moved : {0.0, 1000.0}) {
        constexpr int around = 40, across = 24;
        const auto at = [&](int i, int j) {
            const float u = 2 * 3.14159265f * static_cast<float>(i) / around,
                        v = 2 * 3.14159265f * static_cast<float>(j) / across, r = 2 + std::cos(v);
            return Point{static_cast<float>(moved) + r * std::cos(u), r * std::sin(u), std::sin(v)};
        };
        TriangleMesh torus;
        for (int i = 0; i < around; ++i)
            for (int j = 0; j < across; ++j)
                for (const auto& [a, b, c] : {std::tuple(at(i, j), at(i + 1, j), at(i + 1, j + 1)),
                                              {at(i, j), at(i + 1, j + 1), at(i, j + 1)}}) {
                    const auto first = static_cast<Index>(torus.vertices.size());
                    for (const Point& p : {a, b, c}) torus.vertices.push_back(p);
                    torus.triangles.push_back({first, first + 1, first + 2});
                }
        auto mesh = parse_mesh("torus.stl", binary_stl(torus));
        EXPECT_NE(refused_as(mesh).find("not closed"), std::string::npos);
        EXPECT_NE(weld(mesh).find("vertices were welded to others, up to "), std::string::npos);
        EXPECT_TRUE(check_mesh(mesh, "torus.stl").empty());
        EXPECT_EQ(mesh.vertices.size(), around * across);
        EXPECT_EQ(mesh.size(), 2 * around * across);
    }
}

/// As in a sphere made of rows of quadrilaterals, those at the poles with two corners in one place.
TEST(Mesh, TrianglesThatVanishAreLeftOut) {
    auto mesh = icosphere(2);
    const auto [a, b, c] = mesh.triangles[4];
    mesh.triangles.insert(mesh.triangles.begin() + 2, {a, a, b});
    EXPECT_EQ(check_mesh(mesh, "test"),
              std::vector<std::string>{"triangles with two corners in one place, left out: 1"});
    EXPECT_EQ(mesh.size(), 80);
    // Numbers in refusals stay those of the file.
    mesh.triangles.insert(mesh.triangles.begin(), {a, b, b});
    mesh.triangles.pop_back();
    mesh.triangles.push_back(mesh.triangles[5]);
    EXPECT_NE(refused_as(mesh).find("triangles 2 and 6 run"), std::string::npos) << refused_as(mesh);
}

/// Whatever a file holds, it is a mesh or refused.
TEST(Mesh, ReadersAreSafe) {
    const auto sphere = icosphere(1);
    int refused = 0, tried = 0;
    for (const auto& [name, text] : {std::pair("a.off", off(sphere)),
                                     {"b.obj", obj(sphere)},
                                     {"c.stl", stl(sphere)},
                                     {"d.stl", binary_stl(sphere)}})
        for (int k = 0; k < 500; ++k, ++tried) {
            std::string broken = text;
            const auto some = [&](int what) {
                return splitmix64(8 * static_cast<std::uint64_t>(k) + static_cast<std::uint64_t>(what));
            };
            for (int changes = 0; changes < 1 + k % 4; ++changes)
                broken[some(changes) % broken.size()] = "0123456789-.eE \n\0xf#"[some(changes + 4) % 20];
            if (k % 3 == 0) broken.resize(some(7) % broken.size());
            try {
                auto mesh = parse_mesh(name, broken);
                (void)weld(mesh);
                check_mesh(mesh, name);
            } catch (const InputError&) {
                ++refused;
            }
        }
    EXPECT_GT(refused, tried / 4);
}

}  // namespace
}  // namespace stretto
