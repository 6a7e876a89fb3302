// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <string_view>

#include "stretto/sparse/csr.hpp"

namespace stretto {

/// What a complex matrix is, as far as products with a random vector tell: up to rounding, and but for bad luck of no
/// likelihood.
struct ComplexStructure {
    bool hermitian = false;          ///< A = Aᴴ
    bool symmetric = false;          ///< A = Aᵀ
    bool skew = false;               ///< A = −Aᴴ
    bool positive_diagonal = false;  ///< real and positive

    std::string_view in_words() const {
        if (hermitian) return symmetric ? "real symmetric" : "hermitian";
        return skew        ? "skew-hermitian"
               : symmetric ? "complex symmetric, not hermitian"
                           : "neither hermitian nor symmetric";
    }
};

/// Collective.
ComplexStructure analyse(const CsrMatrix<std::complex<double>>& A);

}  // namespace stretto
