// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/comm/comm.hpp"
#include "stretto/measure/trace.hpp"

namespace stretto {

/// Collective. Writes the timelines of all ranks in Chrome's trace format, which Perfetto reads: a process for each
/// rank; methods, kernels, halo exchanges and reductions in flight are its tracks. Throws InputError, the same on every
/// rank, if rank 0 cannot write.
void write_trace(const Comm& comm, const Trace& trace, const std::string& path);

}  // namespace stretto
