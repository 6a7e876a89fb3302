// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/sparse/forms/packed_values.hpp"

namespace stretto {

/// Rows of a matrix whose columns run in step: each has the columns of the row before it, moved on by one, as on
/// regular grids and in Kronecker products. Such a run has its columns once, relative to the diagonal, and the values
/// of neighbouring rows side by side, so that a product does many rows at once, without indirect addresses. Where no
/// two mirror images differ, and the diagonals are few, one value is kept for both; the product finds it in cache again
/// where that holds as much as lies between. Values are packed. Terms are summed in the order of the compressed rows.
template <class T>
class RowsInStep {
public:
    /// Takes rows begin … end − 1 of compressed rows whose columns are local rows.
    void add(const Index* start, const Index* columns, Index begin, Index end);
    /// After the last row was added: copies the values, or forgets everything where runs are too short for it to pay.
    void finish(const Index* start, const T* values);

    /// Whether there are runs to multiply with.
    explicit operator bool() const { return !runs_.empty(); }

    static constexpr std::size_t between_polls = 1;  ///< runs
    /// y = A x in the rows added, for m columns. `pieces` are of runs.
    void apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const;

    /// Whether one value is kept for two mirror images.
    bool is_halved() const { return !places_.empty(); }

    /// Bytes of runs and values.
    double bytes() const;

private:
    static constexpr int most_different = 1024;
    static constexpr Index shortest_average = 8;
    static constexpr double most_of_nonzeros = 0.75;  ///< what diagonals may take, to be kept

    struct Run {
        Index begin, end;
        int pattern;
    };
    using Pattern = std::vector<std::ptrdiff_t>;  // columns minus row

    bool keep_diagonals(const Index* start, const T* values);
    bool continues(const Run& run, const Index* columns, Index count, Index row) const;

    std::vector<Run> runs_;
    std::vector<Pattern> patterns_;
    std::map<Pattern, int> known_;
    std::size_t kept_ = 0;  // values
    PackedValues<T> values_;
    // Where values are on diagonals: the lowest row or column, and for each term of a pattern where that has its value.
    std::ptrdiff_t lowest_ = 0;
    std::vector<std::vector<std::size_t>> places_;
    Index added_ = 0;
    bool given_up_ = false;
};

extern template class RowsInStep<double>;

}  // namespace stretto
