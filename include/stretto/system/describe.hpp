// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/storage_report.hpp"
#include "stretto/sparse/structure.hpp"
#include "stretto/system/choice.hpp"
#include "stretto/system/deal.hpp"

namespace stretto {

// What is found of a matrix, as the JSON of a solve has it (docs/results.md).
std::string to_json(const Structure& structure, int ranks);
std::string to_json(const Choice& choice);
std::string to_json(const Expectation& way);
std::string to_json(const PartitionQuality& quality);
std::string to_json(const StorageReport& report);
std::string to_json(const LevelSizes& sizes);

}  // namespace stretto
