// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stretto {

/// What others, libraries of arrays, have and do on a device D. A specialisation for each (others_DEVICE.hpp) has
///
///   number()     which of its kind this process computes on
///   settle()     returns when all has run that anybody launched there
///   has(p, n)    whether n bytes at an address are its memory, as far as can be known
template <class D>
struct Others;

}  // namespace stretto
