// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/sparse/forms/packed_values.hpp"

namespace stretto {

/// Rows of a matrix in blocks of neighbours with much the same columns, as of several unknowns at a node of a mesh
/// (register blocking: Im, Yelick and Vuduc 2004, with blocks of one column and of heights that follow the matrix). A
/// block has each column that one of its rows has once, as the 16-bit step from the column before it, and there the
/// values of all its rows, zeros filled in: a product loads an entry of x once for all rows of a block, and their
/// values together. Where the matrix is symmetric in these rows, only blocks on and above its diagonal are kept, and
/// those above are multiplied with their mirror images; what they are filled up with counts in both. Values are packed.
/// The order in which the terms of a row are summed follows the blocks.
template <class T>
class BlockedRows {
public:
    BlockedRows() = default;
    /// These rows, in increasing order, of compressed ones whose columns are local rows. Empty where they have so
    /// little in common that blocks do not pay.
    BlockedRows(const Index* start, const Index* columns, const T* values, const std::vector<Index>& rows);

    explicit operator bool() const { return !blocks_.empty(); }
    /// Whether one of two mirror images is kept.
    bool is_halved() const { return symmetric_; }

    static constexpr std::size_t between_polls = 16;  ///< blocks
    /// y = A x in these rows, for one column; y between the first and the last of them is written to. `pieces` are of
    /// blocks.
    void apply(const T* x, T* y, Pieces pieces, FinishedRows& finished) const;

    /// Bytes that a product reads.
    double bytes() const;

private:
    static constexpr Index highest = 8;

    struct Block {
        Index row, height;
        Index first_column = 0;   ///< of its own terms
        std::int32_t terms = 0;   ///< of its own
        std::int32_t images = 0;  ///< terms after them, from the row behind the block, with mirror images
        Index reach = 0;          ///< the row behind the last one that it adds to
    };

    bool symmetric_ = false;
    std::vector<Block> blocks_;
    Buffer<std::uint16_t> steps_;  // by block, for each of its terms
    PackedValues<T> values_;       // by block, by term, of each of its rows
};

extern template class BlockedRows<double>;

}  // namespace stretto
