// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <variant>

#include "stretto/sparse/forms/blocked_rows.hpp"
#include "stretto/sparse/forms/repeated_rows.hpp"
#include "stretto/sparse/forms/row_form.hpp"
#include "stretto/sparse/forms/rows_in_step.hpp"
#include "stretto/sparse/forms/sliced_rows.hpp"

namespace stretto {

template <class T, RowForm<T>... Forms>
struct FormList {
    static constexpr std::size_t size = sizeof...(Forms);
    static constexpr std::array<std::string_view, size> names{Forms::name...};
    static constexpr std::array<std::string_view, size> words{Forms::words...};
    static constexpr std::array<int, size> most_columns{Forms::most_columns...};
    static constexpr std::array<bool, size> in_order{Forms::in_order...};

    /// The form of some rows: one of the list (index: its place + 1), or compressed rows.
    using Choice = std::variant<std::monostate, Forms...>;

    /// Calls tries(std::type_identity<Form>()) in turn, until one returns true.
    template <class Tries>
    static void find(Tries&& tries) {
        (void)(tries(std::type_identity<Forms>()) || ...);
    }
};

/// All forms besides compressed rows, in the order in which they are tried.
template <class T>
using RowForms = FormList<T, RepeatedRows<T>, RowsInStep<T>, BlockedRows<T>, SlicedRows<T>>;

}  // namespace stretto
