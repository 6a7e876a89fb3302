// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace stretto {

/// What the library that is loaded was compiled for: "avx512" and "avx2" stand for what the levels v4 and v3 of x86-64
/// have, "portable" for all else.
std::string_view instruction_set();

}  // namespace stretto
