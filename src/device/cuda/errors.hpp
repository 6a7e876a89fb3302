// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <stdexcept>

namespace stretto {

/// Throws std::runtime_error with CUDA's words.
inline void must(cudaError_t error, const char* doing) {
    if (error != cudaSuccess)
        throw std::runtime_error(fmt::format("{}: {} ({})", doing, cudaGetErrorString(error), cudaGetErrorName(error)));
}
inline cudaStream_t made_stream() {
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "no stream on the GPU");
    return stream;
}

}  // namespace stretto
