// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/complex_structure.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"

namespace stretto {

ComplexStructure analyse(const CsrMatrix<std::complex<double>>& A) {
    using Complex = std::complex<double>;
    constexpr double rounding = 1e-12;
    const auto size = static_cast<std::size_t>(A.local_rows());
    const Global first = A.partition().first(A.comm().rank());
    std::vector<Complex> x(size), Ax(size), adjoint(size), transposed(size);
    const auto view = [](std::vector<Complex>& v) {
        return MultiVector<Complex>(v.data(), static_cast<Index>(v.size()), 1);
    };
    for (std::size_t i = 0; i < size; ++i) {
        const Global row = first + static_cast<Global>(i);
        x[i] = {uniform(1, row, 0), uniform(1, row, 1)};
    }
    A.apply(view(x), view(Ax));
    A.apply_transpose(view(x), view(adjoint));
    for (auto& value : x) value = std::conj(value);
    A.apply_transpose(view(x), view(transposed));  // Aᴴ x̄, the conjugate of Aᵀ x
    double scale = 0, hermitian = 0, symmetric = 0, skew = 0;
    for (std::size_t i = 0; i < size; ++i) {
        scale += std::norm(Ax[i]);
        hermitian += std::norm(Ax[i] - adjoint[i]);
        skew += std::norm(Ax[i] + adjoint[i]);
        symmetric += std::norm(Ax[i] - std::conj(transposed[i]));
    }
    const double least = rounding * rounding * all_sum(A.comm(), scale);
    ComplexStructure found;
    found.hermitian = all_sum(A.comm(), hermitian) <= least;
    found.skew = all_sum(A.comm(), skew) <= least;
    found.symmetric = all_sum(A.comm(), symmetric) <= least;
    const auto diagonal = A.diagonal();
    const bool mine = std::ranges::all_of(
        diagonal, [](const Complex& d) { return d.real() > 0 && std::abs(d.imag()) <= rounding * d.real(); });
    found.positive_diagonal = all_of(A.comm(), mine);
    return found;
}

}  // namespace stretto
