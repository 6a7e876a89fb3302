// SPDX-License-Identifier: BSD-3-Clause
// Algebraic multigrid: one V-cycle of hypre's BoomerAMG (Henson and Yang 2002). Where hypre is not built in,
// amg_missing.cpp takes the place of this file.
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "../../core/lapack.hpp"
#include "../kinds.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

/// A vector of hypre's with this rank's rows.
class Vector {
public:
    Vector(MPI_Comm comm, HYPRE_BigInt begin, HYPRE_BigInt end) {
        HYPRE_IJVectorCreate(comm, begin, end - 1, &ij_);
        HYPRE_IJVectorSetObjectType(ij_, HYPRE_PARCSR);
        HYPRE_IJVectorInitialize(ij_);
        HYPRE_IJVectorAssemble(ij_);
        void* object = nullptr;
        HYPRE_IJVectorGetObject(ij_, &object);
        vector_ = static_cast<HYPRE_ParVector>(object);
    }
    Vector(const Vector&) = delete;
    ~Vector() { HYPRE_IJVectorDestroy(ij_); }
    HYPRE_ParVector get() const { return vector_; }
    double* data() const { return hypre_VectorData(hypre_ParVectorLocalVector(vector_)); }

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

class Amg final : public Preconditioner {
public:
    Amg(const CsrMatrix<double>& A, const Options& options)
        : comm_(&A.comm()),
          own_comm_(A.comm()),
          begin_(first_row(A)),
          end_(begin_ + A.local_rows()),
          r_(own_comm_.get(), begin_, end_),
          z_(own_comm_.get(), begin_, end_) {
        set_matrix(A);
        for (const Choice& choice : choices) {
            if (solver_) HYPRE_BoomerAMGDestroy(solver_);
            set_up(choice, options);
            if (cycle_is_finite()) {
                if (!choice.remark.empty()) remarks_.emplace_back(choice.remark);
                break;
            }
        }
        count_levels(options.number("sweeps"));
    }
    Amg(const Amg&) = delete;
    ~Amg() override {
        HYPRE_BoomerAMGDestroy(solver_);
        HYPRE_IJMatrixDestroy(ij_);
    }

    /// Column by column: BoomerAMG takes one at a time.
    void apply(MultiVector<double> r, MultiVector<double> z) const override {
        comm_->charge(bytes(r.columns()));
        const auto n = static_cast<std::size_t>(r.rows()), m = static_cast<std::size_t>(r.columns());
        for (std::size_t j = 0; j < m; ++j) {
            for (std::size_t i = 0; i < n; ++i) r_.data()[i] = r.data()[i * m + j];
            cycle();
            for (std::size_t i = 0; i < n; ++i) z.data()[i * m + j] = z_.data()[i];
        }
    }
    void apply_transpose(MultiVector<double>, MultiVector<double>) const override {
        throw InputError("amg has no transpose");
    }
    bool has_transpose() const override { return false; }
    double bytes(int columns) const override { return columns * (cycle_bytes_ + 32.0 * (end_ - begin_)); }
    double stored() const override { return stored_; }
    std::vector<std::string> remarks() const override { return remarks_; }

private:
    struct Choice {
        int coarsen, interpolate, most_per_row, relax, coarse_first;
        std::string_view remark;
    };
    static constexpr int hmis = 10, falgout = 6, extended_i = 6, classical = 0;
    static constexpr int symmetric_l1_gauss_seidel = 8, symmetric_gauss_seidel = 6;
    static constexpr std::size_t most_eliminated = 9;  // rows: hypre's own limit
    /// The first whose cycle is finite is taken: the others are for matrices far from those that multigrid is made for.
    static constexpr Choice choices[] = {
        {hmis, extended_i, 4, symmetric_l1_gauss_seidel, 0, ""},
        {falgout, classical, 0, symmetric_gauss_seidel, 1,
         "amg: the usual cycle gave NaN or Inf, this one has Falgout's coarsening, classical interpolation and relaxes "
         "the coarse points first"}};

    void set_up(const Choice& choice, const Options& options) {
        HYPRE_BoomerAMGCreate(&solver_);
        HYPRE_BoomerAMGSetTol(solver_, 0);
        HYPRE_BoomerAMGSetMaxIter(solver_, 1);
        HYPRE_BoomerAMGSetPrintLevel(solver_, 0);
        HYPRE_BoomerAMGSetCoarsenType(solver_, choice.coarsen);
        HYPRE_BoomerAMGSetInterpType(solver_, choice.interpolate);
        HYPRE_BoomerAMGSetPMaxElmts(solver_, choice.most_per_row);
        HYPRE_BoomerAMGSetRelaxType(solver_, choice.relax);
        HYPRE_BoomerAMGSetRelaxOrder(solver_, choice.coarse_first);
        HYPRE_BoomerAMGSetNumSweeps(solver_, static_cast<int>(options.number("sweeps")));
        HYPRE_BoomerAMGSetStrongThreshold(solver_, options.number("strong"));
        HYPRE_BoomerAMGSetAggNumLevels(solver_, static_cast<int>(options.number("aggressive")));
        HYPRE_BoomerAMGSetup(solver_, A_, r_.get(), z_.get());
        agree(*comm_, [&] {
            if (const int error = HYPRE_GetError(); error != 0) {
                HYPRE_ClearAllErrors();
                throw InputError(fmt::format("amg: BoomerAMG could not be set up (hypre's error {})", error));
            }
        });
        regularise_coarsest();
    }

    /// Elimination, which hypre solves the coarsest level with, would blow up what a singular A takes to zero. There
    /// the singular values that vanish become one: on its range, the inverse stays as it is.
    void regularise_coarsest() {
        auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
        const int levels = hypre_ParAMGDataNumLevels(amg);
        if (levels < 2) return;
        const auto scale = coarsest_scale(amg, levels - 1);
        if (scale.empty()) return;
        double* const A = hypre_ParAMGDataAMat(amg);  // dense, on ranks with rows of it; null: nothing is eliminated
        if (any_of(*comm_, A && regularise(A, scale)))
            remarks_.emplace_back("amg: the coarsest level is singular, and solved without what it takes to zero");
    }

    /// Collective. Of each coarsest row the root of its diagonal as it were without neighbours on the level before:
    /// what rounding errors are measured by where the diagonal itself is one, as that of a single row is.
    std::vector<double> coarsest_scale(const hypre_ParAMGData* amg, int coarsest) const {
        const auto* const A = hypre_ParCSRMatrixDiag(hypre_ParAMGDataAArray(amg)[coarsest - 1]);
        auto* const P = hypre_ParAMGDataPArray(amg)[coarsest - 1];
        const auto n = static_cast<std::size_t>(hypre_ParCSRMatrixGlobalNumCols(P));
        if (n > most_eliminated) return {};
        std::vector<double> scale(n);
        const auto add = [&](const hypre_CSRMatrix* part, auto&& number) {
            for (HYPRE_Int i = 0; i < hypre_CSRMatrixNumRows(part); ++i) {
                const double diagonal = std::abs(hypre_CSRMatrixData(A)[hypre_CSRMatrixI(A)[i]]);  // comes first
                for (HYPRE_Int k = hypre_CSRMatrixI(part)[i]; k < hypre_CSRMatrixI(part)[i + 1]; ++k) {
                    const double weight = hypre_CSRMatrixData(part)[k];
                    scale[static_cast<std::size_t>(number(hypre_CSRMatrixJ(part)[k]))] += weight * weight * diagonal;
                }
            }
        };
        add(hypre_ParCSRMatrixDiag(P), [&](HYPRE_Int column) { return column + hypre_ParCSRMatrixFirstColDiag(P); });
        add(hypre_ParCSRMatrixOffd(P), [&](HYPRE_Int column) { return hypre_ParCSRMatrixColMapOffd(P)[column]; });
        MPI_Allreduce(MPI_IN_PLACE, scale.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, own_comm_.get());
        for (double& value : scale) value = value > 0 ? std::sqrt(value) : 1;
        return scale;
    }

    /// Whether there was anything to do for this dense matrix.
    static bool regularise(double* A, const std::vector<double>& scale) {
        const std::size_t n = scale.size();
        std::vector<double> scaled(n * n), sigma(n), u(n * n), v(n * n), work(8 * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) scaled[i * n + j] = A[i * n + j] / (scale[i] * scale[j]);
        const int rows = static_cast<int>(n), size = static_cast<int>(work.size());
        int error = 0;
        dgesvd_("A", "A", &rows, &rows, scaled.data(), &rows, sigma.data(), u.data(), &rows, v.data(), &rows,
                work.data(), &size, &error);
        if (error != 0) return false;
        constexpr double vanishing = 1e-12;
        bool singular = false;
        for (std::size_t k = 0; k < n; ++k) {
            if (sigma[k] > vanishing) continue;
            singular = true;
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    A[i * n + j] += scale[i] * v[i * n + k] * u[k * n + j] * scale[j];  // LAPACK sees it transposed
        }
        return singular;
    }

    void cycle() const {
        std::fill_n(z_.data(), end_ - begin_, 0.0);
        HYPRE_BoomerAMGSolve(solver_, A_, r_.get(), z_.get());
        HYPRE_ClearAllErrors();  // that one cycle does not converge is no error here
    }

    bool cycle_is_finite() const {
        std::fill_n(r_.data(), end_ - begin_, 1.0);
        cycle();
        const bool finite =
            std::all_of(z_.data(), z_.data() + (end_ - begin_), [](double z) { return std::isfinite(z); });
        return all_of(*comm_, finite);
    }

    static HYPRE_BigInt first_row(const CsrMatrix<double>& A) {
        agree(A.comm(), [&] {
            if (A.rows() > std::numeric_limits<HYPRE_BigInt>::max())
                throw InputError(fmt::format("amg: {} rows are more than this hypre can number", A.rows()));
        });
        HYPRE_Init();
        return static_cast<HYPRE_BigInt>(A.partition().first(A.comm().rank()));
    }

    void set_matrix(const CsrMatrix<double>& A) {
        HYPRE_IJMatrixCreate(own_comm_.get(), begin_, end_ - 1, begin_, end_ - 1, &ij_);
        HYPRE_IJMatrixSetObjectType(ij_, HYPRE_PARCSR);
        std::vector<HYPRE_Int> sizes;
        for (Index i = 0; i < A.local_rows(); ++i) sizes.push_back(static_cast<HYPRE_Int>(A.row(i).columns.size()) + 1);
        HYPRE_IJMatrixSetRowSizes(ij_, sizes.data());
        HYPRE_IJMatrixInitialize(ij_);
        Global replaced = 0;
        std::vector<HYPRE_BigInt> columns;
        std::vector<double> values;
        for (Index i = 0; i < A.local_rows(); ++i) {
            const auto row = A.row(i);
            columns.clear();
            values.assign(row.values.begin(), row.values.end());
            double largest = 0, diagonal = 0;
            for (std::size_t k = 0; k < row.columns.size(); ++k) {
                columns.push_back(static_cast<HYPRE_BigInt>(A.global(row.columns[k])));
                largest = std::max(largest, std::abs(values[k]));
                if (row.columns[k] == i) diagonal = std::abs(values[k]);
            }
            constexpr double tiny = 1e-12;
            if (diagonal <= tiny * largest) {  // smoothers divide by it
                ++replaced;
                const auto at = std::ranges::find(row.columns, i) - row.columns.begin();
                if (at == static_cast<std::ptrdiff_t>(columns.size())) {
                    columns.push_back(begin_ + i);
                    values.push_back(0);
                }
                values[static_cast<std::size_t>(at)] = largest > 0 ? largest : 1;
            }
            auto count = static_cast<HYPRE_Int>(columns.size());
            const HYPRE_BigInt number = begin_ + i;
            HYPRE_IJMatrixSetValues(ij_, 1, &count, &number, columns.data(), values.data());
        }
        HYPRE_IJMatrixAssemble(ij_);
        void* object = nullptr;
        HYPRE_IJMatrixGetObject(ij_, &object);
        A_ = static_cast<HYPRE_ParCSRMatrix>(object);
        replaced = all_sum(*comm_, replaced);
        if (replaced > 0)
            remarks_.push_back(
                fmt::format("amg: {} zero or tiny entries of the diagonal became the largest of their rows; multigrid "
                            "is not made for them",
                            replaced));
    }

    /// A cycle reads the matrix of a level twice for each smoothing, before and after (a symmetric sweep goes forth and
    /// back), and once for the residual; the transfers between levels are about one reading more.
    void count_levels(double sweeps) {
        auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
        const int levels = hypre_ParAMGDataNumLevels(amg);
        double finest = 0;
        for (int level = 0; level < levels; ++level) {
            const auto* const matrix = hypre_ParAMGDataAArray(amg)[level];
            const double nonzeros = hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixDiag(matrix)) +
                                    hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixOffd(matrix));
            const double rows = hypre_CSRMatrixNumRows(hypre_ParCSRMatrixDiag(matrix));
            constexpr double entry = sizeof(double) + sizeof(HYPRE_Int);
            if (level == 0) finest = entry * nonzeros;
            stored_ += entry * nonzeros;
            cycle_bytes_ += (4 * sweeps + 2) * (entry * nonzeros + 24 * rows);
        }
        const double all = all_sum(*comm_, stored_), first = all_sum(*comm_, finest);
        remarks_.push_back(
            fmt::format("amg: {} levels, operator complexity {:.2f}, {:.4g} MB", levels, all / first, all * 1e-6));
    }

    Comm* comm_;
    OwnComm own_comm_;
    HYPRE_BigInt begin_, end_;
    Vector r_, z_;
    HYPRE_IJMatrix ij_ = nullptr;
    HYPRE_ParCSRMatrix A_ = nullptr;
    HYPRE_Solver solver_ = nullptr;
    double stored_ = 0, cycle_bytes_ = 0;
    std::vector<std::string> remarks_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_amg(const CsrMatrix<double>& A, const Options& options) {
    return std::make_unique<Amg>(A, options);
}

bool amg_is_built() { return true; }

}  // namespace stretto
