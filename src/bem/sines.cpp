// SPDX-License-Identifier: BSD-3-Clause
#include "sines.hpp"

#include <cmath>

namespace stretto {

// A loop for each: the C library's vectors have none that is both at once, which the compiler would look for.
void sines_and_cosines(const double (&x)[8], double (&sine)[8], double (&cosine)[8]) {
#pragma omp simd
    for (int q = 0; q < 8; ++q) sine[q] = std::sin(x[q]);
#pragma omp simd
    for (int q = 0; q < 8; ++q) cosine[q] = std::cos(x[q]);
}

}  // namespace stretto
