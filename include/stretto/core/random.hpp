// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "stretto/core/types.hpp"

namespace stretto {

/// One step of the generator splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195), as a hash.
constexpr std::uint64_t splitmix64(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/// A number uniform in [−1, 1) that depends on its place alone, hence not on the number of ranks or threads.
constexpr double uniform(std::uint64_t seed, Global row, Global column = 0) {
    const auto key = splitmix64(splitmix64(seed) ^ static_cast<std::uint64_t>(row));
    const auto bits = splitmix64(key ^ static_cast<std::uint64_t>(column)) >> 11;
    return static_cast<double>(bits) * 0x1p-52 - 1;
}

}  // namespace stretto
