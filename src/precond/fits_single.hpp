// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

namespace stretto {

/// Whether a row with this largest number, and what is divided by it, may be kept in single precision, which holds
/// 1e-38 to 1e38: room is left for small pivots and for products.
inline bool fits_single(double largest) {
    constexpr double most = 1e20;
    return largest == 0 || (std::abs(largest) >= 1 / most && std::abs(largest) <= most);
}

/// What is said where numbers stay in double precision though single was asked for.
inline std::string kept_in_double(std::string_view preconditioner) {
    return fmt::format(
        "{}: kept in double precision: rows whose largest number is beyond 1e±20 leave the range of single",
        preconditioner);
}

}  // namespace stretto
