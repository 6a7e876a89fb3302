// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <vector>

#include "stretto/sparse/csr.hpp"
#include "stretto/statements/panel.hpp"

namespace stretto {

/// The matrix powers kernel (Demmel, Hoemmen, Mohiyuddin, Yelick 2008): up to h products in a row for one exchange. A
/// rank keeps, beside its own rows, those of other ranks that are up to h − 1 edges away in the graph of A, and
/// multiplies them too, fewer with every product.
template <class T>
class MatrixPowers {
public:
    /// Collective. `A` must outlive it.
    MatrixPowers(const CsrMatrix<T>& A, int h);

    int depth() const { return static_cast<int>(level_end_.size()); }
    /// Nonzeros of other ranks that this one multiplies in a full run of h products, over those of its own rows.
    double redundancy() const;
    /// Bytes that the products of other ranks' rows move, in a full run.
    double redundant_bytes(int columns) const;

    /// Collective. v_{i+1} = (A v_i − B(i, i) v_i − B(i − 1, i) v_{i−1}) / B(i + 1, i) for i = first … first + count −
    /// 1, count ≤ h, with one exchange. B(first − 1, first) must be zero. Equal to the same by products to rounding.
    void apply(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const;

private:
    const CsrMatrix<T>& A_;
    Halo<T> ghosts_;                      // all rows of other ranks, up to h edges away
    std::vector<Index> near_;             // where the rows of A's own halo are among them
    std::vector<Index> rows_;             // ghosts to be multiplied, the nearest first
    std::vector<std::size_t> level_end_;  // how many of them are up to k edges away: k = 0 (none), 1, …, h − 1
    std::vector<std::size_t> start_;      // their entries, as CsrMatrix has them: own columns, then ghosts
    std::vector<Index> columns_;
    std::vector<T> values_;
    mutable std::array<std::vector<T>, 3>
        coefficients_;  // of a step; kept, as the next, so that products allocate nothing
    mutable std::vector<std::vector<T>> ghost_vectors_;  // of v_first … v_{first + h − 1}
};

extern template class MatrixPowers<double>;
extern template class MatrixPowers<float>;
#if STRETTO_COMPLEX
extern template class MatrixPowers<std::complex<double>>;
extern template class MatrixPowers<std::complex<float>>;
#endif

}  // namespace stretto
