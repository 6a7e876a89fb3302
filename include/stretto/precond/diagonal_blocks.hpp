// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/operators/preconditioner.hpp"

namespace stretto {

/// The dense blocks on the diagonal of a hierarchical matrix, inverted: block Jacobi. A block that is singular counts
/// as the identity, and is reported. No communication. Of a complex matrix it works on vectors in pairs, as that does.
class DiagonalBlocks final : public Preconditioner {
public:
    /// Collective. Of this rank's rows or, `everywhere`, of all: for vectors that every rank has whole.
    explicit DiagonalBlocks(const HMatrix& A, bool everywhere = false);

    void apply(MultiVector<double> r, MultiVector<double> z) const override { multiply(r, z, false); }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { multiply(r, z, true); }
    double bytes(int columns) const override { return stored_ + 16.0 * columns * rows_; }
    double stored() const override { return stored_; }
    std::vector<std::string> remarks() const override;

    Index rows() const { return rows_; }
    /// In order of rows.
    const std::vector<HMatrix::DiagonalBlock>& inverses() const { return inverses_; }

private:
    void invert();
    void gather(const HMatrix& A);
    void multiply(MultiVector<double> r, MultiVector<double> z, bool transposed) const;

    std::vector<HMatrix::DiagonalBlock> inverses_;
    double stored_ = 0;
    Index rows_;
    int parts_;            // real numbers that an entry is
    Global singular_ = 0;  // on all ranks
    int threads_;
};

}  // namespace stretto
