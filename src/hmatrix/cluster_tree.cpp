// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/cluster_tree.hpp"

#include <fmt/format.h>

#include <numeric>

#include "stretto/core/error.hpp"

namespace stretto {
namespace {

/// The eigenvector of the largest eigenvalue of the points' covariance, by powers of the matrix.
Point principal_axis(std::span<const Point> points, const Point& centre) {
    std::array<Point, 3> C{};
    for (const Point& p : points) {
        const Point d = p - centre;
        for (std::size_t a = 0; a < 3; ++a) C[a] = C[a] + d[a] * d;
    }
    for (int squaring = 0; squaring < 20; ++squaring) {  // C^(2^20)
        const double scale = norm({norm(C[0]), norm(C[1]), norm(C[2])});
        if (!(scale > 0)) return {1, 0, 0};
        for (Point& row : C) row = (1 / scale) * row;
        std::array<Point, 3> next;
        for (std::size_t a = 0; a < 3; ++a) next[a] = C[a][0] * C[0] + C[a][1] * C[1] + C[a][2] * C[2];
        C = next;
    }
    return *std::ranges::max_element(C, {}, [](const Point& row) { return dot(row, row); });
}

struct Cut {
    Point axis;
    double at;
};

Cut choose_cut(std::span<const Point> points, Bisection bisection) {
    if (bisection == Bisection::principal) {
        Point centre{};
        for (const Point& p : points) centre = centre + p;
        centre = (1.0 / static_cast<double>(points.size())) * centre;
        const Point axis = principal_axis(points, centre);
        return {axis, dot(axis, centre)};
    }
    Box box;
    for (const Point& p : points) box.add(p);
    const Point sides = box.high - box.low;
    const auto longest = static_cast<std::size_t>(std::ranges::max_element(sides) - sides.begin());
    Point axis{};
    axis[longest] = 1;
    return {axis, box.low[longest] + sides[longest] / 2};
}

}  // namespace

void check_range(std::span<const Point> points, std::string_view what) {
    Box box;
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (const double x : points[i])
            if (!(std::abs(x) <= largest_coordinate))
                throw InputError(
                    fmt::format("{} {} has a coordinate that is not finite, or beyond {:.0e}: ({}, {}, {})", what,
                                i + 1, largest_coordinate, points[i][0], points[i][1], points[i][2]));
        box.add(points[i]);
    }
    if (points.empty()) return;
    const Point sides = box.high - box.low;
    const double longest = *std::ranges::max_element(sides);
    if (longest > 0 && longest < 1 / largest_coordinate)
        throw InputError(
            fmt::format("all {} points are within {:.1e}, too little to compute with: another unit of length "
                        "helps",
                        points.size(), longest));
}

ClusterTree::ClusterTree(const Geometry& geometry, Index leaf, Bisection bisection) : order_(geometry.points.size()) {
    const auto& [points, boxes] = geometry;
    if (points.empty()) throw InputError("a kernel matrix needs at least one point");
    if (points.size() > static_cast<std::size_t>(std::numeric_limits<Index>::max()) - panel_rows)
        throw InputError(fmt::format("{} points are more than a 32-bit index can count", points.size()));
    if (!boxes.empty() && boxes.size() != points.size())
        throw InputError(fmt::format("there are {} points, but {} boxes", points.size(), boxes.size()));
    if (leaf < panel_rows) throw InputError(fmt::format("leaf={}: the smallest is {}", leaf, panel_rows));
    check_range(points, "point");
    std::iota(order_.begin(), order_.end(), 0);
    clusters_.push_back({0, size(), {}});
    std::vector<Point> local;
    std::vector<std::pair<double, Index>> places;  // along the axis; ties go by number
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        const auto [begin, end] = std::pair(clusters_[c].begin, clusters_[c].end);
        for (Index k = begin; k < end; ++k) {
            const auto i = static_cast<std::size_t>(order_[k]);
            clusters_[c].box.add(points[i]);
            if (!boxes.empty()) clusters_[c].box.add(boxes[i]);
        }
        if (end - begin <= leaf) continue;
        local.clear();
        places.clear();
        for (Index k = begin; k < end; ++k) local.push_back(points[static_cast<std::size_t>(order_[k])]);
        const auto [axis, at] = choose_cut(local, bisection);
        Index before = 0;
        for (Index k = begin; k < end; ++k) {
            places.emplace_back(dot(axis, local[static_cast<std::size_t>(k - begin)]), order_[k]);
            before += places.back().first < at;
        }
        const auto [low, high] = std::ranges::minmax_element(places);
        if (!(low->first < high->first)) before = (end - begin) / 2;
        const Index middle = std::clamp((before + panel_rows / 2) / panel_rows * panel_rows, panel_rows,
                                        (end - begin - 1) / panel_rows * panel_rows);
        std::ranges::nth_element(places, places.begin() + middle);
        for (Index k = begin; k < end; ++k) order_[k] = places[static_cast<std::size_t>(k - begin)].second;
        clusters_[c].sons[0] = static_cast<Index>(clusters_.size());
        clusters_[c].sons[1] = clusters_[c].sons[0] + 1;
        clusters_.push_back({begin, begin + middle, {}});
        clusters_.push_back({begin + middle, end, {}});
    }
}

std::vector<ClusterPair> block_list(const ClusterTree& tree, double eta) {
    std::vector<ClusterPair> blocks, open{{0, 0, false}};
    while (!open.empty()) {
        auto [row, col, admissible] = open.back();
        open.pop_back();
        const Cluster &s = tree[row], &t = tree[col];
        const double distance = s.box.distance(t.box);
        admissible = distance > 0 && std::min(s.box.diameter(), t.box.diameter()) <= eta * distance;
        if (admissible || (s.leaf() && t.leaf())) {
            blocks.push_back({row, col, admissible});
            continue;
        }
        for (const Index u : s.leaf() ? std::vector{row} : std::vector{s.sons[0], s.sons[1]})
            for (const Index v : t.leaf() ? std::vector{col} : std::vector{t.sons[0], t.sons[1]})
                open.push_back({u, v, false});
    }
    return blocks;
}

}  // namespace stretto
