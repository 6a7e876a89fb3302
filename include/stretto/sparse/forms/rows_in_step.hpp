// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/sparse/forms/packed_values.hpp"
#include "stretto/sparse/forms/row_form.hpp"

namespace stretto {

/// Rows of a matrix whose columns run in step: each has the columns of the row before it, moved on by one, as on
/// regular grids and in Kronecker products (as diagonal storage, DIA, does, by run). Such a run has its columns once,
/// relative to the diagonal, and the values of neighbouring rows side by side, so that a product does many rows at
/// once, without indirect addresses. Where no two mirror images differ, or all are each other's conjugates, and the
/// diagonals are few, one value is stored for both; the product finds it in cache again where that holds as much as
/// lies between. Values are packed.
template <class T>
class RowsInStep {
public:
    static constexpr std::string_view name = "in-step", words = "run in step";
    static constexpr int most_columns = any_columns;
    static constexpr bool in_order = !is_complex<T>;  ///< conjugates are rounded in another way
    static constexpr std::size_t between_polls = 1;   ///< runs

    /// Nothing where there are too many different patterns, or runs are too short on average.
    static std::optional<RowsInStep> build(const InteriorRows<T>& rows);

    void apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const;

    /// Of runs and values.
    double bytes() const;
    bool is_halved() const { return !places_.empty(); }

private:
    static constexpr int most_different = 1024;
    static constexpr Index shortest_average = 8;
    static constexpr double most_of_nonzeros = 0.75;  ///< what diagonals may take, to be stored

    struct Run {
        Index begin, end;
        int pattern;
    };
    using Pattern = std::vector<std::ptrdiff_t>;  // columns minus row

    bool find_runs(const InteriorRows<T>& rows);
    bool continues(const Run& run, const Index* columns, Index count, Index row) const;
    bool store_diagonals(const InteriorRows<T>& rows);
    bool fill_diagonals(const InteriorRows<T>& rows);
    bool place_diagonals();
    void store_runs(const InteriorRows<T>& rows);

    std::vector<Run> runs_;
    std::vector<Pattern> patterns_;
    std::size_t nonzeros_ = 0;  // of the rows
    std::size_t stored_ = 0;    // values that a product reads: fewer where two mirror images are one
    PackedValues<T> values_;
    // Where values are on diagonals: the lowest row or column, and for each term of a pattern where that has its value.
    std::ptrdiff_t lowest_ = 0;
    std::size_t size_ = 0;  // of them all, with what is between
    std::vector<std::vector<std::size_t>> places_;
    bool hermitian_ = false;  // those below the main one are conjugates
};

extern template class RowsInStep<double>;
extern template class RowsInStep<float>;
#if STRETTO_COMPLEX
extern template class RowsInStep<std::complex<double>>;
extern template class RowsInStep<std::complex<float>>;
#endif

}  // namespace stretto
