// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/measure/traffic.hpp"

namespace stretto {

/// What costs are booked under: an iteration as its paper has it, the way there, and what safeguards add.
enum class Phase { setup, iteration, safeguard };

/// One thing that a method does, in the order of its text: what the execution-time model is made of.
struct Step {
    enum Kind { vectors, product, preconditioner, start, wait, iteration };
    Kind kind;
    Phase phase;
    int count = 0;    ///< how many products; of a sum that is started, how many dot products
    int lane = 0;     ///< of a sum that is started or waited for: one that no other in flight has
    Traffic moved{};  ///< of a pass over vectors
};

}  // namespace stretto
