// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

/// The panels that one of a process's devices multiplies, with their values.
struct DealtPanels {
    HMatrix::Steps steps;  ///< `values` are those below
    std::vector<std::byte> values;
};

/// Deals the blocks of this rank to so many devices, by bytes, in the order of their rows. A block is multiplied by one
/// device alone, both of its phases, and so is its mirror image: t = Vᵀ x never travels. The sum of what they multiply
/// is the whole (Yamazaki and others 2018, Section VI-A). What they need of x is all of it.
std::vector<DealtPanels> deal_panels(const HMatrix::Steps& steps, int devices);

}  // namespace stretto
