// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/comm/gpu_aware.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include "stretto/comm/comm.hpp"
#include "stretto/core/error.hpp"

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace stretto {
namespace {

bool library_does() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
    int supported = 0;
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
#else
    return false;
#endif
}

}  // namespace

bool mpi_takes_device_addresses(bool ask_library) {
    if (const char* const said = std::getenv("STRETTO_GPU_AWARE_MPI")) {
        const std::string_view text(said);
        if (text == "0" || text == "1") return text == "1";
        throw InputError("STRETTO_GPU_AWARE_MPI is '" + std::string(text) +
                         "': it is 0 (values travel through the host) or 1 (MPI takes addresses of a GPU)");
    }
    return ask_library && library_does();
}

}  // namespace stretto
