// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/precond/table.hpp"

namespace stretto {

std::unique_ptr<Preconditioner> make_block_jacobi(const CsrMatrix<double>& A, const Options& options);
std::unique_ptr<Preconditioner> make_additive_schwarz(const CsrMatrix<double>& A, const Options& options);
std::unique_ptr<Preconditioner> make_chebyshev(const CsrMatrix<double>& A, const Options& options);
std::unique_ptr<Preconditioner> make_amg(const CsrMatrix<double>& A, const Options& options);

}  // namespace stretto
