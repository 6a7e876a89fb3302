// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/device/devices.hpp"

#include <string>

#include "stretto/core/error.hpp"

namespace stretto {

const Accelerator& emulated_device();
const Accelerator& cuda_device();

const Accelerator* find_device(std::string_view name) {
    if (name == "emulated") return &emulated_device();
    if (name == "cuda") {
#ifdef STRETTO_HAS_CUDA
        return &cuda_device();
#else
        throw InputError(
            "--device cuda: this program was built without CUDA; make cuda, where nvcc is, builds build/cuda/stretto "
            "with it (docs/gpu.md): --device cpu");
#endif
    }
    if (name != "cpu")
        throw InputError("there is no device '" + std::string(name) +
                         "': --device cpu, --device cuda or --device emulated");
    return nullptr;
}

}  // namespace stretto
