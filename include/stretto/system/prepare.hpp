// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/system/deal.hpp"
#include "stretto/system/row_moves.hpp"
#include "stretto/system/scale.hpp"

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

/// A matrix in another order, and equilibrated: Â = R P A Pᵀ C, R and C diagonal, powers of two. Methods work with P A
/// Pᵀ itself, preconditioned by C M̂⁻¹ R, M̂ a preconditioner of Â: the Krylov space is that of Â, up to R, while
/// residuals, tolerances and what is called converged are those of the original system all along.
class PreparedSystem {
public:
    /// Collective. `symmetric`: equilibrate with R = C, so that a symmetric matrix stays one. Throws as CsrMatrix.
    PreparedSystem(Comm& comm, DistributedRows matrix, const PrepareSteps& steps, bool symmetric, int threads = 1,
                   Storage storage = Storage::automatic);
    /// Without any step, of rows where they are (CsrMatrix).
    PreparedSystem(Comm& comm, const DistributedGivenRows& matrix, int threads, Storage storage);

    /// Collective. Other values of the same entries, in the order and on the ranks of the first: in the order that was
    /// found then, scaled anew. References to matrix() and scaled() stay; preconditioners follow by
    /// update() or are to be made anew.
    void update(DistributedRows matrix, bool symmetric);

    /// P A Pᵀ.
    const CsrMatrix<double>& matrix() const { return *A_; }
    /// Â, which is P A Pᵀ where nothing was equilibrated.
    const CsrMatrix<double>& scaled() const { return scaled_ ? *scaled_ : *A_; }
    /// Collective. For matrix(), of the kind that the specification names, made of scaled(); null where there is
    /// nothing to do. Throws as make_preconditioner. The system must outlive it.
    std::unique_ptr<Preconditioner> preconditioner(const std::string& spec) const;
    const PartitionQuality& partition_quality() const { return quality_; }
    /// What was done and what it brought, for a user.
    std::vector<std::string> remarks() const;

    /// Collective. P b and Pᵀ x: n_local × columns, row-major, in the original distribution and in matrix()'s.
    void forward(std::span<const double> b, int columns, std::span<double> to, RowMoves::Packed& packed) const {
        moves_.forward(*comm_, b, columns, to, packed);
    }
    void back(std::span<const double> x, int columns, std::span<double> to, RowMoves::Packed& packed) const {
        moves_.back(*comm_, x, columns, to, packed);
    }
    /// P b in a vector of its own.
    std::vector<double> forward(std::span<const double> b, int columns) const {
        std::vector<double> to(static_cast<std::size_t>(A_->local_rows()) * static_cast<std::size_t>(columns));
        RowMoves::Packed packed;
        forward(b, columns, to, packed);
        return to;
    }
    /// Whether rows have moved at all.
    bool moved() const { return moved_; }

private:
    /// What to build a matrix of: the rows themselves, or a copy where they are to be scaled besides.
    LocalRows<double> to_store(LocalRows<double>& rows) const;
    std::unique_ptr<CsrMatrix<double>> stored(const Partition& partition, LocalRows<double> rows) const;
    void reorder(DistributedRows& matrix);
    void scale(DistributedRows matrix, bool symmetric);

    Comm* comm_;
    PrepareSteps steps_;
    int threads_;
    Storage storage_;
    bool moved_ = false;
    std::vector<Global> numbers_;  // the new ones of the original rows, where these move
    RowMoves moves_;
    PartitionQuality quality_;
    std::vector<std::string> remarks_;
    std::unique_ptr<CsrMatrix<double>> A_, scaled_;
    Scales scales_;
};

}  // namespace stretto
