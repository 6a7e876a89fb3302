// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"

namespace stretto {

/// Rows of a matrix that differ only in where they stand, as constant coefficients on a regular grid make them. Each
/// different row is stored once, with columns relative to the diagonal, and neighbouring rows that are equal make a
/// run. A product reads x and writes y and next to nothing besides; a run is one flat loop for any number of columns,
/// without indirect addresses. Terms are summed in the order of the compressed rows.
template <class T>
class RepeatedRows {
public:
    /// Takes rows begin … end − 1 of compressed rows whose columns are local rows. Forgets everything, and takes
    /// nothing from then on, where rows do not repeat enough for it to pay.
    void add(const Index* start, const Index* columns, const T* values, Index begin, Index end);
    /// After the last row was added: keeps runs that are long enough on average, or nothing.
    void finish();

    /// Whether there are runs to multiply with.
    explicit operator bool() const { return !runs_.empty(); }
    int different_rows() const { return static_cast<int>(rows_.size()); }

    static constexpr std::size_t between_polls = 4096;  ///< elements of y
    /// y = A x in the rows added, for m columns. `pieces` are of elements of y.
    void apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const;

    /// Bytes of the runs.
    double bytes() const { return static_cast<double>(runs_.size() * sizeof(Run)); }

private:
    static constexpr int most_different = 1024;  // what stays in the second-level cache with the pieces of x
    static constexpr Index shortest_average = 8;

    struct Run {
        Index begin, end;
        int row;
    };
    struct Row {
        std::size_t begin, end;  // in offsets_ and values_
    };
    using Content = std::vector<std::pair<Index, T>>;

    bool equals(const Row& row, const Index* columns, const T* values, Index count, Index place) const;
    int find(const Index* columns, const T* values, Index count, Index place);

    std::vector<Run> runs_;
    std::vector<Row> rows_;
    std::vector<Index> offsets_;
    std::vector<T> values_;
    std::map<Content, int> known_;
    Index added_ = 0;
    bool given_up_ = false;
};

extern template class RepeatedRows<double>;

}  // namespace stretto
