// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stretto/io/generators.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"

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
PartitionQuality quality(const Comm& comm, const DistributedRows& problem);

/// A system in another order, and equilibrated: Â = R P A Pᵀ C, R and C diagonal, powers of two. Methods work with P A
/// Pᵀ itself, preconditioned by C M̂⁻¹ R, M̂ a preconditioner of Â: the Krylov space is that of Â, up to R, while
/// residuals, tolerances and what is called converged are those of the original system all along.
class PreparedSystem {
public:
    /// Collective. `symmetric`: equilibrate with R = C, so that a symmetric matrix stays one. Throws as CsrMatrix.
    PreparedSystem(Comm& comm, DistributedRows problem, const PrepareSteps& steps, bool symmetric, int threads = 1,
                   Storage storage = Storage::automatic);

    /// P A Pᵀ.
    const CsrMatrix<double>& matrix() const { return *A_; }
    /// Â, which is P A Pᵀ where nothing was equilibrated.
    const CsrMatrix<double>& scaled() const { return scaled_ ? *scaled_ : *A_; }
    /// Collective. For matrix(), of the kind that the specification names, made of scaled(); null where there is
    /// nothing to do. Throws as make_preconditioner. The system must outlive it.
    std::unique_ptr<Preconditioner> preconditioner(const std::string& spec) const;
    const PartitionQuality& partition_quality() const { return quality_; }
    /// What was done and what it brought, for a user.
    const std::vector<std::string>& remarks() const { return remarks_; }

    /// Collective. P b and Pᵀ x: n_local × columns, row-major, in the original distribution and in matrix()'s.
    std::vector<double> forward(std::vector<double> b, int columns) const;
    std::vector<double> back(std::vector<double> x, int columns) const;

private:
    void deal(DistributedRows& problem, const PrepareSteps& steps);
    void reorder(DistributedRows problem);
    void plan(const Partition& target);
    void equilibrate(bool symmetric);

    Comm* comm_;
    int threads_;
    Storage storage_;
    Partition original_;
    bool moved_ = false;
    std::vector<Global> numbers_;                     // the new ones of the original rows, where they moved
    std::vector<std::vector<Index>> leave_, arrive_;  // rows that go to, or come from, each rank
    PartitionQuality quality_;
    std::vector<std::string> remarks_;
    std::optional<CsrMatrix<double>> A_, scaled_;
    bool same_scales_ = false;
    std::vector<double> rows_, columns_;  // R and, where it is another, C
};

}  // namespace stretto
