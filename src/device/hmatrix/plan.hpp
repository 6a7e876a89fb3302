// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What blocks of threads of a device do in the product with a hierarchical matrix: which panels, in which launches.

#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

inline constexpr int lanes_of_warp = 32, warps_of_block = 8;

/// The values of a column, or none: y += t.
enum class Stored : std::uint8_t { in_double, in_single, in_16_bits, in_8_bits, nowhere };

/// A column of a panel, for a block of threads that has some of its slabs.
struct alignas(16) PanelColumn {
    /// Of its values in the block's first slab, which the panel may not reach, and in the next one; without values: the
    /// row of t for the block's first row.
    std::int64_t place;
    /// Row of x, or ~row of t, that it is multiplied by; in t = Pᵀ x: row of t that it makes, or ~row of the parts.
    std::int32_t vector;
    float scale;

    static constexpr int bits = 20;  // for the distance of slabs; both are counted in units of 8 bytes
    static constexpr std::size_t most_slab_bytes = ((std::size_t{1} << bits) - 1) * 8;
    static constexpr std::int64_t placed(std::int64_t at, std::int64_t slab_bytes) {
        return at / 8 * (std::int64_t{1} << bits) + slab_bytes / 8;
    }
};

/// Neighbouring columns of floating-point numbers, which have no scales.
struct PanelRange {
    PanelColumn column;      ///< the first
    std::int32_t to, count;  ///< among the columns of a chunk
    std::int32_t bytes;      ///< of a value
    std::int32_t unused = 0;

    constexpr PanelColumn at(int j) const {
        return {column.place + (std::int64_t{j} * bytes << PanelColumn::bits),
                column.vector >= 0 ? column.vector + j : column.vector - j, 1};
    }
};
/// Columns of one kind of number that the same slabs of a block have.
struct PanelRun {
    std::int32_t first, last;
    std::uint8_t slab, slabs;
    std::uint8_t stored;  ///< Stored
    std::uint8_t unused = 0;
};
/// What a block of threads has at hand at a time in y += P v.
struct PanelChunk {
    std::int32_t range, ranges;
    std::int32_t in_ranges;  ///< columns, which come first
    std::int32_t column, columns;
    std::int32_t run, runs;
};
inline constexpr int columns_of_chunk = 2048, runs_of_chunk = 32;

/// Rows of a block of threads, of y, or of x in t = Pᵀ x, and what it multiplies: chunks, or groups.
struct PanelRows {
    std::int32_t first, last;
    Index row, slabs;
};
inline constexpr Index most_slabs_forward = warps_of_block, most_slabs_adjoint = 16;

/// What a warp does at a time in t = Pᵀ x, a column each lane: lanes_of_warp columns stand in the list for every group.
struct PanelGroup {
    std::uint32_t packed;  ///< a byte each

    constexpr PanelGroup(int columns, int slab, int slabs, Stored stored)
        : packed(static_cast<std::uint32_t>(columns | slab << 8 | slabs << 16 | static_cast<int>(stored) << 24)) {}
    constexpr int columns() const { return static_cast<int>(packed & 0xff); }
    constexpr int slab() const { return static_cast<int>(packed >> 8 & 0xff); }
    constexpr int slabs() const { return static_cast<int>(packed >> 16 & 0xff); }
    constexpr Stored stored() const { return static_cast<Stored>(packed >> 24); }
};
/// A row of t that several blocks have a part of: those at first + k · apart.
struct PanelSum {
    std::int32_t first, apart, count;
    Index product;
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
    std::vector<PanelRun> runs;
    std::vector<PanelRange> ranges;
    std::vector<PanelColumn> columns;
    Batches batches;
};
struct AdjointPhase {
    std::vector<PanelRows> tasks;
    std::vector<PanelGroup> groups;
    std::vector<PanelColumn> columns;
    std::vector<PanelSum> sums;
    Index parts = 0;
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
