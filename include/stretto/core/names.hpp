// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

/// What somebody who typed `name` may have meant, of these names: those that differ by least letters, or what the
/// field's other word stands for (`tol`, `bicg`, `ilut`); "a, b or c", empty where nothing is near.
std::string meant(std::string_view name, std::span<const std::string_view> names);

/// A refusal of `name`: the complaint, what may have been meant, and, after the word `list`, the names there are:
/// "there is no method 'bicg': did you mean bicgstab? There are: cg, …".
std::string refusal(std::string_view complaint, std::string_view name, std::span<const std::string_view> names,
                    std::string_view list = "there are");

/// The names of the rows of a table.
template <class Table, class Name>
std::vector<std::string_view> names_of(const Table& table, Name name) {
    std::vector<std::string_view> names;
    for (const auto& row : table) names.push_back(std::invoke(name, row));
    return names;
}

}  // namespace stretto
