// SPDX-License-Identifier: BSD-3-Clause
#include "driver_impl.hpp"

namespace stretto {

template class Solver<double>::Driver;
#if STRETTO_COMPLEX
template class Solver<std::complex<double>>::Driver;
#endif

}  // namespace stretto
