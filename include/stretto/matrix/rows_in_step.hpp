// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "stretto/core/buffer.hpp"
#include "stretto/core/comm.hpp"
#include "stretto/core/types.hpp"

namespace stretto {

/// Rows of a matrix whose columns run in step: each has the columns of the row before it, moved on by one, as on
/// regular grids and in Kronecker products. Such a run has its columns once, relative to the diagonal, and the values
/// of neighbouring rows side by side, so that a product does many rows at once, without indirect addresses. Values that
/// single precision keeps exactly, all of them, are stored so. Terms are summed in the order of the compressed rows.
template <class T>
class RowsInStep {
public:
    /// Takes rows begin … end − 1 of compressed rows whose columns are local rows.
    void add(const Index* start, const Index* columns, Index begin, Index end);
    /// After the last row was added: copies the values, or forgets everything where runs are too short for it to pay.
    void finish(const Index* start, const T* values);

    /// Whether there are runs to multiply with.
    explicit operator bool() const { return !runs_.empty(); }

    /// y = A x in the rows added, for m columns. `pieces` are of runs.
    void apply(const T* x, T* y, int m, Pieces pieces) const;

    /// Bytes of runs and values.
    double bytes() const;

private:
    static constexpr int most_different = 1024;
    static constexpr Index shortest_average = 8;

    struct Run {
        Index begin, end;
        int pattern;
    };
    using Pattern = std::vector<std::ptrdiff_t>;  // columns minus row

    bool continues(const Run& run, const Index* columns, Index count, Index row) const;
    template <class V>
    void apply_as(const V* values, const T* x, T* y, int m, Pieces pieces) const;
    template <class V>
    Buffer<V> stored(const Index* start, const T* values) const;

    std::vector<Run> runs_;
    std::vector<Pattern> patterns_;
    std::map<Pattern, int> known_;
    std::size_t nonzeros_ = 0;
    Buffer<T> wide_;  // one of the two
    Buffer<float> narrow_;
    Index added_ = 0;
    bool given_up_ = false;
};

extern template class RowsInStep<double>;

}  // namespace stretto
