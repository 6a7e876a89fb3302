// SPDX-License-Identifier: BSD-3-Clause
#include "solver_impl.hpp"

namespace stretto {

template class Solver<double>;
#if STRETTO_COMPLEX
template class Solver<std::complex<double>>;
#endif

}  // namespace stretto
