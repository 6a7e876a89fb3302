// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace stretto {

using Point = std::array<double, 3>;

inline Point operator+(const Point& a, const Point& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline Point operator-(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline Point operator*(double s, const Point& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline Point cross(const Point& a, const Point& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double norm(const Point& a) { return std::sqrt(dot(a, a)); }

/// A box with sides along the axes; empty at first.
struct Box {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    Point low{infinity, infinity, infinity}, high{-infinity, -infinity, -infinity};

    void add(const Point& p) {
        for (std::size_t a = 0; a < 3; ++a) {
            low[a] = std::min(low[a], p[a]);
            high[a] = std::max(high[a], p[a]);
        }
    }
    void add(const Box& box) {
        add(box.low);
        add(box.high);
    }
    double diameter() const { return norm(high - low); }
    double distance(const Box& other) const {
        double sum = 0;
        for (std::size_t a = 0; a < 3; ++a) {
            const double gap = std::max({0.0, low[a] - other.high[a], other.low[a] - high[a]});
            sum += gap * gap;
        }
        return std::sqrt(sum);
    }
};

/// Coordinates beyond this, or points nearer to each other than one over it, would take their products out of range.
inline constexpr double largest_coordinate = 1e40;

/// Throws InputError where points, `what` they are called, are not within this range.
void check_range(std::span<const Point> points, std::string_view what);

/// Where the rows and columns of a kernel matrix are in space: a point for each, and, where they are elements, the box
/// around it (empty: the points alone count).
struct Geometry {
    std::vector<Point> points;
    std::vector<Box> boxes;
};

}  // namespace stretto
