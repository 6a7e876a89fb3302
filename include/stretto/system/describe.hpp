// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/sparse/csr.hpp"
#include "stretto/system/deal.hpp"
#include "stretto/system/structure.hpp"

namespace stretto {

// What is found of a matrix, as the JSON of a solve has it (docs/results.md).
std::string to_json(const Structure& structure);
std::string to_json(const PartitionQuality& quality);

/// Collective. How products of so many columns read a matrix, as JSON; for people: report_storage.
std::string storage_json(const CsrMatrix<double>& A, int columns);

}  // namespace stretto
