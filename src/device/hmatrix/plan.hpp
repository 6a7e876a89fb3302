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

/// Columns of one kind of number in a panel that a block of threads multiplies into its rows of y, at most those of a
/// chunk.
struct PanelSegment {
    std::int64_t at;          ///< byte of the first column in the block's first slab, which the panel may not reach
    std::int64_t scales;      ///< byte of the first scale of integers
    std::int32_t slab_bytes;  ///< from a slab to the next
    Index col;                ///< of the vector that is multiplied; for y += t the place in t of the block's first row
    Index cols;               ///< for planning: kernels know them by the chunk's list
    std::uint16_t place;      ///< of its first column among those of the chunk
    std::uint8_t stored;      ///< Stored
    std::uint8_t products;    ///< 1: multiplies t, 0: x
};
/// The values of a panel, or none: y += t.
enum class Stored : std::uint8_t { in_double, in_single, in_16_bits, in_8_bits, nowhere };

/// Columns of a chunk, of one kind of number, that some slabs of a block have.
struct PanelRun {
    std::uint16_t first, last;  ///< columns of the chunk
    std::uint8_t slab, slabs;
    std::uint8_t stored;
    std::uint8_t unused = 0;
};
/// What a block of threads has at hand at a time: columns, in runs. Which segment each is of, counted from the first,
/// stands in a list of all columns.
struct PanelChunk {
    std::int32_t segment;          ///< the first
    std::int32_t column, columns;  ///< in that list
    std::int32_t run, runs;
};
inline constexpr int columns_of_chunk = 1024, runs_of_chunk = 32;

/// Rows of y of a block of threads, and what is multiplied into them.
struct PanelRows {
    std::int32_t first, last;  ///< chunks
    Index row, slabs;
};

/// t = Pᵀ x for columns of a panel: what one warp does of it. As many neighbouring warps share each panel of a block.
struct PanelAdjoint {
    enum Kind : std::uint8_t { doubles, singles, integers };
    std::int64_t at, scales;
    Index row, rows;  ///< of x
    Index product, cols;
    Index in_16_bits;  ///< of integers, which come first
    std::int32_t slab_bytes;
    Kind kind;
    std::uint8_t shares;  ///< warps that have a panel: 1, 2, 4 or 8
    std::uint16_t unused = 0;
    Index most;  ///< columns that a panel of the block has at most
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

/// Where launches of a phase begin in its list of blocks of threads; one more than there are.
using Batches = std::vector<std::int32_t>;

/// A phase y += P v, or t = Pᵀ x, of a product, in the order of its launches.
struct ForwardPhase {
    std::vector<PanelRows> tasks;
    std::vector<PanelChunk> chunks;
    std::vector<PanelSegment> segments;
    std::vector<std::uint16_t> columns;  ///< of chunks: the segment of each
    std::vector<PanelRun> runs;
    Batches batches;
};
struct AdjointPhase {
    std::vector<PanelAdjoint> warps;  ///< warps_of_block for each block of threads
    Batches batches;                  ///< in blocks
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
