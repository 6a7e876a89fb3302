// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stretto/core/random.hpp"

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

typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));

/// B −= u vᵀ, B rows × cols. Returns the sum of the squares of what is left.
double subtract_cross(double* B, const double* u, const double* v, std::size_t rows, std::size_t cols) {
    double sum = 0;
    Lanes sums{};
    std::size_t i = 0;
    for (; i + 8 <= rows; i += 8) {
        const Lanes left = *reinterpret_cast<const Lanes*>(u + i);
        for (std::size_t j = 0; j < cols; ++j) {
            double* const b = B + j * rows + i;
            const Lanes rest = *reinterpret_cast<const Lanes*>(b) - left * v[j];
            *reinterpret_cast<Lanes*>(b) = rest;
            sums += rest * rest;
        }
    }
    for (; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j) {
            double& b = B[j * rows + i];
            b -= u[i] * v[j];
            sum += b * b;
        }
    for (int lane = 0; lane < 8; ++lane) sum += sums[lane];
    return sum;
}

/// The place of the largest |value| of those that are open, or past the end where none is.
std::size_t largest(const std::vector<double>& values, const std::vector<double>& open) {
    const auto n = static_cast<Index>(values.size());
    double most = -1;
#pragma omp simd reduction(max : most)
    for (Index i = 0; i < n; ++i) most = std::max(most, open[i] > 0 ? std::abs(values[i]) : -1.0);
    Index place = n;
#pragma omp simd reduction(min : place)
    for (Index i = 0; i < n; ++i) place = std::min(place, open[i] > 0 && std::abs(values[i]) == most ? i : n);
    return static_cast<std::size_t>(place);
}

/// Makes the columns of A (rows × k) orthonormal, one after the other (Gram and Schmidt, modified); A was Q R, R upper
/// triangular in k columns of length `ld`. A column of which nothing is left becomes zero.
void orthonormalise(double* A, std::size_t rows, std::size_t k, double* R, std::size_t ld) {
    for (std::size_t j = 0; j < k; ++j) {
        double* const q = A + j * rows;
        const double norm = std::sqrt(sum_of_products(q, q, rows));
        R[j * ld + j] = norm;
        const double inverse = norm > 0 ? 1 / norm : 0;
#pragma omp simd
        for (std::size_t i = 0; i < rows; ++i) q[i] *= inverse;
        for (std::size_t c = j + 1; c < k; ++c) {
            const double part = R[c * ld + j] = sum_of_products(q, A + c * rows, rows);
            subtract(part, q, A + c * rows, rows);
        }
    }
}

void rotate(double cosine, double sine, double* a, double* b, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double left = a[i], right = b[i];
        a[i] = cosine * left - sine * right;
        b[i] = sine * left + cosine * right;
    }
}

/// to(:, l) = factors[l] · A C(:, columns[l]), A of k columns, in stretches that stay in the nearest cache.
void combine(const double* A, std::size_t rows, std::size_t k, const double* C, std::size_t ld,
             std::span<const int> columns, const double* factors, std::vector<double>& to) {
    constexpr std::size_t stretch = 512;
    to.assign(rows * columns.size(), 0.0);
    for (std::size_t begin = 0; begin < rows; begin += stretch) {
        const std::size_t count = std::min(stretch, rows - begin);
        for (std::size_t l = 0; l < columns.size(); ++l) {
            const double* const c = C + static_cast<std::size_t>(columns[l]) * ld;
            for (std::size_t j = 0; j < k; ++j)
                subtract(-factors[l] * c[j], A + j * rows + begin, &to[l * rows + begin], count);
        }
    }
}

}  // namespace

void CrossApproximation::clear(std::size_t rows, std::size_t cols) {
    UV_.rows = rows;
    UV_.cols = cols;
    UV_.rank = 0;
    UV_.U.clear();
    UV_.V.clear();
    squared_norm_ = 0;
    row_open_.assign(rows, 1);
    col_open_.assign(cols, 1);
    row_.resize(cols);
    col_.resize(rows);
}

void CrossApproximation::begin(const Fill& fill, std::span<const Index> rows, std::span<const Index> cols,
                               Pivoting pivoting) {
    fill_ = &fill;
    rows_ = rows;
    cols_ = cols;
    pivoting_ = pivoting;
    clear(rows.size(), cols.size());
}

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
        if (const std::size_t i = (from + k) % rows_.size(); row_open_[i] > 0) return i;
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
        row_open_[row] = 0;
        residual_row(row, row_.data());
        const std::size_t col = largest(row_, col_open_);
        if (col == cols_.size() || !(std::abs(row_[col]) > 0)) {
            if (++zeros == tries) return;
            row = (row + rows_.size() / tries + 1) % rows_.size();
            continue;
        }
        col_open_[col] = 0;
        residual_col(col, col_.data());
        if (add(epsilon, row_[col])) return;
        row = largest(col_, row_open_);
    }
}

void CrossApproximation::run_aca_plus(double epsilon, int most) {
    const std::size_t m = rows_.size(), n = cols_.size();
    auto &reference_col = reference_col_, &reference_row = reference_row_;
    reference_col.resize(m);
    reference_row.resize(n);
    std::size_t col = n / 2, row = 0;
    const auto choose_col = [&] {
        while (col < n && !(col_open_[col] > 0)) ++col;
        if (col == n) col = static_cast<std::size_t>(std::ranges::find(col_open_, 1) - col_open_.begin());
        if (col < n) residual_col(col, reference_col.data());
        return col < n;
    };
    const auto choose_row = [&] {  // where the reference column says least
        row = m;
        for (std::size_t i = 0; i < m; ++i)
            if (row_open_[i] > 0 && (row == m || std::abs(reference_col[i]) < std::abs(reference_col[row]))) row = i;
        if (row < m) residual_row(row, reference_row.data());
        return row < m;
    };
    if (!choose_col() || !choose_row()) return;
    while (UV_.rank < most) {
        std::size_t i = largest(reference_col, row_open_), j = largest(reference_row, col_open_);
        if (i == m || j == n) return;
        if (std::abs(reference_col[i]) > std::abs(reference_row[j])) {
            residual_row(i, row_.data());
            j = largest(row_, col_open_);
            if (!(std::abs(row_[j]) > 0)) return;
            residual_col(j, col_.data());
        } else {
            residual_col(j, col_.data());
            i = largest(col_, row_open_);
            if (!(std::abs(col_[i]) > 0)) return run_aca(epsilon, most, m / 2);  // both references are zero
            residual_row(i, row_.data());
        }
        row_open_[i] = col_open_[j] = 0;
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

double CrossApproximation::run_whole(std::span<double> block, std::size_t rows, std::size_t cols, double epsilon,
                                     int most) {
    clear(rows, cols);
    const double squared = sum_of_products(block.data(), block.data(), block.size());
    double left = squared;
    for (std::size_t i = rows / 2; left > epsilon * epsilon * squared && UV_.rank < most;) {
        for (std::size_t j = 0; j < cols; ++j) row_[j] = block[j * rows + i];
        std::size_t j = largest(row_, col_open_);
        if (j == cols || !(std::abs(row_[j]) > 0)) {  // a zero row says nothing of the others
            const auto most_of_all = std::ranges::max_element(block, {}, [](double v) { return std::abs(v); });
            const auto at = static_cast<std::size_t>(most_of_all - block.begin());
            i = at % rows;
            j = at / rows;
            for (std::size_t c = 0; c < cols; ++c) row_[c] = block[c * rows + i];
            if (!(std::abs(row_[j]) > 0)) return left > 0 ? NAN : 0;
        }
        row_open_[i] = col_open_[j] = 0;
        std::copy_n(&block[j * rows], rows, col_.begin());
        const double inverse = 1 / row_[j];
        for (double& value : row_) value *= inverse;
        left = subtract_cross(block.data(), col_.data(), row_.data(), rows, cols);
        UV_.U.insert(UV_.U.end(), col_.begin(), col_.end());
        UV_.V.insert(UV_.V.end(), row_.begin(), row_.end());
        ++UV_.rank;
        i = largest(col_, row_open_);
        if (i == rows) break;
    }
    return squared > 0 ? std::sqrt(left / squared) : squared;
}

const Factors& Recompression::operator()(const Factors& from, double epsilon, int most) {
    const std::size_t m = from.rows, n = from.cols, k = static_cast<std::size_t>(from.rank),
                      ld = round_up(k, std::size_t{8});
    result_.rows = m;
    result_.cols = n;
    Q_.assign(from.U.begin(), from.U.end());
    P_.assign(from.V.begin(), from.V.end());
    for (auto* matrix : {&R_, &S_, &M_, &J_}) matrix->assign(k * ld, 0.0);
    orthonormalise(Q_.data(), m, k, R_.data(), ld);
    orthonormalise(P_.data(), n, k, S_.data(), ld);
    for (std::size_t l = 0; l < k; ++l)  // M = R Sᵀ
        for (std::size_t j = 0; j <= l; ++j) subtract(-S_[l * ld + j], &R_[l * ld], &M_[j * ld], ld);
    for (std::size_t j = 0; j < k; ++j) J_[j * ld + j] = 1;
    squares_.resize(k);
    const auto measure = [&] {
        double sum = 0;
        for (std::size_t j = 0; j < k; ++j) sum += squares_[j] = sum_of_products(&M_[j * ld], &M_[j * ld], ld);
        return sum;
    };
    const double squared = measure(), unseen = 1e-2 * epsilon * epsilon * squared;
    // Cosines below this change the rank hardly ever, and the error never.
    constexpr double nearly_orthogonal = 0.1;
    constexpr int sweeps = 10;
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < sweeps; ++sweep) {
        rotated = false;
        for (std::size_t p = 0; p + 1 < k; ++p)
            for (std::size_t q = p + 1; q < k; ++q) {
                const double bound = squares_[p] * squares_[q];
                if (!(bound > unseen * unseen)) continue;
                const double product = sum_of_products(&M_[p * ld], &M_[q * ld], ld);
                if (!(product * product > nearly_orthogonal * nearly_orthogonal * bound)) continue;
                const double zeta = (squares_[q] - squares_[p]) / (2 * product),
                             tangent = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)),
                             cosine = 1 / std::sqrt(1 + tangent * tangent);
                rotate(cosine, cosine * tangent, &M_[p * ld], &M_[q * ld], ld);
                rotate(cosine, cosine * tangent, &J_[p * ld], &J_[q * ld], ld);
                squares_[p] -= tangent * product;
                squares_[q] += tangent * product;
                rotated = true;
            }
    }
    norm_ = std::sqrt(squared);
    (void)measure();
    order_.resize(k);
    std::iota(order_.begin(), order_.end(), 0);
    const auto square = [&](int j) { return squares_[static_cast<std::size_t>(j)]; };
    std::ranges::sort(order_, std::greater<>(), square);
    std::size_t rank = k;
    for (double dropped = 0; rank > 0; --rank) {
        dropped += square(order_[rank - 1]);
        if (rank <= static_cast<std::size_t>(most) && !(dropped <= epsilon * epsilon * squared)) break;
    }
    result_.rank = static_cast<int>(rank);
    order_.resize(rank);
    squares_of_U_ = 0;
    R_.resize(2 * rank);
    for (std::size_t l = 0; l < rank; ++l) {
        const double sigma = std::sqrt(square(order_[l]));
        R_[l] = 1 / std::sqrt(sigma);
        R_[rank + l] = std::sqrt(sigma);
        squares_of_U_ += sigma;
    }
    combine(Q_.data(), m, k, M_.data(), ld, order_, R_.data(), result_.U);
    combine(P_.data(), n, k, J_.data(), ld, order_, R_.data() + rank, result_.V);
    return result_;
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
    std::vector<double> block(is.size() * js.size()), by_row(is.size()), U(is.size());
    fill(at_rows, at_cols, block.data());
    SampledError result;
    for (const double value : block) result.norm += value * value;
    for (std::size_t l = 0; l < static_cast<std::size_t>(factors.rank); ++l) {
        for (std::size_t a = 0; a < is.size(); ++a) U[a] = factors.U[l * rows.size() + is[a]];
        for (std::size_t b = 0; b < js.size(); ++b)
            subtract(factors.V[l * cols.size() + js[b]], U.data(), &block[b * is.size()], is.size());
    }
    for (std::size_t b = 0; b < js.size(); ++b)
        for (std::size_t a = 0; a < is.size(); ++a) by_row[a] += block[b * is.size() + a] * block[b * is.size() + a];
    for (const double squared : by_row) result.error += squared;
    result.worst_row = is[static_cast<std::size_t>(std::ranges::max_element(by_row) - by_row.begin())];
    const double whole = static_cast<double>(rows.size()) * static_cast<double>(cols.size()) /
                         static_cast<double>(is.size() * js.size());
    result.error = std::sqrt(whole * result.error);
    result.norm = std::sqrt(whole * result.norm);
    return result;
}

}  // namespace stretto
