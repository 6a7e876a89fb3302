// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime.h>

#include "cusparse_loops.hpp"
#include "measure.hpp"
#include "stretto/execute/device/cuda.hpp"

namespace {

void copy(void* to, const void* from, std::size_t bytes, int times) {
    // In the stream of the legacy default, which does not wait for that of the device: it is synchronised here.
    bool fine = true;
    for (int k = 0; k < times; ++k) fine = fine && cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice) == cudaSuccess;
    if (!fine || cudaDeviceSynchronize() != cudaSuccess) throw std::runtime_error("the GPU does not copy");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "cusparse") 
        return stretto::run_with_mpi(argc, argv, [&] { stretto::measure_cusparse(argc - 2, argv + 2); });
    return stretto::measure_main<stretto::CudaDevice>(argc, argv, copy);
}
