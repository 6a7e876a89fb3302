// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>

#include "columns.hpp"
#include "stretto/hmatrix/low_rank.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

using namespace columns;

namespace {

using Complex = std::complex<double>;

/// products[l] = A(:, l)ᴴ v for the k columns of A.
void multiply_adjoint(const double* A, std::size_t rows, std::size_t k, const double* v, double* products) {
    std::size_t l = 0;
    for (; l + together <= k; l += together, A += together * rows) {
        Lanes sums[together] = {};
        std::size_t i = 0;
        for (; i + width <= rows; i += width)
            for (std::size_t c = 0; c < together; ++c) sums[c] += lanes(A + c * rows + i) * lanes(v + i);
        for (std::size_t c = 0; c < together; ++c) {
            products[l + c] = sum_of_lanes(sums[c]);
            for (std::size_t rest = i; rest < rows; ++rest) products[l + c] += A[c * rows + rest] * v[rest];
        }
    }
    for (; l < k; ++l, A += rows) products[l] = sum_of_products(A, v, rows);
}
void multiply_adjoint(const Complex* A, std::size_t rows, std::size_t k, const Complex* v, Complex* products) {
    for (std::size_t l = 0; l < k; ++l) products[l] = inner(A + l * rows, v, rows);
}

/// Makes the columns of A (rows × k) orthonormal (Gram and Schmidt, against four columns at a time); A was Q R, R upper
/// triangular in k columns of length `ld`. A column of which nothing is left becomes zero.
template <class T>
void orthonormalise(T* A, std::size_t rows, std::size_t k, T* R, std::size_t ld) {
    for (std::size_t j = 0; j < k; ++j) {
        T *const q = A + j * rows, *const r = R + j * ld;
        for (std::size_t l = 0; l < j; l += together) {
            const std::size_t count = std::min(together, j - l);
            multiply_adjoint(A + l * rows, rows, count, q, r + l);
            subtract(A + l * rows, rows, count, r + l, 1, q, rows);
        }
        const double norm = std::sqrt(squared_norm(q, rows)), inverse = norm > 0 ? 1 / norm : 0;
        r[j] = norm;
#pragma omp simd
        for (std::size_t i = 0; i < rows; ++i) q[i] *= inverse;
    }
}

/// What a rotation is to take away of aᵀb, or of aᴴb: with its sign, or without its phase.
double without_phase(double product) { return product; }
double without_phase(Complex product) { return std::abs(product); }

void rotate(double cosine, double sine, double /*phase: 1*/, double* a, double* b, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const double left = a[i], right = b[i];
        a[i] = cosine * left - sine * right;
        b[i] = sine * left + cosine * right;
    }
}
/// The same where aᴴb has a phase, which b loses first.
void rotate(double cosine, double sine, Complex phase, Complex* a, Complex* b, std::size_t n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) {
        const Complex left = a[i], right = product(std::conj(phase), b[i]);
        a[i] = cosine * left - sine * right;
        b[i] = sine * left + cosine * right;
    }
}

/// to(:, l) = −A C(:, columns[l]), A of k columns, in stretches that stay in the nearest cache.
template <class T>
void combine(const T* A, std::size_t rows, std::size_t k, const T* C, std::size_t ld, std::span<const int> columns,
             std::vector<T>& to) {
    constexpr std::size_t stretch = 512;
    to.assign(rows * columns.size(), T{});
    for (std::size_t begin = 0; begin < rows; begin += stretch)
        for (std::size_t l = 0; l < columns.size(); ++l)
            subtract(A + begin, rows, k, C + static_cast<std::size_t>(columns[l]) * ld, 1, &to[l * rows + begin],
                     std::min(stretch, rows - begin));
}

}  // namespace

template <class T>
const Factors<T>& Recompression<T>::operator()(const Factors<T>& from, double epsilon, int most) {
    const std::size_t m = from.rows, n = from.cols, k = static_cast<std::size_t>(from.rank),
                      ld = round_up(k, std::size_t{8});
    result_.rows = m;
    result_.cols = n;
    Q_.assign(from.U.begin(), from.U.end());
    P_.assign(from.V.begin(), from.V.end());
    for (auto* matrix : {&R_, &S_, &M_, &J_}) matrix->assign(k * ld, T{});
    orthonormalise(Q_.data(), m, k, R_.data(), ld);
    orthonormalise(P_.data(), n, k, S_.data(), ld);
    for (std::size_t j = 0; j < k; ++j)  // M = −R Sᵀ
        subtract(&R_[j * ld], ld, k - j, &S_[j * ld + j], ld, &M_[j * ld], ld);
    for (std::size_t j = 0; j < k; ++j) J_[j * ld + j] = 1;
    squares_.resize(k);
    const auto measure = [&] {
        double sum = 0;
        for (std::size_t j = 0; j < k; ++j) sum += squares_[j] = squared_norm(&M_[j * ld], ld);
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
                const T inner_product = inner(&M_[p * ld], &M_[q * ld], ld);
                const double product = without_phase(inner_product);
                if (!(product * product > nearly_orthogonal * nearly_orthogonal * bound)) continue;
                const double zeta = (squares_[q] - squares_[p]) / (2 * product),
                             tangent = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta)),
                             cosine = 1 / std::sqrt(1 + tangent * tangent);
                const T phase = inner_product / product;
                rotate(cosine, cosine * tangent, phase, &M_[p * ld], &M_[q * ld], ld);
                rotate(cosine, cosine * tangent, conjugate(phase), &J_[p * ld], &J_[q * ld], ld);
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
    double dropped = 0;
    for (; rank > 0; --rank) {
        const double with_this = dropped + square(order_[rank - 1]);
        if (rank <= static_cast<std::size_t>(most) && !(with_this <= epsilon * epsilon * squared)) break;
        dropped = with_this;
    }
    dropped_ = squared > 0 ? std::sqrt(dropped / squared) : 0;
    ld_ = ld;
    result_.rank = static_cast<int>(rank);
    order_.resize(rank);
    for (const int l : order_) {
        const double sigma = std::sqrt(square(l)), root = std::sqrt(sigma);
        const auto begin = static_cast<std::size_t>(l) * ld;
        for (std::size_t i = begin; i < begin + ld; ++i) {
            M_[i] /= root;
            J_[i] *= -root;
        }
    }
    combine(Q_.data(), m, k, M_.data(), ld, order_, result_.U);
    combine(P_.data(), n, k, J_.data(), ld, order_, result_.V);
    return result_;
}

template <class T>
double Recompression<T>::cosines() const {
    const auto column = [&](int l) { return &M_[static_cast<std::size_t>(l) * ld_]; };
    const auto root = [&](int l) { return std::pow(squares_[static_cast<std::size_t>(l)], 0.25); };  // their norms now
    double most = 1;
    for (const int l : order_) {
        double sum = 0;
        for (const int other : order_) sum += std::abs(inner(column(l), column(other), ld_)) / (root(l) * root(other));
        most = std::max(most, sum);
    }
    return most;
}

template class Recompression<double>;
template class Recompression<std::complex<double>>;

}  // namespace stretto
