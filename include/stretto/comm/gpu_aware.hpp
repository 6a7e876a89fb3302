// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stretto {

/// Whether MPI may be given addresses of a device's memory: STRETTO_GPU_AWARE_MPI in the environment says so, 0 or 1,
/// or else, where that is asked for, the MPI library of itself (Open MPI's and MPICH's queries for CUDA). Throws
/// InputError where the environment says something else. MPI must have been started.
bool mpi_takes_device_addresses(bool ask_library);

}  // namespace stretto
