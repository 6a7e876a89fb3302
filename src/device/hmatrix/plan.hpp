// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What blocks of threads of a device do in the product with a hierarchical matrix: which panels, in which launches.

#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

inline constexpr int lanes_of_warp = 32, warps_of_block = 8;
inline constexpr Index part_rows = warps_of_block * panel_rows;  // of y, for a block of threads

/// Some slabs of a panel, and there the columns of one kind of number, that a block multiplies into its rows of y.
struct PanelSegment {
    std::int64_t at;           ///< byte of the first column in the first slab
    std::int64_t scales;       ///< byte of the first scale of integers
    std::int32_t slab_bytes;   ///< from a slab to the next
    Index col, cols;           ///< of the vector that is multiplied; of t, for y += t
    std::uint8_t slab, slabs;  ///< among those of the rows
    std::uint8_t stored;       ///< Stored
    std::uint8_t products;     ///< 1: multiplies t, 0: x
};
/// The values of a panel, or none: y += t.
enum class Stored : std::uint8_t { in_double, in_single, in_16_bits, in_8_bits, nowhere };

/// Rows of y of a block of threads, and what is multiplied into them.
struct PanelRows {
    std::int32_t first, last;  ///< segments
    Index row, slabs;
};

/// t = Pᵀ x for the columns of one kind of number in a panel.
struct PanelAdjoint {
    std::int64_t at, scales;
    Index row, rows;  ///< of x
    Index product, cols;
    std::int32_t stored;
    std::int32_t slab_bytes;
};
/// Those of a block of threads, 1, 2, 4 or 8: each has its share of the warps.
struct AdjointTeam {
    std::int32_t first, count;
    std::int32_t passes;  ///< of eight columns, the most that one of them takes
    std::int32_t unused = 0;
};

/// How batched kernels are given their panels: those of Yamazaki and others (2018), Section V, and one launch a phase.
struct BatchScheme {
    enum Order : std::uint8_t {
        stored,
        by_rows,
        grouped
    };  ///< grouped: by rows up to a multiple of 8, then by columns
    enum Cut : std::uint8_t { whole, by_count, by_three_ranges, by_32_rows };
    std::string_view name;
    Order order = stored;
    Cut cut = whole;
    int count = 0;    ///< panels of a batch at most; 0: any number
    int streams = 1;  ///< that batches go to in turn
    bool disjoint =
        true;  ///< a block has its rows of y to itself; otherwise a panel, and adds to y by atomic operations
};
/// One launch for each phase, rows of y disjoint.
inline constexpr BatchScheme one_launch{"one launch a phase, disjoint rows"};

/// Where launches of a phase begin in its list of tasks; one more than there are.
using Batches = std::vector<std::int32_t>;

/// A phase y += P v, or t = Pᵀ x, of a product: tasks in the order of their launches.
struct ForwardPhase {
    std::vector<PanelRows> tasks;
    std::vector<PanelSegment> segments;
    Batches batches;
};
struct AdjointPhase {
    std::vector<AdjointTeam> teams;
    std::vector<PanelAdjoint> panels;
    Batches batches;
};

/// A product of one direction on this rank. `here` needs x of this rank alone.
struct ProductPlan {
    AdjointPhase adjoint_here, adjoint_there;
    ForwardPhase forward_here, forward_rest;
    Index products = 0;  ///< length of t
    Index rows = 0;      ///< of y
};

/// y = A x: of y this rank's rows, of x all, by their positions.
ProductPlan plan_product(const HMatrix& A, const HMatrix::Steps& steps, const BatchScheme& scheme);
/// y = Aᵀ x: of x this rank's rows, of y all. Nothing of it needs x of others.
ProductPlan plan_transposed(const HMatrix& A, const HMatrix::Steps& steps, const BatchScheme& scheme);
/// y = P x for panels on rows of their own.
ForwardPhase plan_panels(const std::vector<HMatrixPanel>& panels, Index rows);

}  // namespace stretto
