// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/bem/single_layer.hpp"

#include <cmath>

#include "triangle_rule.hpp"

namespace stretto {
namespace {

class SingleLayer {
public:
    SingleLayer(const TriangleMesh& mesh, Testing testing) : testing_(testing) {
        for (Index i = 0; i < mesh.size(); ++i) {
            auto& t = triangles_.emplace_back();
            t.corners = mesh.corners(i);
            t.centroid = mesh.centroid(i);
            t.area = mesh.area(i);
            for (const Point& corner : t.corners) t.size = std::max(t.size, norm(corner - t.centroid));
            for (int q = 0; q < 8; ++q) {
                const Point p = q < 7 ? rule_point(t.corners, triangle_rule[q]) : t.centroid;
                t.x[q] = p[0];
                t.y[q] = p[1];
                t.z[q] = p[2];
                t.w[q] = q < 7 ? t.area * triangle_rule[q].weight : 0;
            }
        }
    }

    double operator()(Index i, Index j) const {
        if (testing_ == Testing::collocation) return potential(triangle(i).centroid, triangle(j));
        return i == j ? self(triangle(i)) : i < j ? both(triangle(i), triangle(j)) : both(triangle(j), triangle(i));
    }

private:
    struct Triangle {
        std::array<Point, 3> corners;
        Point centroid;
        double area = 0, size = 0;
        alignas(64) double x[8], y[8], z[8], w[8];  // the rule's points, and one of no weight
    };
    const Triangle& triangle(Index i) const { return triangles_[static_cast<std::size_t>(i)]; }

    static double potential(const Point& p, const Triangle& t) {
        const Point d = p - t.centroid;
        if (dot(d, d) < far_from_triangle * far_from_triangle * t.size * t.size)
            return triangle_potential(p, t.corners);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int q = 0; q < 8; ++q) {
            const double x = p[0] - t.x[q], y = p[1] - t.y[q], z = p[2] - t.z[q];
            sum += t.w[q] / std::sqrt(x * x + y * y + z * z);
        }
        return sum;
    }

    static double both(const Triangle& s, const Triangle& t) {
        if (norm(s.centroid - t.centroid) > 1.5 * (s.size + t.size)) return outer(s.corners, s.area, t);
        const auto& [a, b, c] = s.corners;
        const Point ab = 0.5 * (a + b), bc = 0.5 * (b + c), ca = 0.5 * (c + a);
        double sum = 0;
        for (const auto& part :
             {std::array{a, ab, ca}, std::array{ab, b, bc}, std::array{ca, bc, c}, std::array{ab, bc, ca}})
            sum += outer(part, s.area / 4, t);
        return sum;
    }
    static double outer(const std::array<Point, 3>& corners, double area, const Triangle& t) {
        double sum = 0;
        for (const auto& q : triangle_rule) sum += q.weight * potential(rule_point(corners, q), t);
        return area * sum;
    }
    /// −(4/3) A² Σ ln(1 − l/s)/l over the sides l, s half their sum.
    static double self(const Triangle& t) {
        const double sides[] = {norm(t.corners[1] - t.corners[0]), norm(t.corners[2] - t.corners[1]),
                                norm(t.corners[0] - t.corners[2])};
        const double half = (sides[0] + sides[1] + sides[2]) / 2;
        double sum = 0;
        for (const double side : sides) sum += std::log(1 - side / half) / side;
        return -4.0 / 3 * t.area * t.area * sum;
    }

    Testing testing_;
    std::vector<Triangle> triangles_;
};

/// Of the triangle whose corners are at d, R far from here.
double angle_of(const Point (&d)[3], const double (&R)[3]) {
    return 2 * std::atan2(dot(d[0], cross(d[1], d[2])), R[0] * R[1] * R[2] + dot(d[0], d[1]) * R[2] +
                                                            dot(d[1], d[2]) * R[0] + dot(d[2], d[0]) * R[1]);
}

}  // namespace

double triangle_potential(const Point& p, const std::array<Point, 3>& corners) {
    const Point d[3] = {corners[0] - p, corners[1] - p, corners[2] - p};
    const double R[3] = {norm(d[0]), norm(d[1]), norm(d[2])};
    const Point normal = cross(corners[1] - corners[0], corners[2] - corners[0]);
    const Point n = (1 / norm(normal)) * normal;
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t next = (i + 1) % 3;
        const Point edge = corners[next] - corners[i];
        const double length = norm(edge), t = dot(d[i], cross(edge, n)) / length, short_way = R[i] + R[next] - length;
        if (short_way > 0) sum += t * std::log((R[i] + R[next] + length) / short_way);  // on the edge t is 0
    }
    return sum - std::abs(dot(d[0], n)) * std::abs(angle_of(d, R));
}

double solid_angle(const Point& p, const std::array<Point, 3>& corners) {
    const Point d[3] = {corners[0] - p, corners[1] - p, corners[2] - p};
    const double R[3] = {norm(d[0]), norm(d[1]), norm(d[2])};
    return angle_of(d, R);
}

Fill single_layer(const TriangleMesh& mesh, Testing testing) {
    // Copies of the fill share the triangles.
    const auto layer = std::make_shared<const SingleLayer>(mesh, testing);
    return entries([layer](Index i, Index j) { return (*layer)(i, j); });
}

}  // namespace stretto
