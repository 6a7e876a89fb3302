// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>

#include <string>
#include <string_view>
#include <vector>

#include "../multigrid.hpp"

namespace stretto {

/// A vector of hypre's with this rank's rows.
class HypreVector {
public:
    HypreVector(MPI_Comm comm, HYPRE_BigInt begin, HYPRE_BigInt end);
    HypreVector(const HypreVector&) = delete;
    ~HypreVector() { HYPRE_IJVectorDestroy(ij_); }
    HYPRE_ParVector get() const { return vector_; }
    double* data() const;

private:
    HYPRE_IJVector ij_ = nullptr;
    HYPRE_ParVector vector_ = nullptr;
};

/// hypre's messages stay apart from ours.
class OwnComm {
public:
    explicit OwnComm(const Comm& comm) { MPI_Comm_dup(comm.mpi(), &mpi_); }
    OwnComm(const OwnComm&) = delete;
    ~OwnComm() { MPI_Comm_free(&mpi_); }
    MPI_Comm get() const { return mpi_; }

private:
    MPI_Comm mpi_ = MPI_COMM_NULL;
};

/// A matrix of hypre's: that of A, where tiny entries of the diagonal became the largest of their rows.
class HypreMatrix {
public:
    /// Collective.
    HypreMatrix(const CsrMatrix<double>& A, MPI_Comm comm);
    HypreMatrix(const HypreMatrix&) = delete;
    ~HypreMatrix() { HYPRE_ParCSRMatrixDestroy(matrix_); }
    HYPRE_ParCSRMatrix get() const { return matrix_; }
    Global replaced() const { return replaced_; }  ///< such entries, on all ranks

private:
    void set_row(Index i, const CsrMatrix<double>& A);

    HYPRE_ParCSRMatrix matrix_ = nullptr;
    Global replaced_ = 0;
};

/// How BoomerAMG coarsens and, in its own cycle, smooths.
struct BoomerAmgOptions {
    int coarsen, interpolate, most_per_row, aggressive, functions;
    double strong;
    Global most_coarsest = 9;  ///< rows
    int relax = 0, coarse_first = 0, sweeps = 1;
};

/// hypre's BoomerAMG (Henson and Yang 2002): its levels, and its cycle.
class BoomerAmg final : public Preconditioner {
public:
    static constexpr int hmis = 10, pmis = 8, falgout = 6;                                       ///< coarsen
    static constexpr int extended_i = 6, classical = 0;                                          ///< interpolate
    static constexpr int jacobi = 0, symmetric_l1_gauss_seidel = 8, symmetric_gauss_seidel = 6;  ///< relax

    /// Collective. Throws InputError where hypre cannot.
    BoomerAmg(const CsrMatrix<double>& A, const BoomerAmgOptions& options);
    BoomerAmg(const BoomerAmg&) = delete;
    ~BoomerAmg() override;

    /// Column by column: BoomerAMG takes one at a time.
    void apply(MultiVector<double> r, MultiVector<double> z) const override;
    void apply_transpose(MultiVector<double>, MultiVector<double>) const override;
    bool has_transpose() const override { return false; }
    double bytes(int columns) const override { return columns * (cycle_bytes_ + 32.0 * (end_ - begin_)); }
    double stored() const override { return stored_; }
    std::vector<std::string> remarks() const override { return remarks_; }
    std::optional<LevelSizes> level_sizes() const override { return sizes_; }
    void add_remark(std::string_view remark) { remarks_.emplace_back(remark); }
    /// Levels, rows and nonzeros of all over those of the finest, in words, and bytes that they take.
    std::string complexities(double bytes) const;

    /// Collective. All levels but the finest.
    std::vector<CoarseLevel> coarse_levels() const;
    /// Collective. Their matrices Pᵀ A P as they are with A's values of now, and P as it was.
    std::vector<LocalRows<double>> products(const CsrMatrix<double>& A) const;

private:
    void set_up(const BoomerAmgOptions& options);
    void regularise_coarsest();
    std::vector<double> coarsest_scale(int coarsest) const;
    static bool regularise(double* A, const std::vector<double>& scale);
    void count_levels(double sweeps);

    Comm* comm_;
    OwnComm own_comm_;
    HYPRE_BigInt begin_, end_;
    HypreVector r_, z_;
    HypreMatrix A_;
    HYPRE_Solver solver_ = nullptr;
    double stored_ = 0, cycle_bytes_ = 0;
    LevelSizes sizes_;
    std::vector<std::string> remarks_;
};

}  // namespace stretto
