// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stretto/core/buffer.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/forms/packed_values.hpp"
#include "stretto/sparse/halo.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// Interpolation P from a coarser level, and its transpose: two sets of compressed rows.
class Transfer {
public:
    /// Collective. `rows`: those of P for the rows of this rank, whose columns `coarse` deals to ranks.
    Transfer(Comm& comm, const Partition& coarse, const LocalRows<double>& rows);

    /// Collective. x = P y.
    void interpolate(MultiVector<double> y, MultiVector<double> x, int threads) const;
    /// Collective. y = Pᵀ x.
    void restrict_to(MultiVector<double> y, MultiVector<double> x, int threads) const;
    /// Collective. Of each coarse row j Σᵢ Pᵢⱼ² dᵢ: its diagonal in Pᵀ A P, were A the diagonal d.
    std::vector<double> diagonal_of_product(const std::vector<double>& d) const;
    double bytes(int columns) const;
    double stored() const;

    /// Rows as plain numbers: columns from the number of own ones on are the halo's.
    struct Plain {
        std::vector<std::size_t> start;
        std::vector<Index> columns;
        std::vector<double> values;
    };
    Plain P() const { return plain(P_); }
    /// Rows from coarse_rows() on are those of the halo's rows.
    Plain transpose() const { return plain(transpose_); }
    Index fine_rows() const { return fine_; }
    Index coarse_rows() const { return coarse_; }
    const Halo<double>& halo() const { return halo_; }  ///< of the coarser level

private:
    struct Rows {
        Buffer<Index> start, columns;
        PackedValues<double> values;
    };
    static Plain plain(const Rows& rows);
    void multiply(const Rows& rows, Index begin, Index end, const double* own, const double* halo, Index owned,
                  double* y, int columns, int threads) const;

    Comm* comm_;
    Index fine_, coarse_;
    Halo<double> halo_;
    Rows P_, transpose_;  // of the transpose the rows here come first, those of other ranks after them
};

}  // namespace stretto
