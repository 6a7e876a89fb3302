// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/sparse/forms/row_form.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// Rows of a matrix that differ only in where they stand, as constant coefficients on a regular grid make them:
/// stencils, of which each different one is stored. Each different row is stored once, with columns relative to the
/// diagonal, and neighbouring rows that are equal make a run. A product reads x and writes y and next to nothing
/// besides; a run is one flat loop for any number of columns, without indirect addresses.
template <class T>
class RepeatedRows {
public:
    static constexpr std::string_view name = "repeated", words = "repeat one of {} rows";
    static constexpr int most_columns = any_columns;
    static constexpr bool in_order = !is_complex<T>;    ///< complex products are rounded in another way
    static constexpr std::size_t between_polls = 4096;  ///< elements of y

    /// Nothing where there are too many different rows, or runs are too short on average.
    static std::optional<RepeatedRows> build(const InteriorRows<T>& rows);

    void apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const;

    /// Of the runs: the different rows stay in cache.
    double bytes() const { return static_cast<double>(runs_.size() * sizeof(Run)); }
    bool is_halved() const { return false; }
    int different_rows() const { return static_cast<int>(rows_.size()); }

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
    using Parts = std::array<real_of<T>, reals_in<T>>;  // of a value: complex ones have no order
    using Content = std::vector<std::pair<Index, Parts>>;
    using Known = std::map<Content, int>;

    bool equals(const Row& row, const Index* columns, const T* values, Index count, Index place) const;
    int find(Known& known, const Index* columns, const T* values, Index count, Index place);

    std::vector<Run> runs_;
    std::vector<Row> rows_;
    std::vector<Index> offsets_;
    std::vector<T> values_;
};

extern template class RepeatedRows<double>;
extern template class RepeatedRows<float>;
#if STRETTO_COMPLEX
extern template class RepeatedRows<std::complex<double>>;
extern template class RepeatedRows<std::complex<float>>;
#endif

}  // namespace stretto
