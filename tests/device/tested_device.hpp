// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "stretto/device/devices.hpp"

namespace stretto {

/// The emulated one, or what STRETTO_TEST_DEVICE names.
inline const Accelerator& tested_device() {
    const char* const asked = std::getenv("STRETTO_TEST_DEVICE");
    return *find_device(asked ? asked : "emulated");
}

/// Infinite where a value is not finite.
inline double largest(const std::vector<double>& y) {
    double most = 0;
    for (const double value : y) most = std::max(most, std::isfinite(value) ? std::abs(value) : HUGE_VAL);
    return most;
}
/// The largest of the differences.
inline double difference(std::vector<double> a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
    return largest(a);
}

}  // namespace stretto
