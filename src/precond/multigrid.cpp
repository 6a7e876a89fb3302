// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../core/lapack.hpp"
#include "../sparse/forms/row_sums.hpp"
#include "scaled_spectrum.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "v_cycle.hpp"

namespace stretto {
namespace {

/// Threads are worth waking for so many nonzeros each.
constexpr std::size_t nonzeros_for_a_thread = 30000;

int useful_threads(std::size_t nonzeros, int most) {
    return static_cast<int>(
        std::clamp<std::size_t>(nonzeros / nonzeros_for_a_thread, 1, static_cast<std::size_t>(most)));
}

}  // namespace

Multigrid::Multigrid(const CsrMatrix<double>& A, std::vector<CoarseLevel> coarser, const MultigridOptions& options)
    : options_(options) {
    Comm& comm = A.comm();
    levels_.reserve(coarser.size() + 1);
    levels_.emplace_back().A = &A;
    auto size = set_smoother(0, {});
    for (auto& [P, partition, rows] : coarser) {
        const int threads = useful_threads(rows.columns.size(), A.threads());
        round(P);
        if (&rows != &coarser.back().A) round(rows);
        levels_.back().P.emplace(comm, partition, P);
        Level& level = levels_.emplace_back();
        level.A = &level.own.emplace(comm, partition, std::move(rows), threads);
        size = set_smoother(levels_.size() - 1, size);
    }
    solve_exactly(size);
}

void Multigrid::update(std::vector<LocalRows<double>> coarser) {
    auto size = set_smoother(0, {});
    for (std::size_t level = 1; level <= coarser.size(); ++level) {
        LocalRows<double>& rows = coarser[level - 1];
        if (level + 1 < levels_.size()) round(rows);
        levels_[level].own->update_values(rows);
        size = set_smoother(level, size);
    }
    if (coarser.size() + 1 == levels_.size()) solve_exactly(size);
}

/// Storages keep in single precision what fits there exactly.
void Multigrid::round(LocalRows<double>& rows) const {
    const auto fits = [](double value) {
        const double size = std::abs(value);
        return size == 0 || (size >= std::numeric_limits<float>::min() && size <= std::numeric_limits<float>::max());
    };
    if (!options_.single || !std::ranges::all_of(rows.values, fits)) return;
    for (double& value : rows.values) value = static_cast<float>(value);
}

/// Returns what the diagonal is beside which an entry is tiny, given that of the level above. What is nothing but
/// rounding errors, as the diagonal of a level of constants alone where A is singular, counts as it were without
/// neighbours.
std::vector<double> Multigrid::set_smoother(std::size_t number, const std::vector<double>& above) {
    constexpr double tiny = 1e-12, loose = 2.05, margin = 1.1;
    constexpr int steps = 6;
    Level& level = levels_[number];
    const auto& A = *level.A;
    const auto n = static_cast<std::size_t>(A.local_rows());
    auto size = number > 0 ? levels_[number - 1].P->diagonal_of_product(above) : std::vector<double>(n);
    level.inverse = A.diagonal();
    for (std::size_t i = 0; i < n; ++i) {
        if (number == 0)
            for (const double value : A.row(static_cast<Index>(i)).values) size[i] = std::max(size[i], std::abs(value));
        if (!(size[i] > 0)) size[i] = 1;
        double& d = level.inverse[i];
        d = std::abs(d) > tiny * size[i] ? 1 / d : 1 / size[i];
    }
    double end = largest_row_sum(A, level.inverse);
    if (!(end > 0)) end = 1;
    if (end > loose) {  // beyond what it is for M-matrices it may be far off
        double found = 0;
        for (const auto& value : ritz_values(A, level.inverse, steps, tiny * end))
            found = std::max(found, value.real());
        if (found > 0 && std::isfinite(found)) end = std::min(end, margin * found);
    }
    level.middle = (end + end / options_.ratio) / 2;
    level.radius = (end - end / options_.ratio) / 2;
    return size;
}

/// The pseudo-inverse of the coarsest matrix, scaled to a diagonal of ones: what it takes to zero stays away.
void Multigrid::solve_exactly(const std::vector<double>& size) {
    const CsrMatrix<double>& A = *levels_.back().A;
    const Comm& comm = A.comm();
    solved_rows_ = 0;
    if (A.rows() > options_.coarsest) return;
    const Global first = A.partition().first(comm.rank());
    const auto n = static_cast<std::size_t>(A.rows());
    std::vector<double> dense(n * n), scale(n);
    for (Index i = 0; i < A.local_rows(); ++i) {
        const auto row = static_cast<std::size_t>(first + i);
        scale[row] = 1 / std::sqrt(size[static_cast<std::size_t>(i)]);
        const auto [columns, values] = A.row(i);
        for (std::size_t k = 0; k < columns.size(); ++k)
            dense[row * n + static_cast<std::size_t>(A.global(columns[k]))] = values[k];
    }
    MPI_Allreduce(MPI_IN_PLACE, dense.data(), static_cast<int>(dense.size()), MPI_DOUBLE, MPI_SUM, comm.mpi());
    MPI_Allreduce(MPI_IN_PLACE, scale.data(), static_cast<int>(n), MPI_DOUBLE, MPI_SUM, comm.mpi());
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) dense[i * n + j] *= scale[i] * scale[j];
    // LAPACK takes rows for columns: Aᵀ = Σ σₖ uₖ vₖᵀ, hence A⁻¹ = Σ (1/σₖ) uₖ vₖᵀ.
    const auto own = static_cast<std::size_t>(A.local_rows());
    std::vector<double> sigma(n), u(n * n), vt(n * n), work(4 * n * n + 7 * n + 1), weights(n);
    std::vector<int> integers(8 * n);
    const int rows = static_cast<int>(n), length = static_cast<int>(work.size());
    int error = 0;
    dgesdd_("A", &rows, &rows, dense.data(), &rows, sigma.data(), u.data(), &rows, vt.data(), &rows, work.data(),
            &length, integers.data(), &error);
    if (error != 0) return;
    constexpr double vanishing = 1e-12;
    is_singular_ = std::ranges::any_of(sigma, [](double value) { return !(value > vanishing); });
    inverse_.resize(own * n);
    for (std::size_t i = 0; i < own; ++i) {
        const auto row = static_cast<std::size_t>(first) + i;
        for (std::size_t k = 0; k < n; ++k)
            weights[k] = sigma[k] > vanishing ? scale[row] * u[k * n + row] / sigma[k] : 0;
        for (std::size_t j = 0; j < n; ++j) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (std::size_t k = 0; k < n; ++k) sum += weights[k] * vt[j * n + k];
            inverse_[i * n + j] = sum * scale[j];
        }
    }
    solved_rows_ = A.rows();
    levels_.back().inverse = {};
}

Multigrid::Work Multigrid::vectors(int columns) const {
    Work work;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
        const auto size = static_cast<std::size_t>(levels_[level].A->local_rows()) * static_cast<std::size_t>(columns);
        const auto own = level == 0 ? 0 : size,
                   smoothed = is_solved(level) ? 0 : size;  // the finest has the caller's b and z
        work.push_back({Buffer<double>(own), Buffer<double>(own), Buffer<double>(smoothed), Buffer<double>(smoothed),
                        Buffer<double>(smoothed)});
    }
    return work;
}

/// The levels for v_cycle. A step takes rows of a product while they are in cache.
struct Multigrid::OnProcessor {
    const Multigrid& M;
    const Work& work;
    int m;

    struct Here {
        template <class X>
        X& at(X* p) const {
            return *p;
        }
    };
    /// Calls each(k, 1/d) for the values of rows.
    template <class Each>
    auto values_of(std::size_t level, Each each) const {
        return [&inverses = M.levels_[level].inverse, m = m, each](int, Index begin, Index end) {
            with_columns(m, [&](auto columns) {
                const auto width = static_cast<std::ptrdiff_t>(columns);
                const double* const inverse = inverses.data();
#pragma GCC ivdep
                for (std::ptrdiff_t i = begin; i < end; ++i)
                    for (std::ptrdiff_t k = i * width; k < (i + 1) * width; ++k) each(k, inverse[i]);
            });
        };
    }

    std::size_t count() const { return M.levels_.size(); }
    int degree() const { return M.degree(); }
    bool is_solved(std::size_t level) const { return M.is_solved(level); }
    void solve(MultiVector<double> b, MultiVector<double> z) const { M.solve_coarsest(b, z); }
    std::pair<double, double> interval(std::size_t level) const {
        return {M.levels_[level].middle, M.levels_[level].radius};
    }
    LevelVectors<double> vectors(std::size_t level) const {
        const auto& [b, z, residual, step, next] = work[level];
        const auto view = [&](const Buffer<double>& of) {
            return MultiVector<double>(of.data(), M.levels_[level].A->local_rows(), m);
        };
        return {view(b), view(z), view(residual), view(step), view(next)};
    }
    void first_step(std::size_t level, const FirstStep<double>& step) const {
        const auto rows =
            values_of(level, [=, here = Here{}](std::ptrdiff_t k, double inverse) { step(here, k, inverse); });
        parallel(M.levels_[level].A->threads(), [&](int t, int threads) {
            const Share share(M.levels_[level].inverse.size(), t, threads);
            rows(t, static_cast<Index>(share.begin), static_cast<Index>(share.end));
        });
    }
    void multiply(std::size_t level, MultiVector<double> s, MultiVector<double> next,
                  const SmootherStep<double>& step) const {
        const auto& A = *M.levels_[level].A;
        const auto rows = values_of(level, [=, here = Here{}, image = next.data()](std::ptrdiff_t k, double inverse) {
            step(here, k, image[k], inverse);
        });
        A.apply(s, next, RowWork(rows));
        A.comm().charge(beside_a_product(M.levels_[level], m));
    }
    void restrict_to(std::size_t level, MultiVector<double> r) const {
        M.levels_[level].P->restrict_to(vectors(level + 1).b, r, M.levels_[level].A->threads());
    }
    void interpolate(std::size_t level, MultiVector<double> s) const {
        M.levels_[level].P->interpolate(vectors(level + 1).z, s, M.levels_[level].A->threads());
    }
};

void Multigrid::apply(MultiVector<double> r, MultiVector<double> z) const {
    const int m = r.columns();
    count_application();
    v_cycle(OnProcessor{*this, work_.at(m, [&] { return vectors(m); }), m}, 0, r, z);
}

void Multigrid::solve_coarsest(MultiVector<double> b, MultiVector<double> z) const {
    const CsrMatrix<double>& A = *levels_.back().A;
    const auto m = static_cast<std::size_t>(b.columns()), n = static_cast<std::size_t>(solved_rows_);
    const auto first = static_cast<std::size_t>(A.partition().first(A.comm().rank()));
    auto& [own, all] =
        gathered_.at(b.columns(), [&] { return Gathered{std::vector<double>(n * m), std::vector<double>(n * m)}; });
    std::ranges::fill(own, 0.0);
    std::ranges::copy(b.values(), own.begin() + static_cast<std::ptrdiff_t>(first * m));
    A.comm().sum(own, all);
    A.comm().charge(bytes_of_coarsest(b.columns()));
    std::ranges::fill(z.values(), 0.0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.rows()); ++i)
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t j = 0; j < m; ++j) z.data()[i * m + j] += inverse_[i * n + k] * all[k * m + j];
}

/// Rows of r, z and D⁻¹ pass beside a product, which has the others in cache.
double Multigrid::beside_a_product(const Level& level, int columns) {
    return 8.0 * static_cast<double>(level.inverse.size()) * (4 * columns + 1);
}

double Multigrid::bytes_of_coarsest(int columns) const {
    const auto rows = static_cast<double>(solved_rows_ + 2 * levels_.back().A->local_rows());
    return solved_rows_ == 0 ? 0 : 8 * (static_cast<double>(inverse_.size()) + rows * columns);
}

double Multigrid::bytes(int columns) const {
    double bytes = bytes_of_coarsest(columns);
    for (std::size_t number = 0; number < levels_.size(); ++number) {
        if (is_solved(number)) continue;
        const Level& level = levels_[number];
        bytes += 8.0 * static_cast<double>(level.inverse.size()) * (2 * columns + 1) +
                 (level.P ? 2 * options_.degree : options_.degree - 1) *
                     (level.A->bytes(columns) + beside_a_product(level, columns));
        if (level.P) bytes += 2 * level.P->bytes(columns);
    }
    return bytes;
}

double Multigrid::stored() const {
    double bytes = 8.0 * static_cast<double>(inverse_.size());
    for (const Level& level : levels_) {
        bytes += 8.0 * static_cast<double>(level.inverse.size());
        if (level.own) bytes += level.own->forms().bytes(1);
        if (level.P) bytes += level.P->stored();
    }
    return bytes;
}

}  // namespace stretto
