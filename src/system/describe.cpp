// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stretto/comm/collective.hpp"

namespace stretto {

using nlohmann::ordered_json;

std::string to_json(const Structure& structure) {
    return ordered_json{
        {"symmetric_pattern", structure.symmetric_pattern()},
        {"symmetric", structure.symmetric()},
        {"asymmetry", structure.asymmetry},
        {"positive_diagonal", structure.positive_diagonal},
        {"zero_diagonal", structure.zero_diagonal},
        {"dominant_rows", structure.dominant_rows},
        {"structural_rank", structure.structural_rank ? ordered_json(*structure.structural_rank) : ordered_json()},
        {"hint", structure.hint()}}
        .dump();
}

std::string to_json(const PartitionQuality& quality) {
    return ordered_json{{"edge_cut", quality.edge_cut}, {"halo", quality.halo}, {"imbalance", quality.imbalance}}
        .dump();
}

std::string storage_json(const CsrMatrix<double>& A, int columns) {
    ordered_json rows;
    for (const auto& [name, count] : A.rows_by_storage(columns)) rows[std::string(name)] = count;
    const double bytes = A.bytes_per_nonzero(columns);
    return ordered_json{{"form", A.main_storage(columns)},
                        {"rows", rows},
                        {"halved_rows", A.halved_rows(columns)},
                        {"bytes_per_nonzero", std::isfinite(bytes) ? ordered_json(bytes) : ordered_json()}}
        .dump();
}

std::string storage_in_words(const CsrMatrix<double>& A, int columns, Storage asked) {
    const auto different = all_max(A.comm(), Global{A.forms().different});
    const auto asked_name = std::ranges::find(storage_names, asked, &StorageName::storage)->name;
    const std::pair<std::string_view, std::string> words[] = {
        {"repeated", fmt::format("repeat one of {} rows", different)},
        {"in-step", "run in step"},
        {"blocked", "are in blocks"},
        {"sliced", "are in slices"}};
    auto text = fmt::format("storage: a product reads {:.2f} bytes for a nonzero", A.bytes_per_nonzero(columns));
    for (const auto& [name, rows] : A.rows_by_storage(columns)) {
        const double percent = 100.0 * static_cast<double>(rows) / static_cast<double>(A.rows());
        for (const auto& [form, what] : words)
            if (name == form && rows > 0) text += fmt::format(", {:.1f} % of the rows {}", percent, what);
        if (name == asked_name && rows == 0)
            text += fmt::format("; {} was asked for, and does not pay{}", asked_name,
                                columns > 1 ? " for several columns" : "");
    }
    if (A.halved_rows(columns) > 0) text += ", one of two mirror images kept";
    return text;
}

Storage find_storage(const std::string& name) {
    const auto found = std::ranges::find(storage_names, name, &StorageName::name);
    if (found != std::end(storage_names)) return found->storage;
    std::string names;
    for (const auto& each : storage_names) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    throw InputError(fmt::format("there is no storage '{}'; there are: {}", name, names));
}

}  // namespace stretto
