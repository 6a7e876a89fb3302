// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/describe.hpp"

#include "stretto/system/advice.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace stretto {

using nlohmann::ordered_json;

std::string to_json(const Structure& structure, int ranks) {
    auto null_vectors = ordered_json::array();
    for (const auto& vector : structure.null_vectors) null_vectors.push_back(vector.name());
    return ordered_json{
        {"symmetric_pattern", structure.symmetric_pattern()},
        {"symmetric", structure.symmetric()},
        {"asymmetry", structure.asymmetry},
        {"positive_diagonal", structure.positive_diagonal},
        {"zero_diagonal", structure.zero_diagonal},
        {"dominant_rows", structure.dominant_rows},
        {"null_vectors", null_vectors},
        {"structural_rank", structure.structural_rank ? ordered_json(*structure.structural_rank) : ordered_json()},
        {"hint", hint(structure, ranks)}}
        .dump();
}

std::string to_json(const NextStep& choice) {
    return ordered_json{
        {"method", choice.method}, {"precond", choice.precond}, {"prepare", choice.prepare}, {"why", choice.why}}
        .dump();
}

std::string to_json(const PartitionQuality& quality) {
    return ordered_json{{"edge_cut", quality.edge_cut}, {"halo", quality.halo}, {"imbalance", quality.imbalance}}
        .dump();
}

std::string to_json(const StorageReport& report) {
    ordered_json rows;
    for (const auto& form : report.forms) rows[std::string(form.name)] = form.rows;
    const double bytes = report.bytes_per_nonzero;
    return ordered_json{{"form", report.main},
                        {"rows", rows},
                        {"halved_rows", report.halved_rows},
                        {"bytes_per_nonzero", std::isfinite(bytes) ? ordered_json(bytes) : ordered_json()}}
        .dump();
}

}  // namespace stretto
