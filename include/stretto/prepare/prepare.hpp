// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stretto/matrix/csr.hpp"
#include "stretto/matrix/generators.hpp"
#include "stretto/solvers/solve.hpp"

namespace stretto {

/// What is done to a system before it is solved.
struct PrepareSteps {
    bool equilibrate = false;  ///< rows and columns scaled so that their largest entries are about 1
    bool rcm = false;          ///< rows of a rank in reverse Cuthill–McKee order, where products gain by it
    bool metis = false;        ///< rows dealt by METIS, so that ranks have few neighbours
    bool nonzeros = false;     ///< contiguous rows, dealt so that ranks have the same number of nonzeros
};

/// A list of names with commas between. Throws InputError.
PrepareSteps parse_prepare(const std::string& text);

/// How well rows are dealt.
struct PartitionQuality {
    Global edge_cut = 0;   ///< nonzeros in columns of other ranks
    Global halo = 0;       ///< rows that ranks receive for a product, all together
    double imbalance = 1;  ///< most nonzeros of a rank over their mean
};
PartitionQuality quality(const Comm& comm, const Problem& problem);

/// A system in another order and scale: Â = P R A C Pᵀ, b̂ = P R b, x = C Pᵀ x̂, R and C diagonal, powers of two, so that
/// neither they nor taking them back rounds. A symmetric matrix stays symmetric (R = C).
class PreparedSystem {
public:
    /// Collective. `symmetric` chooses how to equilibrate. Throws as CsrMatrix.
    PreparedSystem(Comm& comm, Problem problem, const PrepareSteps& steps, bool symmetric, int threads = 1,
                   Storage storage = Storage::automatic);

    const CsrMatrix<double>& matrix() const { return *A_; }
    const PartitionQuality& partition_quality() const { return quality_; }
    /// What was done and what it brought, for a user.
    const std::vector<std::string>& remarks() const { return remarks_; }

    /// Collective. b̂ of b, n_local × columns, row-major, in the original distribution; x of x̂ back to it.
    std::vector<double> forward(std::vector<double> b, int columns) const;
    std::vector<double> back(std::vector<double> x, int columns) const;

    /// Solves Â x̂ = b̂ as stretto::solve, for tolerances and residuals of the *original* system: where Â x̂ = b̂ is
    /// solved well enough for itself but not for A x = b, it goes on with a smaller tolerance.
    Result solve(AnyOperator<double> M, MultiVector<double> b, MultiVector<double> x,
                 const SolveOptions& options = {}) const;

private:
    void equilibrate(Problem& problem, bool symmetric);
    void deal(Problem& problem, const PrepareSteps& steps);
    void reorder(Problem problem);
    void plan(const Partition& target);

    Comm* comm_;
    int threads_;
    Storage storage_;
    Partition original_;
    std::vector<Global> numbers_;                     // the new ones of the original rows; empty: the old ones
    std::vector<std::vector<Index>> leave_, arrive_;  // rows that go to, or come from, each rank
    std::vector<double> rows_, columns_;              // R and C of the original rows; empty: ones
    std::vector<double> undo_rows_;                   // R⁻¹ of the new rows
    PartitionQuality quality_;
    std::vector<std::string> remarks_;
    std::optional<CsrMatrix<double>> A_;
};

}  // namespace stretto
