// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/parts/newton_basis.hpp"

#include <algorithm>
#include <cmath>

#include "../../core/lapack.hpp"
#include "stretto/methods/parts/shifts.hpp"

namespace stretto {

std::pmr::vector<std::complex<double>> hessenberg_eigenvalues(std::span<double> H, int n,
                                                              std::pmr::memory_resource* memory) {
    const auto size = static_cast<std::size_t>(n);
    std::pmr::vector<double> real(size, memory), imaginary(size, memory), work(11 * size + 1, memory);
    const int one = 1, lwork = 11 * n + 1;
    int info = 0;
    double none = 0;
    dhseqr_("E", "N", &n, &one, &n, H.data(), &n, real.data(), imaginary.data(), &none, &one, work.data(), &lwork,
            &info);
    std::pmr::vector<std::complex<double>> values(memory);
    values.reserve(size);
    for (std::size_t i = static_cast<std::size_t>(std::max(info, 0)); i < size && info >= 0; ++i)
        if (std::isfinite(real[i]) && std::isfinite(imaginary[i])) values.emplace_back(real[i], imaginary[i]);
    return values;
}

std::pmr::vector<std::complex<double>> hessenberg_eigenvalues(std::span<std::complex<double>> H, int n,
                                                              std::pmr::memory_resource* memory) {
    const auto size = static_cast<std::size_t>(n);
    std::pmr::vector<std::complex<double>> found(size, memory), work(11 * size + 1, memory);
    const int one = 1, lwork = 11 * n + 1;
    int info = 0;
    std::complex<double> none = 0;
    zhseqr_("E", "N", &n, &one, &n, H.data(), &n, found.data(), &none, &one, work.data(), &lwork, &info);
    std::pmr::vector<std::complex<double>> values(memory);
    values.reserve(size);
    for (std::size_t i = static_cast<std::size_t>(std::max(info, 0)); i < size && info >= 0; ++i)
        if (is_finite(found[i])) values.push_back(found[i]);
    return values;
}

std::pmr::vector<std::complex<double>> leja_order(std::span<const std::complex<double>> given, int n,
                                                  std::pmr::memory_resource* memory, bool pairs) {
    const auto count = static_cast<std::size_t>(n);
    std::pmr::vector<std::complex<double>> points(given.begin(), given.end(), memory);
    for (auto& point : points)
        if (std::abs(point.imag()) < 1e-12 * std::abs(point)) point = point.real();
    if (pairs) std::erase_if(points, [](const auto& point) { return point.imag() < 0; });
    if (points.empty()) points.emplace_back(0);
    std::pmr::vector<std::complex<double>> ordered(memory), left(points, memory);
    ordered.reserve(count + 1);
    while (ordered.size() < count) {
        if (left.empty()) left = points;
        const auto farness = [&](const std::complex<double>& point) {
            if (ordered.empty()) return std::abs(point);
            double logarithm = 0;  // of a product that may not fit
            for (const auto& before : ordered) logarithm += std::log(std::abs(point - before) + 1e-300);
            return logarithm;
        };
        const auto next = std::ranges::max_element(left, {}, farness);
        ordered.push_back(*next);
        if (pairs && next->imag() > 0) ordered.push_back(std::conj(*next));
        left.erase(next);
    }
    ordered.resize(count);
    return ordered;
}

NewtonBasis::NewtonBasis(Kind kind, int length, int columns, int most)
    : kind_(kind), length_(length), shifts_(static_cast<std::size_t>(columns)) {
    const auto n = static_cast<std::size_t>(most);
    // H, what LAPACK needs, four lists of Ritz values and the shifts; and some for their alignment.
    if (most > 0) scratch_.resize(8 * (n * n + 13 * n) + 16 * (4 * n + 2 * static_cast<std::size_t>(length)) + 1024);
    for (auto& shifts : shifts_) shifts.sigma.assign(static_cast<std::size_t>(length), 0);
}

template <class Y>
void NewtonBasis::choose(const SmallMatrixOf<Y>& H, int k, int j) {
    auto& [sigma, known, theta, size] = shifts_[static_cast<std::size_t>(j)];
    if (chosen_ && k <= known) return;
    pairs_ = !is_complex<Y>;
    if (is_complex<Y> && !chosen_) scratch_.resize(2 * scratch_.size());
    std::pmr::monotonic_buffer_resource memory(scratch_.data(), scratch_.size());
    std::pmr::vector<Y> block(&memory);
    block.reserve(static_cast<std::size_t>(k) * static_cast<std::size_t>(k));
    for (int c = 0; c < k; ++c)
        for (int i = 0; i < k; ++i) block.push_back(i <= c + 1 ? H(i, c, j) : Y{});
    chosen_ = true;
    if (k == 0) return;
    const auto ritz = hessenberg_eigenvalues(block, k, &memory);
    if (ritz.empty()) return;
    double lowest = INFINITY, highest = -INFINITY, largest = 0, radius = 0;
    for (const auto& value : ritz) {
        lowest = std::min(lowest, value.real());
        highest = std::max(highest, value.real());
        largest = std::max(largest, std::abs(value));
    }
    for (const auto& value : ritz) radius = std::max(radius, std::abs(value - (lowest + highest) / 2));
    known = k;
    size = largest;
    theta = kind_ != monomial && radius > 0.01 * largest ? radius : largest;
    if (!(theta > 0)) theta = 1;
    if (kind_ == newton) std::ranges::copy(leja_order(ritz, length_, &memory, pairs_), sigma.begin());
    if (kind_ == chebyshev) std::ranges::copy(chebyshev_shifts(length_, lowest, highest, &memory), sigma.begin());
}

bool NewtonBasis::second_of_pair(int from_begin) const {
    return pairs_ && std::ranges::any_of(shifts_, [&](const Shifts& shifts) {
               return shifts.sigma[static_cast<std::size_t>(from_begin)].imag() < 0;
           });
}

template <class Y>
void NewtonBasis::step(int from_begin, SmallMatrixOf<Y>& B, int i) const {
    for (int j = 0; j < B.columns(); ++j) {
        const auto& [sigma, known, theta, size] = shifts_[static_cast<std::size_t>(j)];
        const auto& shift = sigma[static_cast<std::size_t>(from_begin)];
        // Of a pair that the end of a block cuts, the real part is left.
        for (int k = 0; k < i; ++k) B(k, i, j) = 0;
        if constexpr (is_complex<Y>) {
            B(i, i, j) = shift;
        } else {
            B(i, i, j) = shift.real();
            if (i > 0) B(i - 1, i, j) = shift.imag() < 0 ? -shift.imag() * shift.imag() / theta : 0;
        }
        B(i + 1, i, j) = theta;
    }
}

template void NewtonBasis::choose(const SmallMatrixOf<double>&, int, int);
template void NewtonBasis::choose(const SmallMatrixOf<std::complex<double>>&, int, int);
template void NewtonBasis::step(int, SmallMatrixOf<double>&, int) const;
template void NewtonBasis::step(int, SmallMatrixOf<std::complex<double>>&, int) const;

}  // namespace stretto
