// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "stretto/sparse/csr.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// A preconditioner of a complex system, chosen at run time.
class ComplexPreconditioner {
public:
    virtual ~ComplexPreconditioner() = default;
    virtual void apply(MultiVector<std::complex<double>> r,
                       MultiVector<std::complex<double>> z) const = 0;  ///< z = M⁻¹ r
    /// z = M⁻ᴴ r
    virtual void apply_transpose(MultiVector<std::complex<double>> r, MultiVector<std::complex<double>> z) const = 0;
    virtual bool has_transpose() const { return true; }
    virtual bool hermitian() const { return true; }  ///< M is, where A is
    virtual double bytes(int columns) const = 0;     ///< moved by one apply on this rank
    virtual double stored() const = 0;               ///< bytes of the preconditioner itself on this rank
    virtual std::vector<std::string> remarks() const { return {}; }  ///< what a user should know of the set-up
    /// Collective. The same rounded to single precision, for vectors in it; none: vectors are converted.
    virtual OwnedOperator<std::complex<float>> in_single() const { return {}; }
};

/// Collective. The preconditioner NAME[:key=value,…]; null for none. `jacobi` divides by the diagonal. `block_jacobi`,
/// `additive_schwarz` and `chebyshev`, with all their options, are those of the real system of twice the size, in which
/// each number is a block of two by two: so an ILU(0) or an LU is that of A, at twice its bytes. Not ilut, which drops
/// real and imaginary parts apart. `amg` is that of the real part of A. Throws InputError, the same on every rank, for
/// others and for bad options. A must outlive it.
std::unique_ptr<ComplexPreconditioner> make_complex_preconditioner(const std::string& spec,
                                                                   const CsrMatrix<std::complex<double>>& A);

/// Collective. The real system: rows and columns 2i and 2i + 1 are the real and the imaginary part of those of i.
CsrMatrix<double> real_equivalent(const CsrMatrix<std::complex<double>>& A);

}  // namespace stretto
