// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stretto/core/buffer.hpp"
#include "stretto/core/types.hpp"
#include "stretto/sparse/forms/packed_values.hpp"
#include "stretto/sparse/forms/row_form.hpp"

namespace stretto {

/// Rows of a matrix in blocks of neighbours with much the same columns, as of several unknowns at a node of a mesh
/// (as block compressed rows, BCSR; register blocking: Im, Yelick and Vuduc 2004, with blocks of one column and of
/// heights that follow the matrix). A block has each column that one of its rows has once, as the 16-bit step from the
/// column before it, and there the values of all its rows, zeros filled in: a product loads an entry of x once for all
/// rows of a block, and their values together. Where the matrix is symmetric, or hermitian, in these rows, only blocks
/// on and above its diagonal are stored, and those above are multiplied with their mirror images; what they are filled
/// up with counts in both. Values are packed.
template <class T>
class BlockedRows {
public:
    static constexpr std::string_view name = "blocked", words = "are in blocks";
    static constexpr int most_columns = 1;   ///< compressed rows load a value once for several, and are faster then
    static constexpr bool in_order = false;  ///< but in that of the blocks
    static constexpr std::size_t between_polls = 16;  ///< blocks

    /// Nothing where rows have so little in common that blocks do not pay.
    static std::optional<BlockedRows> build(const InteriorRows<T>& rows);

    void apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const;

    double bytes() const;
    bool is_halved() const { return symmetric_; }

private:
    static constexpr Index highest = 8;

    struct Block {
        Index row, height;
        Index first_column = 0;   ///< of its own terms
        std::int32_t terms = 0;   ///< of its own
        std::int32_t images = 0;  ///< terms after them, from the row behind the block, with mirror images
        Index reach = 0;          ///< the row behind the last one that it adds to
    };

    class Builder;

    bool symmetric_ = false;  // one of two mirror images stands for both
    bool hermitian_ = false;  // as the conjugate of the other
    std::vector<Block> blocks_;
    Buffer<std::uint16_t> steps_;  // by block, for each of its terms
    PackedValues<T> values_;       // by block, by term, of each of its rows
};

extern template class BlockedRows<double>;
extern template class BlockedRows<float>;
#if STRETTO_COMPLEX
extern template class BlockedRows<std::complex<double>>;
extern template class BlockedRows<std::complex<float>>;
#endif

}  // namespace stretto
