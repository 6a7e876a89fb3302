// SPDX-License-Identifier: BSD-3-Clause
#include "driver_impl.hpp"

namespace stretto {

template class Driver<double>;
#if STRETTO_COMPLEX
template class Driver<std::complex<double>>;
#endif

}  // namespace stretto
