// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/bem/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"

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

namespace {

/// How near vertices are one; 0 where coordinates are out of range.
double near_enough(const TriangleMesh& mesh) {
    Box box;
    double largest = 0;
    for (const Point& p : mesh.vertices) {
        box.add(p);
        for (const double value : p) {
            if (!(std::abs(value) <= largest_coordinate)) return 0;
            largest = std::max(largest, std::abs(value));
        }
    }
    return mesh.vertices.empty() ? 0 : std::max(1e-6 * box.diameter(), 0x1p-22 * largest);
}

/// Finds vertices that are near a place, in cells that are several times as large as what is near.
class Cells {
public:
    explicit Cells(double within) : within_(within) {}
    /// Whether f(vertex) is true of one in the cells within reach of p.
    template <class F>
    bool any_near(const Point& p, F&& f) const {
        const auto low = cell(p, -within_), high = cell(p, within_);
        for (auto x = low[0]; x <= high[0]; ++x)
            for (auto y = low[1]; y <= high[1]; ++y)
                for (auto z = low[2]; z <= high[2]; ++z) {
                    const auto found = cells_.find({x, y, z});
                    if (found != cells_.end() && std::ranges::any_of(found->second, f)) return true;
                }
        return false;
    }
    void add(const Point& p, Index vertex) { cells_[cell(p, 0)].push_back(vertex); }

private:
    using Cell = std::array<std::int64_t, 3>;
    struct Hash {
        std::size_t operator()(const Cell& c) const {
            std::uint64_t hash = 0;
            for (const auto each : c) hash = splitmix64(hash ^ static_cast<std::uint64_t>(each));
            return hash;
        }
    };
    Cell cell(const Point& p, double moved) const {
        constexpr double size = 16;
        Cell result{};
        for (std::size_t d = 0; d < 3; ++d)
            result[d] = static_cast<std::int64_t>(std::floor((p[d] + moved) / (size * within_)));
        return result;
    }
    double within_;
    std::unordered_map<Cell, std::vector<Index>, Hash> cells_;
};

std::string place(const TriangleMesh& mesh, Index vertex) {
    const Point& p = mesh.vertices[static_cast<std::size_t>(vertex)];
    return fmt::format("({:.9g}, {:.9g}, {:.9g})", p[0], p[1], p[2]);
}

/// An edge and the triangles that it belongs to.
struct Edge {
    Index from, to;
    Index first, second = -1;    // triangles
    int along = 0, against = 0;  // how many run from `from` to `to`, and back
    int triangles() const { return along + against; }
};

/// In the order of the first triangles that have them.
std::vector<Edge> edges_of(const TriangleMesh& mesh) {
    std::unordered_map<std::uint64_t, std::size_t> numbers;
    numbers.reserve(2 * mesh.triangles.size());
    std::vector<Edge> edges;
    for (Index i = 0; i < mesh.size(); ++i)
        for (std::size_t k = 0; k < 3; ++k) {
            const auto& corners = mesh.triangles[static_cast<std::size_t>(i)];
            const Index from = corners[k], to = corners[(k + 1) % 3];
            const auto [low, high] = std::minmax(from, to);
            const auto key =
                static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) << 32 | static_cast<std::uint32_t>(high);
            const auto [found, fresh] = numbers.try_emplace(key, edges.size());
            if (fresh) edges.push_back({from, to, i});
            Edge& edge = edges[found->second];
            ++(edge.from == from ? edge.along : edge.against);
            if (edge.triangles() == 2) edge.second = i;
        }
    return edges;
}

/// Refuses a surface with a gap or a hole, naming it.
[[noreturn]] void refuse_open(const TriangleMesh& mesh, std::string_view name, const std::vector<Edge>& edges,
                              const std::vector<Index>& numbers) {
    const auto open = [](const Edge& edge) { return edge.triangles() == 1; };
    const Edge& first = *std::ranges::find_if(edges, open);
    const auto at = [&](Index vertex) { return mesh.vertices[static_cast<std::size_t>(vertex)]; };
    // The end of another open edge that lies nearer than the next vertex of this one: there is a gap between them.
    double nearest = norm(at(first.to) - at(first.from)) / 2;
    Index other = -1;
    for (const Edge& edge : edges)
        for (const Index end : {edge.from, edge.to})
            if (open(edge) && end != first.from && norm(at(end) - at(first.from)) < nearest) {
                nearest = norm(at(end) - at(first.from));
                other = end;
            }
    const auto gap = other < 0 ? ": a hole"
                               : fmt::format(
                                     ": a gap of {:.2g} to vertex {} at {}, where only vertices within {:.2g} are "
                                     "taken for one",
                                     nearest, other + 1, place(mesh, other), near_enough(mesh));
    throw InputError(fmt::format(
        "{}: the surface is not closed: {} edges have one triangle only, the first is that of triangle {} from vertex "
        "{} at {} to {} at {}{}",
        name, std::ranges::count_if(edges, open), numbers[static_cast<std::size_t>(first.first)] + 1, first.from + 1,
        place(mesh, first.from), first.to + 1, place(mesh, first.to), gap));
}

/// `numbers`: of the triangles in the file.
void check_edges(const TriangleMesh& mesh, std::string_view name, const std::vector<Index>& numbers) {
    const auto edges = edges_of(mesh);
    for (const Edge& edge : edges) {
        if (edge.triangles() < 2 || (edge.along == 1 && edge.against == 1)) continue;
        const auto which = fmt::format("{}: triangles {} and {} run along their common edge, from {} to {}", name,
                                       numbers[static_cast<std::size_t>(edge.first)] + 1,
                                       numbers[static_cast<std::size_t>(edge.second)] + 1, place(mesh, edge.from),
                                       place(mesh, edge.to));
        if (edge.triangles() == 2) throw InputError(which + ", in the same direction: their orientations differ");
        throw InputError(fmt::format("{}, with {} more: surfaces overlap or touch there, or a triangle is there twice",
                                     which, edge.triangles() - 2));
    }
    if (std::ranges::any_of(edges, [](const Edge& edge) { return edge.triangles() == 1; }))
        refuse_open(mesh, name, edges, numbers);
}

void check_triangles(const TriangleMesh& mesh, std::string_view name) {
    const auto count = static_cast<Index>(mesh.vertices.size());
    for (Index i = 0; i < mesh.size(); ++i) {
        const auto& [first, second, third] = mesh.triangles[static_cast<std::size_t>(i)];
        for (const Index v : {first, second, third})
            if (v < 0 || v >= count)
                throw InputError(
                    fmt::format("{}: triangle {} names vertex {}, there are {}", name, i + 1, v + 1, count));
        if (first == second || second == third || third == first) continue;  // left out
        const auto [a, b, c] = mesh.corners(i);
        const double longest = std::max({norm(b - a), norm(c - b), norm(a - c)});
        if (!(mesh.area(i) > 1e-10 * longest * longest))
            throw InputError(fmt::format("{}: triangle {} is degenerate: its corners, {}, {} and {}, are on a line",
                                         name, i + 1, place(mesh, first), place(mesh, second), place(mesh, third)));
    }
}

/// Turns the surfaces that are inside out. Whether there were any.
bool turn(TriangleMesh& mesh) {
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
    return std::ranges::any_of(volumes, [](double volume) { return volume < 0; });
}

}  // namespace

std::string weld(TriangleMesh& mesh) {
    const double within = near_enough(mesh);
    if (!(within > 0)) return "";
    Cells cells(within);
    std::vector<Point> kept;
    std::vector<Index> numbers;
    double farthest = 0;
    for (const Point& p : mesh.vertices) {
        auto number = static_cast<Index>(kept.size());
        const bool found = cells.any_near(p, [&](Index vertex) {
            const double apart = norm(p - kept[static_cast<std::size_t>(vertex)]);
            if (apart > within) return false;
            number = vertex;
            farthest = std::max(farthest, apart);
            return true;
        });
        numbers.push_back(number);
        if (found) continue;
        cells.add(p, number);
        kept.push_back(p);
    }
    const std::size_t welded = mesh.vertices.size() - kept.size();
    if (welded == 0) return "";
    for (auto& triangle : mesh.triangles)
        for (Index& vertex : triangle)
            if (vertex >= 0 && static_cast<std::size_t>(vertex) < numbers.size())
                vertex = numbers[static_cast<std::size_t>(vertex)];
    mesh.vertices = std::move(kept);
    return fmt::format("{} vertices were welded to others, up to {:.2g} away (what is within {:.2g} is one)", welded,
                       farthest, within);
}

std::vector<std::string> check_mesh(TriangleMesh& mesh, std::string_view name) {
    if (mesh.triangles.empty()) throw InputError(fmt::format("{}: there are no triangles", name));
    check_range(mesh.vertices, fmt::format("{}: vertex", name));
    check_triangles(mesh, name);
    std::vector<std::string> changes;
    std::vector<Index> numbers;
    std::size_t kept = 0;
    for (Index i = 0; i < mesh.size(); ++i) {
        const auto triangle = mesh.triangles[static_cast<std::size_t>(i)];
        if (triangle[0] == triangle[1] || triangle[1] == triangle[2] || triangle[2] == triangle[0]) continue;
        mesh.triangles[kept++] = triangle;
        numbers.push_back(i);
    }
    if (kept < mesh.triangles.size())
        changes.push_back(
            fmt::format("triangles with two corners in one place, left out: {}", mesh.triangles.size() - kept));
    mesh.triangles.resize(kept);
    if (mesh.triangles.empty()) throw InputError(fmt::format("{}: no triangle has three corners", name));
    check_edges(mesh, name, numbers);
    if (turn(mesh)) changes.emplace_back("the mesh has surfaces that are inside out: they were turned");
    return changes;
}

}  // namespace stretto
