// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "stretto/driver/result.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

/// Collective. ‖b − A x‖/‖b‖ of each column with A's own entries, from rows chosen by chance; where b = 0 without ‖b‖.
/// Vectors are whole, in the order of the points, of complex values in pairs.
template <class T>
std::vector<double> kernel_residuals(const HMatrix& A, const FillOf<T>& fill, const Result& result,
                                     MultiVector<const double> b, MultiVector<const double> x);

/// A column that is converged with the hierarchical matrix but not with the kernel is not converged: errors of the
/// matrix count ‖A‖‖x‖/‖b‖ times in its residual. Who asked for less than ε knows that it is of the matrix.
/// Returns the ε that may do, where one is needed; else 0.
double review_by_kernel(std::span<const double> residuals, double epsilon, double rtol, double atol, Result& result);

}  // namespace stretto
