// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <functional>
#include <map>

#include "stretto/bem/mesh.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

/// Vertices that are shared by those who name them alike.
class SharedVertices {
public:
    explicit SharedVertices(TriangleMesh& mesh) : mesh_(mesh) {}
    Index operator()(const Point& p) {
        // Neighbours compute the same point from other corners: equal but for rounding.
        const auto key = [](double v) { return std::llround(v * 1e10); };
        const auto [found, fresh] =
            numbers_.try_emplace({key(p[0]), key(p[1]), key(p[2])}, static_cast<Index>(mesh_.vertices.size()));
        if (fresh) mesh_.vertices.push_back(p);
        return found->second;
    }

private:
    TriangleMesh& mesh_;
    std::map<std::array<long long, 3>, Index> numbers_;
};

}  // namespace

TriangleMesh icosphere(Index f) {
    const double g = (1 + std::sqrt(5.0)) / 2;
    const std::array<Point, 12> corners{{{-1, g, 0},
                                         {1, g, 0},
                                         {-1, -g, 0},
                                         {1, -g, 0},
                                         {0, -1, g},
                                         {0, 1, g},
                                         {0, -1, -g},
                                         {0, 1, -g},
                                         {g, 0, -1},
                                         {g, 0, 1},
                                         {-g, 0, -1},
                                         {-g, 0, 1}}};
    constexpr int faces[20][3] = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                                  {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                                  {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
    TriangleMesh mesh;
    SharedVertices number(mesh);
    for (const auto& [a, b, c] : faces) {
        const auto at = [&, a = a, b = b, c = c](Index i, Index j) {
            const Point p = (1.0 / f) * (static_cast<double>(f - i - j) * corners[static_cast<std::size_t>(a)] +
                                         static_cast<double>(i) * corners[static_cast<std::size_t>(b)] +
                                         static_cast<double>(j) * corners[static_cast<std::size_t>(c)]);
            return number((1 / norm(p)) * p);
        };
        for (Index i = 0; i < f; ++i)
            for (Index j = 0; i + j < f; ++j) {
                mesh.triangles.push_back({at(i, j), at(i + 1, j), at(i, j + 1)});
                if (i + j + 1 < f) mesh.triangles.push_back({at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)});
            }
    }
    return mesh;
}

TriangleMesh unit_cube(Index f, double grading) {
    const auto place = [&](Index i) {
        const double t = static_cast<double>(i) / f;
        return t <= 0.5 ? std::pow(2 * t, grading) / 2 : 1 - std::pow(2 - 2 * t, grading) / 2;
    };
    TriangleMesh mesh;
    SharedVertices number(mesh);
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (const double side : {0.0, 1.0}) {
            const auto at = [&](Index i, Index j) {
                Point p{};
                p[axis] = side;
                p[(axis + 1) % 3] = place(side > 0 ? i : j);
                p[(axis + 2) % 3] = place(side > 0 ? j : i);
                return number(p);
            };
            for (Index i = 0; i < f; ++i)
                for (Index j = 0; j < f; ++j) {
                    mesh.triangles.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
                    mesh.triangles.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
                }
        }
    return mesh;
}

namespace {

/// The surface f = 0, f < 0 inside, on a grid of cells of size h: a vertex in every cell that the surface crosses, at
/// the mean of where it crosses the cell's edges, and two triangles for every edge of the grid that it crosses (surface
/// nets, Gibson 1998).
TriangleMesh surface_net(const std::function<double(const Point&)>& f, const Box& box, double h) {
    std::array<Index, 3> n{};
    for (std::size_t a = 0; a < 3; ++a) n[a] = static_cast<Index>((box.high[a] - box.low[a]) / h) + 2;
    const auto corner = [&](Index i, Index j, Index k) {
        return box.low + Point{(i - 0.5) * h, (j - 0.5) * h, (k - 0.5) * h};
    };
    const auto number = [&](Index i, Index j, Index k) { return (static_cast<std::size_t>(i) * n[1] + j) * n[2] + k; };
    std::vector<double> value(number(n[0] - 1, n[1] - 1, n[2] - 1) + 1);
    for (Index i = 0; i < n[0]; ++i)
        for (Index j = 0; j < n[1]; ++j)
            for (Index k = 0; k < n[2]; ++k) value[number(i, j, k)] = f(corner(i, j, k));
    TriangleMesh mesh;
    std::vector<Index> vertex(value.size(), -1);
    for (Index i = 0; i + 1 < n[0]; ++i)
        for (Index j = 0; j + 1 < n[1]; ++j)
            for (Index k = 0; k + 1 < n[2]; ++k) {
                Point sum{};
                int crossings = 0;
                for (int e = 0; e < 12; ++e) {  // from a corner along axis e / 4
                    const int axis = e / 4, u = e % 4 / 2, v = e % 2;
                    std::array<Index, 3> from{i, j, k}, to;
                    from[(axis + 1) % 3] += u;
                    from[(axis + 2) % 3] += v;
                    to = from;
                    ++to[axis];
                    const double a = value[number(from[0], from[1], from[2])], b = value[number(to[0], to[1], to[2])];
                    if ((a < 0) == (b < 0)) continue;
                    sum = sum + corner(from[0], from[1], from[2]) +
                          a / (a - b) * (corner(to[0], to[1], to[2]) - corner(from[0], from[1], from[2]));
                    ++crossings;
                }
                if (crossings == 0) continue;
                vertex[number(i, j, k)] = static_cast<Index>(mesh.vertices.size());
                mesh.vertices.push_back((1.0 / crossings) * sum);
            }
    for (Index i = 1; i + 1 < n[0]; ++i)
        for (Index j = 1; j + 1 < n[1]; ++j)
            for (Index k = 1; k + 1 < n[2]; ++k)
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    const std::array<Index, 3> at{i, j, k};
                    auto next = at;
                    ++next[axis];
                    const bool inside = value[number(i, j, k)] < 0;
                    if (inside == (value[number(next[0], next[1], next[2])] < 0)) continue;
                    const auto cell = [&](int du, int dv) {
                        auto c = at;
                        c[(axis + 1) % 3] -= du;
                        c[(axis + 2) % 3] -= dv;
                        return vertex[number(c[0], c[1], c[2])];
                    };
                    std::array<Index, 4> q{cell(1, 1), cell(0, 1), cell(0, 0), cell(1, 0)};
                    if (!inside) std::swap(q[1], q[3]);
                    mesh.triangles.push_back({q[0], q[1], q[2]});
                    mesh.triangles.push_back({q[0], q[2], q[3]});
                }
    return mesh;
}

}  // namespace

TriangleMesh humanoid(Index n) {
    struct Limb {
        Point from, to;
        double radius;
    };
    static constexpr Limb limbs[] = {{{0, 0, 1.63}, {0, 0, 1.68}, 0.12},  // head
                                     {{0, 0, 1.40}, {0, 0, 1.55}, 0.06},  // neck
                                     {{0, -0.10, 1.32}, {0, 0.10, 1.32}, 0.14},
                                     {{0, 0, 1.00}, {0, 0, 1.32}, 0.16},  // trunk
                                     {{0, -0.06, 0.95}, {0, 0.06, 0.95}, 0.14},
                                     {{0, -0.20, 1.38}, {0, -0.36, 1.08}, 0.06},
                                     {{0, -0.36, 1.08}, {0.06, -0.42, 0.80}, 0.05},  // arms
                                     {{0, 0.20, 1.38}, {0, 0.36, 1.08}, 0.06},
                                     {{0, 0.36, 1.08}, {0.06, 0.42, 0.80}, 0.05},
                                     {{0, -0.11, 0.92}, {0, -0.13, 0.48}, 0.09},
                                     {{0, -0.13, 0.48}, {0, -0.14, 0.08}, 0.06},  // legs
                                     {{0, 0.11, 0.92}, {0, 0.13, 0.48}, 0.09},
                                     {{0, 0.13, 0.48}, {0, 0.14, 0.08}, 0.06},
                                     {{-0.03, -0.14, 0.05}, {0.14, -0.16, 0.05}, 0.05},
                                     {{-0.03, 0.14, 0.05}, {0.14, 0.16, 0.05}, 0.05}};  // feet
    const auto body = [](const Point& p) {
        double sum = 0;  // a smooth union
        for (const auto& [from, to, radius] : limbs) {
            const Point axis = to - from, d = p - from;
            const double t = std::clamp(dot(d, axis) / dot(axis, axis), 0.0, 1.0);
            sum += std::exp(-80 * (norm(d - t * axis) - radius));
        }
        return -std::log(sum) / 80;
    };
    const Box box{{-0.25, -0.55, -0.05}, {0.25, 0.55, 1.9}};
    constexpr double triangles_per_cell = 6.4;  // of size 1: three for each unit of its surface
    for (double h = std::sqrt(triangles_per_cell / n);; h *= 0.97) {
        auto mesh = surface_net(body, box, h);
        try {
            check_mesh(mesh, "humanoid");
            return mesh;
        } catch (const InputError&) {
            // Two sheets of the surface meet in a cell: finer cells tell them apart.
        }
    }
}

}  // namespace stretto
