// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/hmatrix/geometry.hpp"

namespace stretto {

/// Rows are dealt in panels of so many: clusters, hence blocks, start at multiples of it.
inline constexpr Index panel_rows = 8;

/// How a cluster is cut in two: at the middle of the longest side of its box, or through its centre across its
/// principal axis.
enum class Bisection { geometric, principal };
inline constexpr std::string_view bisection_names[] = {"geometric", "principal"};

/// Points that stand together in the cluster order, from `begin` to `end`.
struct Cluster {
    Index begin, end;
    Box box;
    Index sons[2] = {-1, -1};

    Index size() const { return end - begin; }
    bool leaf() const { return sons[0] < 0; }
};

/// A binary tree of clusters, the same on every rank. Positions of cuts are rounded to multiples of panel_rows, so that
/// every block of the matrix (but the last) is made of whole panels. Points that coincide are cut by their number.
class ClusterTree {
public:
    /// Clusters of more than `leaf` points are cut. Throws InputError where a coordinate is not finite, `leaf` is below
    /// panel_rows, there are no points, or boxes and points differ in number.
    ClusterTree(const Geometry& geometry, Index leaf, Bisection bisection = Bisection::geometric);

    /// The original number of the point at each position.
    std::span<const Index> order() const { return order_; }
    /// The root is number 0.
    const Cluster& operator[](Index cluster) const { return clusters_[static_cast<std::size_t>(cluster)]; }
    std::span<const Cluster> clusters() const { return clusters_; }
    Index size() const { return static_cast<Index>(order_.size()); }

private:
    std::vector<Index> order_;
    std::vector<Cluster> clusters_;
};

/// A block of the matrix: its row and column clusters, and whether they are far enough from each other that a low rank
/// is expected.
struct ClusterPair {
    Index row, col;
    bool admissible;
};

/// The blocks that cover the matrix, each entry once. Admissible where min(diam) ≤ η·dist, dist > 0 (Hackbusch 1999).
std::vector<ClusterPair> block_list(const ClusterTree& tree, double eta);

}  // namespace stretto
