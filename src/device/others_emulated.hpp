// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <stdexcept>

#include "others.hpp"
#include "stretto/execute/device/emulated.hpp"

namespace stretto {

template <>
struct Others<EmulatedDevice> {
    static int number() { return 0; }
    static void settle() { EmulatedDevice::wait(); }  // nobody else launches anything
    static bool has(const void* address, std::size_t bytes) {
        try {
            EmulatedDevice::find(address, bytes);
        } catch (const std::logic_error&) {
            return false;
        }
        return true;
    }
};

}  // namespace stretto
