// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "columns.hpp"
#include "stretto/hmatrix/low_rank.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

using namespace columns;

namespace {

/// B −= u vᵀ, B rows × cols. Returns the sum of the squares of what is left.
double subtract_cross(double* B, const double* u, const double* v, std::size_t rows, std::size_t cols) {
    double sum = 0;
    Lanes sums{};
    std::size_t i = 0;
    for (; i + width <= rows; i += width) {
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
    for (std::size_t lane = 0; lane < width; ++lane) sum += sums[lane];
    return sum;
}

using Complex = std::complex<double>;

double subtract_cross(Complex* B, const Complex* u, const Complex* v, std::size_t rows, std::size_t cols) {
    double sum = 0;
    for (std::size_t j = 0; j < cols; ++j) {
        subtract_some<1>(u, rows, v + j, 1, B + j * rows, rows);
        sum += squared_norm(B + j * rows, rows);
    }
    return sum;
}

/// The place of the largest |value| of those that are open; past the end where all of them are zero.
std::size_t largest(const std::vector<double>& values, const std::vector<double>& open) {
    typedef long long Places __attribute__((vector_size(8 * width)));
    const std::size_t n = values.size();
    Lanes most{};
    Places at{}, here{};
    for (std::size_t lane = 0; lane < width; ++lane) here[lane] = static_cast<long long>(lane);
    std::size_t i = 0;
    for (; i + width <= n; i += width, here += static_cast<long long>(width)) {
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
    for (std::size_t lane = 0; lane < width; ++lane) take(most[lane], static_cast<std::size_t>(at[lane]));
    for (; i < n; ++i) take(std::abs(values[i]) * open[i], i);
    return place;
}

std::size_t largest(const std::vector<Complex>& values, const std::vector<double>& open) {
    std::size_t place = values.size();
    double best = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (const double square = std::norm(values[i]) * open[i]; square > best) {
            best = square;
            place = i;
        }
    return place;
}

/// |value| as far as comparing goes, without a square root.
double size_of(double value) { return std::abs(value); }
double size_of(Complex value) { return std::norm(value); }

}  // namespace

template <class T>
void CrossApproximation<T>::clear(std::size_t rows, std::size_t cols) {
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

template <class T>
void CrossApproximation<T>::begin(const FillOf<T>& fill, std::span<const Index> rows, std::span<const Index> cols,
                                  Pivoting pivoting) {
    fill_ = &fill;
    rows_ = rows;
    cols_ = cols;
    pivoting_ = pivoting;
    clear(rows.size(), cols.size());
}

template <class T>
void CrossApproximation<T>::residual_row(std::size_t i, T* row) const {
    (*fill_)(rows_.subspan(i, 1), cols_, row);
    subtract(UV_.V.data(), cols_.size(), static_cast<std::size_t>(UV_.rank), UV_.U.data() + i, rows_.size(), row,
             cols_.size());
}

template <class T>
void CrossApproximation<T>::residual_col(std::size_t j, T* col) const {
    (*fill_)(rows_, cols_.subspan(j, 1), col);
    subtract(UV_.U.data(), rows_.size(), static_cast<std::size_t>(UV_.rank), UV_.V.data() + j, cols_.size(), col,
             rows_.size());
}

/// Adds the cross col_ row_ᵀ / pivot; true: it was small.
template <class T>
bool CrossApproximation<T>::add(double epsilon, T pivot) {
    const std::size_t m = rows_.size(), n = cols_.size(), k = static_cast<std::size_t>(UV_.rank);
    for (T& value : row_) value /= pivot;
    const double uu = columns::squared_norm(col_.data(), m), vv = columns::squared_norm(row_.data(), n);
    // Of a small cross the products with the others change the norm by a hundredth, which stops no cross earlier.
    constexpr double small = 1e-4;
    if (uu * vv > small * squared_norm_)
        for (std::size_t l = 0; l < k; ++l)
            squared_norm_ +=
                2 * real_part(product(inner(&UV_.U[l * m], col_.data(), m), inner(&UV_.V[l * n], row_.data(), n)));
    squared_norm_ += uu * vv;
    UV_.U.insert(UV_.U.end(), col_.begin(), col_.end());
    UV_.V.insert(UV_.V.end(), row_.begin(), row_.end());
    ++UV_.rank;
    return uu * vv <= epsilon * epsilon * squared_norm_;
}

template <class T>
std::size_t CrossApproximation<T>::unused_row(std::size_t from) const {
    for (std::size_t k = 0; k < rows_.size(); ++k)
        if (const std::size_t i = (from + k) % rows_.size(); row_open_[i] > 0) return i;
    return rows_.size();
}

template <class T>
void CrossApproximation<T>::run(double epsilon, int most, std::size_t first) {
    if (pivoting_ == Pivoting::aca || first != automatic)
        run_aca(epsilon, most, first == automatic ? rows_.size() / 2 : first);
    else
        run_aca_plus(epsilon, most);
}

template <class T>
void CrossApproximation<T>::run_aca(double epsilon, int most, std::size_t row) {
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

template <class T>
void CrossApproximation<T>::run_aca_plus(double epsilon, int most) {
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
            if (row_open_[i] > 0 && (row == m || size_of(reference_col[i]) < size_of(reference_col[row]))) row = i;
        if (row < m) residual_row(row, reference_row.data());
        return row < m;
    };
    if (!choose_col() || !choose_row()) return;
    while (UV_.rank < most) {
        std::size_t i = largest(reference_col, row_open_), j = largest(reference_row, col_open_);
        if (i == m && j == n) return run_aca(epsilon, most, m / 2);
        if (j == n || (i < m && size_of(reference_col[i]) > size_of(reference_row[j]))) {
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

template <class T>
double CrossApproximation<T>::run_whole(std::span<T> block, std::size_t rows, std::size_t cols, double epsilon,
                                        int most) {
    clear(rows, cols);
    const double squared = columns::squared_norm(block.data(), block.size());
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
            const auto most_of_all = std::ranges::max_element(block, {}, [](T v) { return size_of(v); });
            const auto at = static_cast<std::size_t>(most_of_all - block.begin());
            i = at % rows;
            j = at / rows;
            take_row();
            if (!(size_of(row_[j]) > 0)) return left > 0 ? NAN : 0;
        }
        row_open_[i] = col_open_[j] = 0;
        std::copy_n(&block[j * rows], rows, col_.begin());
        const T inverse = 1.0 / row_[j];
        for (T& value : row_) value = product(value, inverse);
        left = subtract_cross(block.data(), col_.data(), row_.data(), rows, cols);
        UV_.U.insert(UV_.U.end(), col_.begin(), col_.end());
        UV_.V.insert(UV_.V.end(), row_.begin(), row_.end());
        ++UV_.rank;
        i = largest(col_, row_open_);
    }
    return squared > 0 ? std::sqrt(left / squared) : squared;
}

template class CrossApproximation<double>;
template class CrossApproximation<std::complex<double>>;

}  // namespace stretto
