// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stretto {

/// Bytes of memory that are free on this node, for all of its processes; infinite where that cannot be known.
double free_memory();

}  // namespace stretto
