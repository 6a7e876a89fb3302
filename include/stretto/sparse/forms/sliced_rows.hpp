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

/// Rows of a matrix without order in them, in slices of eight that are multiplied side by side (SELL-C-σ: Kreutzer,
/// Hager, Wellein, Fehske and Bishop 2014), so that short rows do not cost a loop each. Rows of like length are put
/// together within a window; shorter rows of a slice are filled up with zeros. The k-th columns of the rows of a slice
/// are 16-bit distances from the smallest of them. Values are packed. Terms are summed in the order of the compressed
/// rows.
template <class T>
class SlicedRows {
public:
    SlicedRows() = default;
    /// These rows of compressed ones, whose columns are local rows. Empty where the columns of a slice are too far
    /// apart, or where products would not read less than of compressed rows.
    SlicedRows(const Index* start, const Index* columns, const T* values, std::vector<Index> rows);

    explicit operator bool() const { return !slices_.empty(); }

    static constexpr std::size_t between_polls = 16;  ///< slices
    /// y = A x in these rows, for one column; with more, compressed rows are faster, which load a value once for all of
    /// them. `pieces` are of slices.
    void apply(const T* x, T* y, Pieces pieces, FinishedRows& finished) const;

    /// Bytes that a product reads.
    double bytes() const;

private:
    static constexpr int height = 8;               // rows of a slice
    static constexpr std::ptrdiff_t window = 256;  // rows among which those of like length are put together

    struct Slice {
        int terms;          // of the longest row
        Index row[height];  // −1 where there is none
    };

    bool place_columns(const Index* start, const Index* columns);

    static constexpr std::size_t slices_of_window = window / height;
    struct RowRange {
        Index begin, end;
    };

    std::vector<Slice> slices_;
    std::vector<std::size_t> windows_;  // by window, its first stretch of rows
    std::vector<RowRange> ranges_;      // that follow each other
    Buffer<Index> nearest_;             // of each term of a slice
    Buffer<std::uint16_t> further_;     // height of them for each
    PackedValues<T> values_;
    std::size_t terms_ = 0;
};

extern template class SlicedRows<double>;

}  // namespace stretto
