// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace stretto {

/// Of eight numbers at once, to 4 units in the last place.
void sines_and_cosines(const double (&x)[8], double (&sine)[8], double (&cosine)[8]);

}  // namespace stretto
