// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/hmatrix/geometry.hpp"

namespace stretto {

/// Triangles in space, their vertices in counter-clockwise order seen from outside.
struct TriangleMesh {
    std::vector<Point> vertices;
    std::vector<std::array<Index, 3>> triangles;

    Index size() const { return static_cast<Index>(triangles.size()); }
    std::array<Point, 3> corners(Index triangle) const {
        const auto& [a, b, c] = triangles[static_cast<std::size_t>(triangle)];
        return {vertices[static_cast<std::size_t>(a)], vertices[static_cast<std::size_t>(b)],
                vertices[static_cast<std::size_t>(c)]};
    }
    Point centroid(Index triangle) const {
        const auto [a, b, c] = corners(triangle);
        return (1.0 / 3) * (a + b + c);
    }
    double area(Index triangle) const {
        const auto [a, b, c] = corners(triangle);
        return norm(cross(b - a, c - a)) / 2;
    }
    /// Appends another mesh, moved.
    void add(const TriangleMesh& other, const Point& moved_by = {});

    /// Centroids, and the boxes of the triangles.
    Geometry geometry() const;
    /// The closed surface that each triangle belongs to, numbered from 0 in the order of their first triangles.
    std::vector<Index> surfaces() const;
};

/// Makes one of vertices that rounding has put apart: as near as a millionth of the mesh's extent, or as four units of
/// single precision at its largest coordinate. Returns what it did, for people; empty: there were none.
std::string weld(TriangleMesh& mesh);

/// Throws InputError, with coordinates, for a mesh that is no set of closed surfaces with triangles of one orientation,
/// and where a triangle is degenerate, a coordinate not finite, a vertex number out of range. Surfaces that are inside
/// out are turned, triangles that name a vertex twice left out. Returns what was changed, for people.
std::vector<std::string> check_mesh(TriangleMesh& mesh, std::string_view name);

/// The unit icosahedron with every edge cut into f, on the unit sphere: 20 f² triangles.
TriangleMesh icosphere(Index f);
/// The surface of the unit cube, 12 f² triangles. `grading` 1: all of a size; larger: smaller at the edges.
TriangleMesh unit_cube(Index f, double grading = 1);
/// A figure of a person, 1.8 high, standing at z = 0, of about n triangles.
TriangleMesh humanoid(Index n);

/// The triangles of a file in the format that its name ends in: .stl (text or binary), .off or .obj. `text` is what the
/// file holds. Polygons with more corners are cut into triangles. Throws InputError, naming line and reason.
TriangleMesh parse_mesh(std::string_view name, std::string_view text);

}  // namespace stretto
