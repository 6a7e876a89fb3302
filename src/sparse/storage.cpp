// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/storage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"

namespace stretto {

Storage::Storage(std::string_view name)
    : number_(static_cast<std::size_t>(std::ranges::find(storage_names, name) - storage_names.begin())) {
    if (number_ == storage_names.size())
        throw InputError(refusal(fmt::format("there is no storage '{}'", name), name, storage_names));
}

const StoredForms::Form& StoredForms::operator[](std::string_view name) const {
    constexpr auto& names = RowForms<double>::names;
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
        throw InputError(fmt::format("there is no form '{}' of rows; there are: {}", name, fmt::join(names, ", ")));
    return forms[static_cast<std::size_t>(found - names.begin())];
}

double StoredForms::interior_bytes(int columns) const {
    double bytes = compressed_bytes;
    for (std::size_t f = 0; f < forms.size(); ++f) bytes += is_read(f, columns) ? forms[f].bytes : forms[f].compressed;
    return bytes;
}

}  // namespace stretto
