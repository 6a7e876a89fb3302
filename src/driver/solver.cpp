// SPDX-License-Identifier: BSD-3-Clause
#include "solver_impl.hpp"

namespace stretto {

template class Solver<double>;

}  // namespace stretto
