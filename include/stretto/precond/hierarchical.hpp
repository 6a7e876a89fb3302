// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stretto/driver/solver.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

/// The dense blocks on the diagonal of a hierarchical matrix, inverted. A block that is singular counts as the
/// identity.
class DiagonalBlocks {
public:
    /// Collective. Of this rank's rows or, `everywhere`, of all: for vectors that every rank has whole.
    explicit DiagonalBlocks(const HMatrix& A, bool everywhere = false);

    void apply(MultiVector<double> r, MultiVector<double> z) const { multiply(r, z, false); }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const { multiply(r, z, true); }
    double bytes(int columns) const { return stored_ + 16.0 * columns * rows_; }
    double stored() const { return stored_; }
    Global singular() const { return singular_; }  ///< blocks, on all ranks

private:
    void multiply(MultiVector<double> r, MultiVector<double> z, bool transposed) const;

    std::vector<HMatrix::DiagonalBlock> inverses_;
    double stored_ = 0;
    Index rows_;
    Global singular_ = 0;
    int threads_;
};

/// Some iterations with another, coarser, hierarchical matrix (Ida, Iwashita, Mifune and Takahashi 2015: all its blocks
/// of rank one, 20 iterations). What it does depends on r: for methods that apply M only to make directions (bicgstab,
/// whose x and r stay true to each other then: Vogel 2007) or store what M made (gmres:flexible=1).
class InnerIterations {
public:
    /// `coarse` has the rows of A, and must outlive it. `method` as in SolveOptions.
    InnerIterations(const HMatrix& coarse, int iterations, const std::string& method = "bicgstab");

    /// Allocates vectors only in the first call with a given number of columns.
    void apply(MultiVector<double> r, MultiVector<double> z) const;
    double bytes(int columns) const { return 2 * iterations_ * coarse_->bytes(columns); }
    double stored() const { return coarse_->statistics().bytes; }

private:
    const HMatrix* coarse_;
    DiagonalBlocks blocks_;
    int iterations_;
    SolveOptions options_;
    mutable std::map<int, Solver<double>> solvers_;  // by number of columns
};

}  // namespace stretto
