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
    // Row by row: a few large entries, as boundary conditions may be, tell nothing of the others.
    ComplexStructure found{.hermitian = true, .symmetric = true, .skew = true};
    for (std::size_t i = 0; i < size; ++i) {
        double least = 0;
        for (const auto& value : A.row(static_cast<Index>(i)).values) least += rounding * std::abs(value);
        found.hermitian = found.hermitian && std::abs(Ax[i] - adjoint[i]) <= least;
        found.skew = found.skew && std::abs(Ax[i] + adjoint[i]) <= least;
        found.symmetric = found.symmetric && std::abs(Ax[i] - std::conj(transposed[i])) <= least;
    }
    for (bool* each : {&found.hermitian, &found.symmetric, &found.skew}) *each = all_of(A.comm(), *each);
    const auto diagonal = A.diagonal();
    const bool mine = std::ranges::all_of(
        diagonal, [](const Complex& d) { return d.real() > 0 && std::abs(d.imag()) <= rounding * d.real(); });
    found.positive_diagonal = all_of(A.comm(), mine);
    return found;
}

}  // namespace stretto
