// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string_view>

#include "stretto/system/device.hpp"

namespace stretto {

/// What a solve can be asked to run on.
inline constexpr std::array<std::string_view, 3> device_names{"cpu", "cuda", "emulated"};

/// Null for "cpu". Throws InputError where there is no such device on this rank, or this build has none, and says what
/// is missing.
const Accelerator* find_device(std::string_view name);

}  // namespace stretto
