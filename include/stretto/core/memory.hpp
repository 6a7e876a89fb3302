// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stretto {

/// Bytes of memory that are free on this node, for all of its processes; infinite where that cannot be known.
double free_memory();

/// Bytes of the last-level caches of this node, of as many of them as so many cores can have; 0: not known.
double last_level_cache(int cores);

}  // namespace stretto
