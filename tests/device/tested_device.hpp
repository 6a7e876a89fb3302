// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>

#include "stretto/device/devices.hpp"

namespace stretto {

/// The emulated one, or what STRETTO_TEST_DEVICE names.
inline const Accelerator& tested_device() {
    const char* const asked = std::getenv("STRETTO_TEST_DEVICE");
    return *find_device(asked ? asked : "emulated");
}

}  // namespace stretto
