// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Collective. The largest row sum of |D⁻¹A|, which bounds all eigenvalues; `inverse`: D⁻¹ of the rows here.
double largest_row_sum(const CsrMatrix<double>& A, std::span<const double> inverse);

/// Collective. Ritz values of D⁻¹A after so many steps of Arnoldi's method, 12 at most; fewer where the space ends,
/// below `negligible`.
std::vector<std::complex<double>> ritz_values(const CsrMatrix<double>& A, std::span<const double> inverse, int steps,
                                              double negligible);

}  // namespace stretto
