// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/bem/mesh.hpp"

#include <fmt/format.h>

#include <numeric>
#include <unordered_map>

#include "stretto/core/error.hpp"

namespace stretto {

void TriangleMesh::add(const TriangleMesh& other, const Point& moved_by) {
    const auto first = static_cast<Index>(vertices.size());
    for (const Point& p : other.vertices) vertices.push_back(p + moved_by);
    for (const auto& [a, b, c] : other.triangles) triangles.push_back({first + a, first + b, first + c});
}

Geometry TriangleMesh::geometry() const {
    Geometry geometry;
    for (Index i = 0; i < size(); ++i) {
        geometry.points.push_back(centroid(i));
        auto& box = geometry.boxes.emplace_back();
        for (const Point& p : corners(i)) box.add(p);
    }
    return geometry;
}

std::vector<Index> TriangleMesh::surfaces() const {
    std::vector<Index> leader(vertices.size());
    std::iota(leader.begin(), leader.end(), 0);
    const auto find = [&](Index v) {
        while (leader[static_cast<std::size_t>(v)] != v) {
            auto& next = leader[static_cast<std::size_t>(v)];
            next = leader[static_cast<std::size_t>(next)];
            v = next;
        }
        return v;
    };
    for (const auto& [a, b, c] : triangles) {
        leader[static_cast<std::size_t>(find(b))] = find(a);
        leader[static_cast<std::size_t>(find(c))] = find(a);
    }
    std::unordered_map<Index, Index> numbers;
    std::vector<Index> result;
    for (const auto& triangle : triangles)
        result.push_back(numbers.try_emplace(find(triangle[0]), static_cast<Index>(numbers.size())).first->second);
    return result;
}

void check_mesh(TriangleMesh& mesh, std::string_view name) {
    if (mesh.triangles.empty()) throw InputError(fmt::format("{}: there are no triangles", name));
    const auto count = static_cast<Index>(mesh.vertices.size());
    check_range(mesh.vertices, fmt::format("{}: vertex", name));
    std::unordered_map<std::uint64_t, Index> edges;  // from → to, and its triangle
    edges.reserve(3 * mesh.triangles.size());
    const auto key = [](Index from, Index to) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32 | static_cast<std::uint32_t>(to);
    };
    for (Index i = 0; i < mesh.size(); ++i) {
        const auto& corners = mesh.triangles[static_cast<std::size_t>(i)];
        for (const Index v : corners)
            if (v < 0 || v >= count)
                throw InputError(
                    fmt::format("{}: triangle {} names vertex {}, there are {}", name, i + 1, v + 1, count));
        const auto [a, b, c] = mesh.corners(i);
        const double longest = std::max({norm(b - a), norm(c - b), norm(a - c)});
        if (!(mesh.area(i) > 1e-10 * longest * longest))
            throw InputError(fmt::format("{}: triangle {} is degenerate: its corners are on a line", name, i + 1));
        for (std::size_t k = 0; k < 3; ++k) {
            const auto [found, fresh] = edges.try_emplace(key(corners[k], corners[(k + 1) % 3]), i);
            if (!fresh)
                throw InputError(
                    fmt::format("{}: triangles {} and {} run along their common edge in the same direction: "
                                "their orientations differ, or more than two meet there",
                                name, found->second + 1, i + 1));
        }
    }
    for (const auto& triangle : mesh.triangles)
        for (std::size_t k = 0; k < 3; ++k)
            if (!edges.contains(key(triangle[(k + 1) % 3], triangle[k])))
                throw InputError(fmt::format(
                    "{}: the surface is not closed: triangle {} has no neighbour at the edge from "
                    "vertex {} to {}",
                    name, &triangle - mesh.triangles.data() + 1, triangle[k] + 1, triangle[(k + 1) % 3] + 1));
    const auto surface = mesh.surfaces();
    std::vector<double> volumes(static_cast<std::size_t>(*std::ranges::max_element(surface)) + 1);
    for (Index i = 0; i < mesh.size(); ++i) {
        const auto [a, b, c] = mesh.corners(i);
        const Point& origin = mesh.vertices[0];
        volumes[static_cast<std::size_t>(surface[static_cast<std::size_t>(i)])] +=
            dot(a - origin, cross(b - origin, c - origin));
    }
    for (std::size_t i = 0; i < mesh.triangles.size(); ++i)
        if (volumes[static_cast<std::size_t>(surface[i])] < 0) std::swap(mesh.triangles[i][1], mesh.triangles[i][2]);
}

}  // namespace stretto
