// SPDX-License-Identifier: BSD-3-Clause
#include "boomer_amg.hpp"

#include <_hypre_parcsr_ls.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../core/lapack.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

constexpr std::size_t most_eliminated = 9;  // rows of the coarsest level in hypre's own cycle: its own limit

HYPRE_BigInt first_row(const CsrMatrix<double>& A) {
    agree(A.comm(), [&] {
        if (A.rows() > std::numeric_limits<HYPRE_BigInt>::max())
            throw InputError(fmt::format("amg: {} rows are more than this hypre can number", A.rows()));
    });
    HYPRE_Init();
    return static_cast<HYPRE_BigInt>(A.partition().first(A.comm().rank()));
}

/// The rows of this rank, with global columns.
LocalRows<double> rows_of(hypre_ParCSRMatrix* matrix) {
    const auto* const diag = hypre_ParCSRMatrixDiag(matrix);
    const auto* const offd = hypre_ParCSRMatrixOffd(matrix);
    const HYPRE_BigInt first = hypre_ParCSRMatrixFirstColDiag(matrix);
    const HYPRE_Int count = hypre_CSRMatrixNumRows(diag);
    const auto nonzeros = static_cast<std::size_t>(hypre_CSRMatrixNumNonzeros(diag) + hypre_CSRMatrixNumNonzeros(offd));
    LocalRows<double> rows;
    rows.start.reserve(static_cast<std::size_t>(count) + 1);
    rows.columns.reserve(nonzeros);
    rows.values.reserve(nonzeros);
    std::vector<std::pair<Global, double>> row;
    for (HYPRE_Int i = 0; i < count; ++i) {
        row.clear();
        const auto take = [&](const hypre_CSRMatrix* part, auto&& number) {
            if (hypre_CSRMatrixNumNonzeros(part) == 0) return;
            for (HYPRE_Int k = hypre_CSRMatrixI(part)[i]; k < hypre_CSRMatrixI(part)[i + 1]; ++k)
                row.emplace_back(number(hypre_CSRMatrixJ(part)[k]), hypre_CSRMatrixData(part)[k]);
        };
        take(diag, [&](HYPRE_Int column) { return Global{first} + column; });
        take(offd, [&](HYPRE_Int column) { return Global{hypre_ParCSRMatrixColMapOffd(matrix)[column]}; });
        std::ranges::sort(row, {}, &std::pair<Global, double>::first);
        for (const auto& [column, value] : row) {
            rows.columns.push_back(column);
            rows.values.push_back(value);
        }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    return rows;
}

}  // namespace

HypreVector::HypreVector(MPI_Comm comm, HYPRE_BigInt begin, HYPRE_BigInt end) {
    HYPRE_IJVectorCreate(comm, begin, end - 1, &ij_);
    HYPRE_IJVectorSetObjectType(ij_, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(ij_);
    HYPRE_IJVectorAssemble(ij_);
    void* object = nullptr;
    HYPRE_IJVectorGetObject(ij_, &object);
    vector_ = static_cast<HYPRE_ParVector>(object);
}

double* HypreVector::data() const { return hypre_VectorData(hypre_ParVectorLocalVector(vector_)); }

HypreMatrix::HypreMatrix(const CsrMatrix<double>& A, MPI_Comm comm) {
    const auto begin = static_cast<HYPRE_BigInt>(A.partition().first(A.comm().rank()));
    const auto rows = static_cast<HYPRE_BigInt>(A.rows());
    HYPRE_BigInt here[] = {begin, begin + A.local_rows()};
    HYPRE_Int owned = 0, elsewhere = 0;
    for (Index i = 0; i < A.local_rows(); ++i) {
        const auto columns = A.row(i).columns;
        const auto own = std::ranges::lower_bound(columns, A.local_rows());
        const bool missing = !std::binary_search(columns.begin(), own, i);
        owned += static_cast<HYPRE_Int>(own - columns.begin()) + static_cast<HYPRE_Int>(missing);
        elsewhere += static_cast<HYPRE_Int>(columns.end() - own);
    }
    matrix_ = hypre_ParCSRMatrixCreate(comm, rows, rows, here, here, A.halo_rows(), owned, elsewhere);
    hypre_ParCSRMatrixInitialize(matrix_);
    std::ranges::transform(A.halo().rows(), hypre_ParCSRMatrixColMapOffd(matrix_),
                           [](Global row) { return static_cast<HYPRE_BigInt>(row); });
    for (Index i = 0; i < A.local_rows(); ++i) set_row(i, A);
    hypre_ParCSRMatrixSetNumNonzeros(matrix_);
    hypre_ParCSRMatrixSetDNumNonzeros(matrix_);
    replaced_ = all_sum(A.comm(), replaced_);
}

/// Rows in turn. hypre wants the diagonal first, and smoothers divide by it.
void HypreMatrix::set_row(Index i, const CsrMatrix<double>& A) {
    auto* const diag = hypre_ParCSRMatrixDiag(matrix_);
    auto* const offd = hypre_ParCSRMatrixOffd(matrix_);
    const auto [columns, values] = A.row(i);
    HYPRE_Int at = hypre_CSRMatrixI(diag)[i], there = hypre_CSRMatrixI(offd)[i];
    const HYPRE_Int first = at++;
    double largest = 0, diagonal = 0;
    for (std::size_t k = 0; k < columns.size(); ++k) {
        largest = std::max(largest, std::abs(values[k]));
        if (columns[k] == i) {
            diagonal = values[k];
        } else if (columns[k] < A.local_rows()) {
            hypre_CSRMatrixJ(diag)[at] = columns[k];
            hypre_CSRMatrixData(diag)[at++] = values[k];
        } else {
            hypre_CSRMatrixJ(offd)[there] = columns[k] - A.local_rows();
            hypre_CSRMatrixData(offd)[there++] = values[k];
        }
    }
    constexpr double tiny = 1e-12;
    if (std::abs(diagonal) <= tiny * largest) {
        ++replaced_;
        diagonal = largest > 0 ? largest : 1;
    }
    hypre_CSRMatrixJ(diag)[first] = i;
    hypre_CSRMatrixData(diag)[first] = diagonal;
    hypre_CSRMatrixI(diag)[i + 1] = at;
    hypre_CSRMatrixI(offd)[i + 1] = there;
}

BoomerAmg::BoomerAmg(const CsrMatrix<double>& A, const BoomerAmgOptions& options)
    : comm_(&A.comm()),
      own_comm_(A.comm()),
      begin_(first_row(A)),
      end_(begin_ + A.local_rows()),
      r_(own_comm_.get(), begin_, end_),
      z_(own_comm_.get(), begin_, end_),
      A_(A, own_comm_.get()) {
    if (A_.replaced() > 0)
        remarks_.push_back(
            fmt::format("amg: {} zero or tiny entries of the diagonal became the largest of their rows; multigrid "
                        "is not made for them",
                        A_.replaced()));
    set_up(options);
    count_levels(options.sweeps);
}

BoomerAmg::~BoomerAmg() { HYPRE_BoomerAMGDestroy(solver_); }

void BoomerAmg::set_up(const BoomerAmgOptions& options) {
    HYPRE_BoomerAMGCreate(&solver_);
    HYPRE_BoomerAMGSetTol(solver_, 0);
    HYPRE_BoomerAMGSetMaxIter(solver_, 1);
    HYPRE_BoomerAMGSetPrintLevel(solver_, 0);
    HYPRE_BoomerAMGSetCoarsenType(solver_, options.coarsen);
    HYPRE_BoomerAMGSetInterpType(solver_, options.interpolate);
    HYPRE_BoomerAMGSetPMaxElmts(solver_, options.most_per_row);
    HYPRE_BoomerAMGSetStrongThreshold(solver_, options.strong);
    HYPRE_BoomerAMGSetAggNumLevels(solver_, options.aggressive);
    HYPRE_BoomerAMGSetNumFunctions(solver_, options.functions);
    HYPRE_BoomerAMGSetMaxCoarseSize(solver_, static_cast<HYPRE_Int>(options.most_coarsest));
    HYPRE_BoomerAMGSetRelaxType(solver_, options.relax);
    HYPRE_BoomerAMGSetRelaxOrder(solver_, options.coarse_first);
    HYPRE_BoomerAMGSetNumSweeps(solver_, options.sweeps);
    if (options.relax == jacobi) {  // only the levels are wanted
        constexpr int coarsest = 3;
        HYPRE_BoomerAMGSetCycleRelaxType(solver_, jacobi, coarsest);
    }
    HYPRE_BoomerAMGSetup(solver_, A_.get(), r_.get(), z_.get());
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
void BoomerAmg::regularise_coarsest() {
    auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
    const int levels = hypre_ParAMGDataNumLevels(amg);
    if (levels < 2) return;
    const auto scale = coarsest_scale(levels - 1);
    if (scale.empty()) return;
    double* const A = hypre_ParAMGDataAMat(amg);  // dense, on ranks with rows of it; null: nothing is eliminated
    if (any_of(*comm_, A && regularise(A, scale)))
        remarks_.emplace_back("amg: the coarsest level is singular, and solved without what it takes to zero");
}

/// Collective. Of each coarsest row the root of its diagonal as it were without neighbours on the level before:
/// what rounding errors are measured by where the diagonal itself is one, as that of a single row is.
std::vector<double> BoomerAmg::coarsest_scale(int coarsest) const {
    const auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
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
bool BoomerAmg::regularise(double* A, const std::vector<double>& scale) {
    const std::size_t n = scale.size();
    std::vector<double> scaled(n * n), sigma(n), u(n * n), v(n * n), work(8 * n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) scaled[i * n + j] = A[i * n + j] / (scale[i] * scale[j]);
    const int rows = static_cast<int>(n), size = static_cast<int>(work.size());
    int error = 0;
    dgesvd_("A", "A", &rows, &rows, scaled.data(), &rows, sigma.data(), u.data(), &rows, v.data(), &rows, work.data(),
            &size, &error);
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

void BoomerAmg::apply(MultiVector<double> r, MultiVector<double> z) const {
    comm_->charge(bytes(r.columns()));
    const auto n = static_cast<std::size_t>(r.rows()), m = static_cast<std::size_t>(r.columns());
    for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t i = 0; i < n; ++i) r_.data()[i] = r.data()[i * m + j];
        std::fill_n(z_.data(), n, 0.0);
        HYPRE_BoomerAMGSolve(solver_, A_.get(), r_.get(), z_.get());
        HYPRE_ClearAllErrors();  // that one cycle does not converge is no error here
        for (std::size_t i = 0; i < n; ++i) z.data()[i * m + j] = z_.data()[i];
    }
}

void BoomerAmg::apply_transpose(MultiVector<double>, MultiVector<double>) const {
    throw InputError("amg has no transpose");
}

std::vector<CoarseLevel> BoomerAmg::coarse_levels() const {
    auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
    std::vector<CoarseLevel> levels;
    for (int level = 1; level < hypre_ParAMGDataNumLevels(amg); ++level) {
        auto A = rows_of(hypre_ParAMGDataAArray(amg)[level]);
        std::vector<Global> first{0};  // the first row of each rank, and after the last
        for (const Index each : all_gather(*comm_, A.rows())) first.push_back(first.back() + each);
        if (first.back() == 0) break;
        levels.push_back({rows_of(hypre_ParAMGDataPArray(amg)[level - 1]), Partition(first), std::move(A)});
    }
    return levels;
}

std::vector<LocalRows<double>> BoomerAmg::products(const CsrMatrix<double>& A) const {
    auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
    const HypreMatrix finest(A, own_comm_.get());
    std::vector<LocalRows<double>> rows;
    hypre_ParCSRMatrix* above = finest.get();
    for (int level = 1; level < hypre_ParAMGDataNumLevels(amg); ++level) {
        auto* const P = hypre_ParAMGDataPArray(amg)[level - 1];
        auto* const product = hypre_ParCSRMatrixRAP(P, above, P);
        if (level > 1) hypre_ParCSRMatrixDestroy(above);
        rows.push_back(rows_of(product));
        above = product;
    }
    if (above != finest.get()) hypre_ParCSRMatrixDestroy(above);
    return rows;
}

/// A cycle reads the matrix of a level twice for each smoothing, before and after (a symmetric sweep goes forth and
/// back), and once for the residual; the transfers between levels are about one reading more.
void BoomerAmg::count_levels(double sweeps) {
    constexpr double entry = sizeof(double) + sizeof(HYPRE_Int);
    auto* const amg = reinterpret_cast<hypre_ParAMGData*>(solver_);
    sizes_.levels = hypre_ParAMGDataNumLevels(amg);
    double all_rows = 0, finest_rows = 0, finest = 0;
    for (int level = 0; level < sizes_.levels; ++level) {
        auto* const matrix = hypre_ParAMGDataAArray(amg)[level];
        const double nonzeros = hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixDiag(matrix)) +
                                hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixOffd(matrix));
        const double rows = hypre_CSRMatrixNumRows(hypre_ParCSRMatrixDiag(matrix));
        if (level == 0) std::tie(finest_rows, finest) = std::pair(rows, entry * nonzeros);
        all_rows += rows;
        stored_ += entry * nonzeros;
        cycle_bytes_ += (4 * sweeps + 2) * (entry * nonzeros + 24 * rows);
    }
    const auto share = [&](double all, double of) {
        const double first = all_sum(*comm_, of);
        return first > 0 ? all_sum(*comm_, all) / first : 1;
    };
    sizes_.grid_complexity = share(all_rows, finest_rows);
    sizes_.operator_complexity = share(stored_, finest);
}

std::string BoomerAmg::complexities(double bytes) const {
    return fmt::format(
        "amg: {}, grid complexity {:.2f}, operator complexity {:.2f}, {:.4g} MB",
        sizes_.levels == 1 ? "one level, as none coarser was found" : fmt::format("{} levels", sizes_.levels),
        sizes_.grid_complexity, sizes_.operator_complexity, bytes * 1e-6);
}

}  // namespace stretto
