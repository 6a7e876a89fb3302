// SPDX-License-Identifier: BSD-3-Clause
#include "driver_impl.hpp"

namespace stretto {

template class Solver<double>::Driver;

}  // namespace stretto
