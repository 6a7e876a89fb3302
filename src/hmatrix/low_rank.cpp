// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/low_rank.hpp"

#include <algorithm>
#include <cmath>

#include "stretto/core/random.hpp"

extern "C" {
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* size,
             int* info);
void dormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, const double* a,
             const int* lda, const double* tau, double* c, const int* ldc, double* work, const int* size, int* info);
void dgesvd_(const char* jobu, const char* jobvt, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* vt, const int* ldvt, double* work, const int* size, int* info);
}

namespace stretto {
namespace {

double sum_of_products(const double* a, const double* b, std::size_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

void subtract(double factor, const double* a, double* from, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) from[i] -= factor * a[i];
}

/// The largest magnitude among those not used.
std::size_t largest(const std::vector<double>& values, const std::vector<char>& used) {
    std::size_t best = values.size();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!used[i] && (best == values.size() || std::abs(values[i]) > std::abs(values[best]))) best = i;
    return best;
}

/// A is rows × k. Leaves the Householder vectors in it, and R, upper triangular, in `R`, min(rows, k) × k.
struct HouseholderQr {
    HouseholderQr(std::vector<double>& A_, std::size_t rows_, int k_)
        : A(A_.data()), rows(static_cast<int>(rows_)), k(k_), r(std::min(rows, k)), tau(static_cast<std::size_t>(r)) {
        std::vector<double> work(static_cast<std::size_t>(work_size()));
        const int size = work_size();
        int info = 0;
        dgeqrf_(&rows, &k, A, &rows, tau.data(), work.data(), &size, &info);
        R.assign(static_cast<std::size_t>(r) * static_cast<std::size_t>(k), 0.0);
        for (int j = 0; j < k; ++j)
            for (int i = 0; i <= std::min(j, r - 1); ++i) R[at(i, j, r)] = A[at(i, j, rows)];
    }
    /// Q times the r × columns values in C.
    std::vector<double> times(const std::vector<double>& C, int columns) const {
        std::vector<double> result(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 0.0),
            work(static_cast<std::size_t>(work_size()));
        for (int j = 0; j < columns; ++j)
            for (int i = 0; i < r; ++i) result[at(i, j, rows)] = C[at(i, j, r)];
        const int size = work_size();
        int info = 0;
        dormqr_("L", "N", &rows, &columns, &r, A, &rows, tau.data(), result.data(), &rows, work.data(), &size, &info);
        return result;
    }
    static std::size_t at(int i, int j, int ld) {
        return static_cast<std::size_t>(j) * static_cast<std::size_t>(ld) + static_cast<std::size_t>(i);
    }
    int work_size() const { return 64 * k + 64 * 65; }  // what LAPACK's blocked forms take

    double* A;
    int rows, k, r;
    std::vector<double> tau, R;
};

}  // namespace

CrossApproximation::CrossApproximation(const Fill& fill, std::span<const Index> rows, std::span<const Index> cols,
                                       Pivoting pivoting)
    : fill_(&fill),
      rows_(rows),
      cols_(cols),
      pivoting_(pivoting),
      UV_{rows.size(), cols.size(), 0, {}, {}},
      row_used_(rows.size()),
      col_used_(cols.size()),
      row_(cols.size()),
      col_(rows.size()) {}

void CrossApproximation::residual_row(std::size_t i, double* row) const {
    (*fill_)(rows_.subspan(i, 1), cols_, row);
    for (std::size_t l = 0; l < static_cast<std::size_t>(UV_.rank); ++l)
        subtract(UV_.U[l * rows_.size() + i], &UV_.V[l * cols_.size()], row, cols_.size());
}

void CrossApproximation::residual_col(std::size_t j, double* col) const {
    (*fill_)(rows_, cols_.subspan(j, 1), col);
    for (std::size_t l = 0; l < static_cast<std::size_t>(UV_.rank); ++l)
        subtract(UV_.V[l * cols_.size() + j], &UV_.U[l * rows_.size()], col, rows_.size());
}

/// Adds the cross col_ row_ᵀ / pivot; true: it was small.
bool CrossApproximation::add(double epsilon, double pivot) {
    const std::size_t m = rows_.size(), n = cols_.size(), k = static_cast<std::size_t>(UV_.rank);
    for (double& value : row_) value /= pivot;
    const double uu = sum_of_products(col_.data(), col_.data(), m), vv = sum_of_products(row_.data(), row_.data(), n);
    for (std::size_t l = 0; l < k; ++l)
        squared_norm_ +=
            2 * sum_of_products(&UV_.U[l * m], col_.data(), m) * sum_of_products(&UV_.V[l * n], row_.data(), n);
    squared_norm_ += uu * vv;
    UV_.U.insert(UV_.U.end(), col_.begin(), col_.end());
    UV_.V.insert(UV_.V.end(), row_.begin(), row_.end());
    ++UV_.rank;
    return uu * vv <= epsilon * epsilon * squared_norm_;
}

std::size_t CrossApproximation::unused_row(std::size_t from) const {
    for (std::size_t k = 0; k < rows_.size(); ++k)
        if (const std::size_t i = (from + k) % rows_.size(); !row_used_[i]) return i;
    return rows_.size();
}

void CrossApproximation::run(double epsilon, int most, std::size_t first) {
    if (pivoting_ == Pivoting::aca || first != automatic)
        run_aca(epsilon, most, first == automatic ? rows_.size() / 2 : first);
    else
        run_aca_plus(epsilon, most);
}

void CrossApproximation::run_aca(double epsilon, int most, std::size_t row) {
    // A zero row says nothing of the others: so many of them are tried, far from each other.
    constexpr int tries = 8;
    for (int zeros = 0; UV_.rank < most && (row = unused_row(row)) < rows_.size();) {
        row_used_[row] = 1;
        residual_row(row, row_.data());
        const std::size_t col = largest(row_, col_used_);
        if (col == cols_.size() || !(std::abs(row_[col]) > 0)) {
            if (++zeros == tries) return;
            row = (row + rows_.size() / tries + 1) % rows_.size();
            continue;
        }
        col_used_[col] = 1;
        residual_col(col, col_.data());
        if (add(epsilon, row_[col])) return;
        row = largest(col_, row_used_);
    }
}

void CrossApproximation::run_aca_plus(double epsilon, int most) {
    const std::size_t m = rows_.size(), n = cols_.size();
    std::vector<double> reference_col(m), reference_row(n);
    std::size_t col = n / 2, row = 0;
    const auto choose_col = [&] {
        while (col < n && col_used_[col]) ++col;
        if (col == n) col = static_cast<std::size_t>(std::ranges::find(col_used_, 0) - col_used_.begin());
        if (col < n) residual_col(col, reference_col.data());
        return col < n;
    };
    const auto choose_row = [&] {  // where the reference column says least
        row = m;
        for (std::size_t i = 0; i < m; ++i)
            if (!row_used_[i] && (row == m || std::abs(reference_col[i]) < std::abs(reference_col[row]))) row = i;
        if (row < m) residual_row(row, reference_row.data());
        return row < m;
    };
    if (!choose_col() || !choose_row()) return;
    while (UV_.rank < most) {
        std::size_t i = largest(reference_col, row_used_), j = largest(reference_row, col_used_);
        if (i == m || j == n) return;
        if (std::abs(reference_col[i]) > std::abs(reference_row[j])) {
            residual_row(i, row_.data());
            j = largest(row_, col_used_);
            if (!(std::abs(row_[j]) > 0)) return;
            residual_col(j, col_.data());
        } else {
            residual_col(j, col_.data());
            i = largest(col_, row_used_);
            if (!(std::abs(col_[i]) > 0)) return run_aca(epsilon, most, m / 2);  // both references are zero
            residual_row(i, row_.data());
        }
        row_used_[i] = col_used_[j] = 1;
        if (add(epsilon, row_[j])) return;
        const std::size_t last = static_cast<std::size_t>(UV_.rank) - 1;
        if (j == col) {
            if (!choose_col()) return;
        } else {
            subtract(UV_.V[last * n + col], &UV_.U[last * m], reference_col.data(), m);
        }
        if (i == row) {
            if (!choose_row()) return;
        } else {
            subtract(UV_.U[last * m + row], &UV_.V[last * n], reference_row.data(), n);
        }
    }
}

double recompress(Factors& factors, double epsilon, int most) {
    if (factors.rank == 0) return 0;
    const HouseholderQr u(factors.U, factors.rows, factors.rank), v(factors.V, factors.cols, factors.rank);
    const auto at = HouseholderQr::at;
    const int m = u.r, n = v.r, k = std::min(m, n), size = 64 * (m + n) + 64;
    const auto area = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
    std::vector<double> M(area(m, n), 0.0), sigma(area(k, 1)), X(area(m, k)), Yt(area(k, n)), work(area(size, 1));
    for (int l = 0; l < factors.rank; ++l)
        for (int j = 0; j <= std::min(l, n - 1); ++j)
            for (int i = 0; i <= std::min(l, m - 1); ++i) M[at(i, j, m)] += u.R[at(i, l, m)] * v.R[at(j, l, n)];
    int info = 0;
    dgesvd_("S", "S", &m, &n, M.data(), &m, sigma.data(), X.data(), &m, Yt.data(), &k, work.data(), &size, &info);
    const double squared = sum_of_products(sigma.data(), sigma.data(), sigma.size());
    int rank = k;
    for (double left = 0; rank > 0; --rank) {
        left += sigma[at(rank - 1, 0, 1)] * sigma[at(rank - 1, 0, 1)];
        if (rank <= most && left > epsilon * epsilon * squared) break;
    }
    std::vector<double> left(area(m, rank)), right(area(n, rank));
    for (int l = 0; l < rank; ++l) {
        const double root = std::sqrt(sigma[at(l, 0, 1)]);
        for (int i = 0; i < m; ++i) left[at(i, l, m)] = root * X[at(i, l, m)];
        for (int j = 0; j < n; ++j) right[at(j, l, n)] = root * Yt[at(l, j, k)];
    }
    auto U = u.times(left, rank), V = v.times(right, rank);
    factors.U = std::move(U);
    factors.V = std::move(V);
    factors.rank = rank;
    return std::sqrt(squared);
}

SampledError sampled_error(const Fill& fill, std::span<const Index> rows, std::span<const Index> cols,
                           const Factors& factors, std::size_t sample, std::uint64_t seed) {
    const auto choose = [&](std::size_t size, std::uint64_t stream) {
        std::vector<std::size_t> chosen;
        const std::size_t count = std::min(size, sample);
        for (std::size_t k = 0; k < count; ++k) {  // one from each of `count` stretches
            const std::size_t begin = size * k / count, end = size * (k + 1) / count;
            chosen.push_back(begin + splitmix64(seed ^ splitmix64(stream + k)) % (end - begin));
        }
        return chosen;
    };
    const auto is = choose(rows.size(), 0), js = choose(cols.size(), 1000);
    std::vector<Index> at_rows, at_cols;
    for (const std::size_t i : is) at_rows.push_back(rows[i]);
    for (const std::size_t j : js) at_cols.push_back(cols[j]);
    std::vector<double> block(is.size() * js.size()), by_row(is.size());
    fill(at_rows, at_cols, block.data());
    SampledError result;
    for (std::size_t b = 0; b < js.size(); ++b)
        for (std::size_t a = 0; a < is.size(); ++a) {
            const double value = block[b * is.size() + a];
            double difference = value;
            for (std::size_t l = 0; l < static_cast<std::size_t>(factors.rank); ++l)
                difference -= factors.U[l * rows.size() + is[a]] * factors.V[l * cols.size() + js[b]];
            result.norm += value * value;
            by_row[a] += difference * difference;
        }
    for (const double squared : by_row) result.error += squared;
    result.worst_row = is[static_cast<std::size_t>(std::ranges::max_element(by_row) - by_row.begin())];
    const double whole = static_cast<double>(rows.size()) * static_cast<double>(cols.size()) /
                         static_cast<double>(is.size() * js.size());
    result.error = std::sqrt(whole * result.error);
    result.norm = std::sqrt(whole * result.norm);
    return result;
}

}  // namespace stretto
