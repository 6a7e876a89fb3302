// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stretto/core/random.hpp"

namespace stretto {
namespace {

typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef double Four __attribute__((vector_size(32)));

double sum_of(const Lanes& v) {
    const Four sums = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

const Lanes& lanes(const double* from) { return *reinterpret_cast<const Lanes*>(from); }

double sum_of_products(const double* a, const double* b, std::size_t n) {
    constexpr std::size_t chains = 4;  // sums that do not wait for each other
    Lanes sums[chains] = {};
    std::size_t i = 0;
    for (; i + 8 * chains <= n; i += 8 * chains)
        for (std::size_t c = 0; c < chains; ++c) sums[c] += lanes(a + i + 8 * c) * lanes(b + i + 8 * c);
    for (; i + 8 <= n; i += 8) sums[0] += lanes(a + i) * lanes(b + i);
    double sum = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

constexpr std::size_t together = 4;  // columns that one pass over another takes

/// products[l] = A(:, l)ᵀ v for the k columns of A.
void multiply_transposed(const double* A, std::size_t rows, std::size_t k, const double* v, double* products) {
    std::size_t l = 0;
    for (; l + together <= k; l += together, A += together * rows) {
        Lanes sums[together] = {};
        std::size_t i = 0;
        for (; i + 8 <= rows; i += 8)
            for (std::size_t c = 0; c < together; ++c) sums[c] += lanes(A + c * rows + i) * lanes(v + i);
        for (std::size_t c = 0; c < together; ++c) {
            products[l + c] = sum_of(sums[c]);
            for (std::size_t rest = i; rest < rows; ++rest) products[l + c] += A[c * rows + rest] * v[rest];
        }
    }
    for (; l < k; ++l, A += rows) products[l] = sum_of_products(A, v, rows);
}

template <std::size_t count>
void subtract_some(const double* A, std::size_t ld, const double* factors, std::size_t step, double* from,
                   std::size_t n) {
    double f[count];
    for (std::size_t c = 0; c < count; ++c) f[c] = factors[c * step];
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        double value = from[i];
        for (std::size_t c = 0; c < count; ++c) value -= f[c] * A[c * ld + i];
        from[i] = value;
    }
}

/// from −= Σ factors[l · step] A(:, l) over k columns, of n rows, which lie `ld` apart.
void subtract(const double* A, std::size_t ld, std::size_t k, const double* factors, std::size_t step, double* from,
              std::size_t n) {
    std::size_t l = 0;
    for (; l + together <= k; l += together) subtract_some<together>(A + l * ld, ld, factors + l * step, step, from, n);
    for (; l < k; ++l) subtract_some<1>(A + l * ld, ld, factors + l * step, step, from, n);
}
void subtract(double factor, const double* a, double* from, std::size_t n) { subtract(a, n, 1, &factor, 1, from, n); }

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

/// The place of the largest |value| of those that are open; past the end where all of them are zero.
std::size_t largest(const std::vector<double>& values, const std::vector<double>& open) {
    typedef long long Places __attribute__((vector_size(64)));
    const std::size_t n = values.size();
    Lanes most{};
    Places at{}, here{0, 1, 2, 3, 4, 5, 6, 7};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8, here += 8) {
        Lanes value = lanes(&values[i]) * lanes(&open[i]);
        value = value < 0 ? -value : value;
        at = value > most ? here : at;
        most = value > most ? value : most;
    }
    double best = 0;
    std::size_t place = n;
    const auto take = [&](double value, std::size_t where) {
        if (!(value > best || (value == best && value > 0 && where < place))) return;
        best = value;
        place = where;
    };
    for (int lane = 0; lane < 8; ++lane) take(most[lane], static_cast<std::size_t>(at[lane]));
    for (; i < n; ++i) take(std::abs(values[i]) * open[i], i);
    return place;
}

/// Makes the columns of A (rows × k) orthonormal (Gram and Schmidt, against four columns at a time); A was Q R, R upper
/// triangular in k columns of length `ld`. A column of which nothing is left becomes zero.
void orthonormalise(double* A, std::size_t rows, std::size_t k, double* R, std::size_t ld) {
    for (std::size_t j = 0; j < k; ++j) {
        double *const q = A + j * rows, *const r = R + j * ld;
        for (std::size_t l = 0; l < j; l += together) {
            const std::size_t count = std::min(together, j - l);
            multiply_transposed(A + l * rows, rows, count, q, r + l);
            subtract(A + l * rows, rows, count, r + l, 1, q, rows);
        }
        r[j] = std::sqrt(sum_of_products(q, q, rows));
        const double inverse = r[j] > 0 ? 1 / r[j] : 0;
#pragma omp simd
        for (std::size_t i = 0; i < rows; ++i) q[i] *= inverse;
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

/// to(:, l) = −A C(:, columns[l]), A of k columns, in stretches that stay in the nearest cache.
void combine(const double* A, std::size_t rows, std::size_t k, const double* C, std::size_t ld,
             std::span<const int> columns, std::vector<double>& to) {
    constexpr std::size_t stretch = 512;
    to.assign(rows * columns.size(), 0.0);
    for (std::size_t begin = 0; begin < rows; begin += stretch)
        for (std::size_t l = 0; l < columns.size(); ++l)
            subtract(A + begin, rows, k, C + static_cast<std::size_t>(columns[l]) * ld, 1, &to[l * rows + begin],
                     std::min(stretch, rows - begin));
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
    subtract(UV_.V.data(), cols_.size(), static_cast<std::size_t>(UV_.rank), UV_.U.data() + i, rows_.size(), row,
             cols_.size());
}

void CrossApproximation::residual_col(std::size_t j, double* col) const {
    (*fill_)(rows_, cols_.subspan(j, 1), col);
    subtract(UV_.U.data(), rows_.size(), static_cast<std::size_t>(UV_.rank), UV_.V.data() + j, cols_.size(), col,
             rows_.size());
}

/// Adds the cross col_ row_ᵀ / pivot; true: it was small.
bool CrossApproximation::add(double epsilon, double pivot) {
    const std::size_t m = rows_.size(), n = cols_.size(), k = static_cast<std::size_t>(UV_.rank);
    for (double& value : row_) value /= pivot;
    const double uu = sum_of_products(col_.data(), col_.data(), m), vv = sum_of_products(row_.data(), row_.data(), n);
    // Of a small cross the products with the others change the norm by a hundredth, which stops no cross earlier.
    constexpr double small = 1e-4;
    if (uu * vv > small * squared_norm_)
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
        if (col == cols_.size()) {
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
        if (i == m && j == n) return run_aca(epsilon, most, m / 2);
        if (j == n || (i < m && std::abs(reference_col[i]) > std::abs(reference_row[j]))) {
            residual_row(i, row_.data());
            j = largest(row_, col_open_);
            if (j == n) return;
            residual_col(j, col_.data());
        } else {
            residual_col(j, col_.data());
            i = largest(col_, row_open_);
            if (i == m) return;
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
        const auto take_row = [&] {
            for (std::size_t c = 0; c < cols; ++c) row_[c] = block[c * rows + i];
        };
        std::size_t j = cols;
        if (i < rows) {
            take_row();
            j = largest(row_, col_open_);
        }
        if (j == cols) {  // a zero row says nothing of the others
            const auto most_of_all = std::ranges::max_element(block, {}, [](double v) { return std::abs(v); });
            const auto at = static_cast<std::size_t>(most_of_all - block.begin());
            i = at % rows;
            j = at / rows;
            take_row();
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
    for (std::size_t j = 0; j < k; ++j)  // M = −R Sᵀ
        subtract(&R_[j * ld], ld, k - j, &S_[j * ld + j], ld, &M_[j * ld], ld);
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
    for (const int l : order_) {
        const double sigma = std::sqrt(square(l)), root = std::sqrt(sigma);
        const auto begin = static_cast<std::size_t>(l) * ld;
        for (std::size_t i = begin; i < begin + ld; ++i) {
            M_[i] /= root;
            J_[i] *= -root;
        }
        squares_of_U_ += sigma;
    }
    combine(Q_.data(), m, k, M_.data(), ld, order_, result_.U);
    combine(P_.data(), n, k, J_.data(), ld, order_, result_.V);
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
    std::vector<double> block(is.size() * js.size()), by_row(is.size()), U;
    fill(at_rows, at_cols, block.data());
    SampledError result;
    for (const double value : block) result.norm += value * value;
    const auto rank = static_cast<std::size_t>(factors.rank);
    for (std::size_t l = 0; l < rank; ++l)
        for (const std::size_t i : is) U.push_back(factors.U[l * rows.size() + i]);
    for (std::size_t b = 0; b < js.size(); ++b)
        subtract(U.data(), is.size(), rank, factors.V.data() + js[b], cols.size(), &block[b * is.size()], is.size());
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
