// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/describe.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "stretto/system/advice.hpp"

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
        {"unknowns_at_a_point", structure.unknowns_at_a_point},
        {"structural_rank", structure.structural_rank ? ordered_json(*structure.structural_rank) : ordered_json()},
        {"hint", hint(structure, ranks)}}
        .dump();
}

namespace {

ordered_json to_object(const Expectation& way) {
    const char* const from = way.from == Expectation::From::run     ? "run"
                             : way.from == Expectation::From::trial ? "trial"
                                                                    : "assumption";
    return {{"method", way.step.method},
            {"precond", way.step.precond},
            {"setup_seconds", way.setup},
            {"iteration_seconds", way.iteration},
            {"iterations", std::isfinite(way.iterations) ? ordered_json(way.iterations) : ordered_json()},
            {"iterations_from", from},
            {"trial", {{"iterations", way.trial}, {"residual", way.residual}}},
            {"seconds", std::isfinite(way.seconds()) ? ordered_json(way.seconds()) : ordered_json()},
            {"seconds_at_first",
             std::isfinite(way.seconds_at_first()) ? ordered_json(way.seconds_at_first()) : ordered_json()},
            {"ended", way.ended}};
}

ordered_json to_array(const std::vector<Expectation>& ways) {
    auto array = ordered_json::array();
    for (const auto& way : ways) array.push_back(to_object(way));
    return array;
}

}  // namespace

std::string to_json(const Expectation& way) { return to_object(way).dump(); }

std::string to_json(const Choice& choice) {
    const auto& parts = choice.parts;
    return ordered_json{{"method", choice.method},
                        {"precond", choice.precond},
                        {"prepare", choice.prepare},
                        {"why", choice.why},
                        {"reasons", choice.reasons},
                        {"changes", choice.changes},
                        {"seconds", choice.seconds},
                        {"parts",
                         {{"product_seconds", parts.product},
                          {"vector_seconds", parts.vector},
                          {"reduction_seconds", parts.reduction},
                          {"remains", parts.remains},
                          {"from", parts.product == 0 ? "nothing"
                                   : parts.of_machine ? "machine"
                                                      : "measured"}}},
                        {"expected", to_object(choice.expected)},
                        {"methods", to_array(choice.methods)},
                        {"runners_up", to_array(choice.runners_up)}}
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

std::string to_json(const LevelSizes& sizes) {
    return ordered_json{{"levels", sizes.levels},
                        {"grid_complexity", sizes.grid_complexity},
                        {"operator_complexity", sizes.operator_complexity}}
        .dump();
}

}  // namespace stretto
