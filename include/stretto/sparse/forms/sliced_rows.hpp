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

/// Rows of a matrix without order in them, in slices of eight that are multiplied side by side (SELL-C-σ: Kreutzer,
/// Hager, Wellein, Fehske and Bishop 2014), so that short rows do not cost a loop each. Rows of like length are put
/// together within a window; shorter rows of a slice are filled up with zeros. The k-th columns of the rows of a slice
/// are 16-bit distances from the smallest of them. Values are packed.
template <class T>
class SlicedRows {
public:
    static constexpr std::string_view name = "sliced", words = "are in slices";
    static constexpr int most_columns = 1;  ///< compressed rows load a value once for several, and are faster then
    static constexpr bool in_order = true;
    static constexpr std::size_t between_polls = 16;  ///< slices

    /// Nothing where the columns of a slice are too far apart, or where products would not read less than of compressed
    /// rows.
    static std::optional<SlicedRows> build(const InteriorRows<T>& rows);

    void apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const;

    double bytes() const;
    bool is_halved() const { return false; }

private:
    static constexpr int height = 8;               // rows of a slice
    static constexpr std::ptrdiff_t window = 256;  // rows among which those of like length are put together

    struct Slice {
        int terms;          // of the longest row
        Index row[height];  // −1 where there is none
    };

    void cut(const InteriorRows<T>& rows);
    bool place_columns(const InteriorRows<T>& rows);
    void store_values(const InteriorRows<T>& rows);

    static constexpr std::size_t slices_of_window = window / height;

    std::vector<Slice> slices_;
    std::vector<std::size_t> windows_;     // by window, its first stretch of rows
    std::vector<RowInterval> ranges_;      // that follow each other
    Buffer<Index> base_column_;            // of each term of a slice: the smallest
    Buffer<std::uint16_t> column_offset_;  // height of them for each, from there
    PackedValues<T> values_;
    std::size_t terms_ = 0;
};

extern template class SlicedRows<double>;
extern template class SlicedRows<float>;
#if STRETTO_COMPLEX
extern template class SlicedRows<std::complex<double>>;
extern template class SlicedRows<std::complex<float>>;
#endif

}  // namespace stretto
