// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "stretto/core/types.hpp"
#include "stretto/sparse/forms/list.hpp"

namespace stretto {

/// What a storage can be asked for by: the first form that pays, compressed rows, or a form.
inline constexpr auto storage_names = [] {
    constexpr auto& forms = RowForms<double>::names;  // those of all types
    std::array<std::string_view, forms.size() + 2> names{"auto", "csr"};
    std::ranges::copy(forms, names.begin() + 2);
    return names;
}();

/// How a matrix is stored for its products: in the first of RowForms that pays, as compressed rows, or in one form
/// where it pays.
class Storage {
public:
    static const Storage automatic, compressed_rows;

    /// One of storage_names. Throws InputError where it is none.
    explicit Storage(std::string_view name);

    std::string_view name() const { return storage_names[number_]; }
    /// Whether the form of this name is to be built where it pays.
    bool tries(std::string_view form) const { return *this == automatic || name() == form; }
    bool operator==(const Storage&) const = default;

private:
    constexpr explicit Storage(std::size_t number) : number_(number) {}
    std::size_t number_;  // in storage_names
};
inline constexpr Storage Storage::automatic{std::size_t{0}}, Storage::compressed_rows{std::size_t{1}};

/// What products of a matrix read, on one rank.
struct StoredForms {
    struct Form {
        Index rows = 0, halved = 0;        ///< halved: those that store one of two mirror images
        int different = 0;                 ///< equal rows counted once, where the form tells
        double bytes = 0, compressed = 0;  ///< of the matrix, for columns up to the form's most, and for more
    };
    std::array<Form, RowForms<double>::size> forms;  ///< as RowForms
    double compressed_bytes = 0;                     ///< of interior rows in no form
    Index interface = 0;                             ///< rows that wait for the halo
    double interface_bytes = 0;                      ///< of the matrix alone

    /// Of a form's name.
    const Form& operator[](std::string_view name) const;
    /// Whether products of so many columns read a form.
    static bool is_read(std::size_t form, int columns) { return columns <= RowForms<double>::most_columns[form]; }
    /// Bytes of the interior rows that a product of so many columns reads; all bytes of the matrix.
    double interior_bytes(int columns) const;
    double bytes(int columns) const { return interior_bytes(columns) + interface_bytes; }
};

}  // namespace stretto
