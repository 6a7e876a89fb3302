// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stretto/io/result_json.hpp"
#include "stretto/sparse/structure.hpp"
#include "stretto/system/choice.hpp"

/// What may solve a system: the reasoning as a page of text, with commands to type.
class AdvicePage {
public:
    /// `tried`: candidates after trials of so many iterations, the likeliest first.
    AdvicePage(const stretto::Structure& structure, const stretto::PartTimes& parts,
               const std::vector<stretto::Expectation>& tried, const stretto::RunInfo& run, int iterations);

    void print() const;
    const nlohmann::ordered_json& json() const { return json_; }

private:
    std::vector<std::string> lines_;
    nlohmann::ordered_json json_;
};
