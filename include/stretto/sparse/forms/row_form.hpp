// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"

namespace stretto {

/// Rows begin … end − 1.
struct RowInterval {
    Index begin, end;
};

/// What a form is built from: compressed rows whose columns are all rows of this rank. Row i: positions start[i] …
/// start[i + 1] − 1 of columns, which increase, and values.
template <class T>
struct InteriorRows {
    const Index* start;
    const Index* columns;
    const T* values;
    std::span<const RowInterval> intervals;  ///< increasing, not empty

    Index rows() const {
        Index rows = 0;
        for (const auto [begin, end] : intervals) rows += end - begin;
        return rows;
    }
    std::size_t nonzeros() const {
        std::size_t nonzeros = 0;
        for (const auto [begin, end] : intervals) nonzeros += static_cast<std::size_t>(start[end] - start[begin]);
        return nonzeros;
    }
    /// Bytes that a product with them as they are reads.
    double bytes() const {
        return static_cast<double>(nonzeros() * (sizeof(T) + sizeof(Index)) +
                                   static_cast<std::size_t>(rows()) * sizeof(Index));
    }
    /// Calls work(row) for each, in order.
    template <class Work>
    void each(Work&& work) const {
        for (const auto [begin, end] : intervals)
            for (Index row = begin; row < end; ++row) work(row);
    }
};

inline constexpr int any_columns = std::numeric_limits<int>::max();

/// A way to store rows of a matrix so that products read less of it than compressed rows have, or read it faster. Each
/// is a class of its own, and an entry in the list RowForms (forms/list.hpp): names, choice, counts and products
/// follow.
///
/// - `name`: on the command line and in JSON. `words`: what rows in this form do, to follow on "of the rows"; {} in
///   them is the number different_rows(), where the form has that.
/// - `most_columns`: with more columns, products read the compressed rows, which stay.
/// - `in_order`: whether terms of a row are summed as in compressed rows, so that products have the same bits.
/// - `build(rows)`: nothing where it does not pay. It copies what it needs; `rows` may go.
/// - `apply(x, y, m, pieces, finished)`: y = A x in these rows, for m ≤ most_columns columns; tells `finished` of rows,
///   each once. y between the first and the last of them may be written to. `pieces` are of what the form goes
///   through, `between_polls` of them at a time: a microsecond or so.
/// - `bytes()`: what a product reads of the matrix. `is_halved()`: whether it stores one of two mirror images.
template <class Form, class T>
concept RowForm = std::movable<Form> && requires(const Form form, const InteriorRows<T>& rows, const T* x, T* y, int m,
                                                 Pieces pieces, FinishedRows& finished) {
    { Form::name } -> std::convertible_to<std::string_view>;
    { Form::words } -> std::convertible_to<std::string_view>;
    { Form::most_columns } -> std::convertible_to<int>;
    { Form::in_order } -> std::convertible_to<bool>;
    { Form::between_polls } -> std::convertible_to<std::size_t>;
    { Form::build(rows) } -> std::same_as<std::optional<Form>>;
    form.apply(x, y, m, pieces, finished);
    { form.bytes() } -> std::same_as<double>;
    { form.is_halved() } -> std::same_as<bool>;
};

}  // namespace stretto
