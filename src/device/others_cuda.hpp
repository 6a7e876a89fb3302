// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "cuda/errors.hpp"
#include "others.hpp"
#include "stretto/execute/device/cuda.hpp"

namespace stretto {

template <>
struct Others<CudaDevice> {
    static int number() { return CudaDevice::number(); }
    static void settle() {
        CudaDevice::wait();
        must(cudaDeviceSynchronize(), "the GPU failed");
    }
    /// How much there is is not known.
    static bool has(const void* address, std::size_t) {
        cudaPointerAttributes found{};
        if (cudaPointerGetAttributes(&found, address) != cudaSuccess) {
            (void)cudaGetLastError();  // it is answered
            return false;
        }
        return (found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged) && found.device == number();
    }
};

}  // namespace stretto
