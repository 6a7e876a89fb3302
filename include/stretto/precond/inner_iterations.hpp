// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stretto/core/scratch.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/precond/diagonal_blocks.hpp"

namespace stretto {

/// Some iterations with another, coarser, hierarchical matrix (Ida, Iwashita, Mifune and Takahashi 2015: all its blocks
/// of rank one, 20 iterations). What it does depends on r: for methods that apply M only to make directions (bicgstab,
/// whose x and r stay true to each other then: Vogel 2007) or store what M made (gmres:flexible=1).
class InnerIterations final : public Preconditioner {
public:
    /// `coarse` has the rows of A. `method` as in SolveOptions.
    InnerIterations(HMatrix coarse, int iterations, const std::string& method = "bicgstab");
    InnerIterations(const InnerIterations&) = delete;
    InnerIterations& operator=(const InnerIterations&) = delete;

    /// Allocates vectors only in the first call with a given number of columns.
    void apply(MultiVector<double> r, MultiVector<double> z) const override;
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override;
    bool has_transpose() const override { return false; }
    bool symmetric() const override { return false; }
    bool varies() const override { return true; }
    int reductions() const override { return reductions_; }
    double bytes(int columns) const override { return applies_ * coarse_.bytes(columns); }
    double stored() const override { return coarse_.stored(); }
    std::vector<std::string> remarks() const override;

private:
    HMatrix coarse_;
    DiagonalBlocks blocks_;
    SolveOptions options_;
    double applies_;  // of all iterations
    int reductions_;  // of all iterations, booked by the solver in here
    Scratch<Solver<double>> solvers_;
};

}  // namespace stretto
