// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "stretto/core/buffer.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"
#include "transfer.hpp"

namespace stretto {

/// A coarser level as whoever coarsens makes it, on one rank.
struct CoarseLevel {
    LocalRows<double> P;  ///< interpolation: rows of the level above, columns of this one
    Partition partition;
    LocalRows<double> A;
};

struct MultigridOptions {
    int degree = 2;         ///< of the smoother's polynomial, before the coarser levels and after them
    double ratio = 4;       ///< it damps from the largest eigenvalue of D⁻¹A down to that over this
    Global coarsest = 100;  ///< a coarsest level of at most so many rows is solved
    bool single = false;    ///< the coefficients of all coarser levels and of P are rounded to single precision
};

/// A V-cycle over given levels, smoothed by Chebyshev's polynomials in D⁻¹A (Adams, Brezina, Hu and Tuminaro 2003),
/// whose vectors are updated row by row while a product has them in cache. The coarsest level, where it is small, is
/// solved by every rank with its dense inverse, or pseudo-inverse. M is symmetric where A is.
class Multigrid {
public:
    /// Collective. A, the finest level, must outlive it.
    Multigrid(const CsrMatrix<double>& A, std::vector<CoarseLevel> coarser, const MultigridOptions& options);

    /// Collective. Follows A to its new values, and coarser levels to those given; those not given stay as they are.
    void update(std::vector<LocalRows<double>> coarser);

    /// Collective. z = M⁻¹ r, for any number of columns.
    void apply(MultiVector<double> r, MultiVector<double> z) const;
    /// How often it was applied, here and in other memory, whose owner says so by count_application().
    int applications() const { return applications_; }
    void count_application() const { ++applications_; }
    double bytes(int columns) const;
    double stored() const;                               ///< without A
    int reductions() const { return solved_rows_ > 0; }  ///< that one apply waits for: the coarsest level's residual
    bool is_singular() const { return is_singular_; }    ///< the coarsest level, as far as its dense matrix tells

    // What it is made of, for whoever runs the cycle in other memory.
    struct Level {
        std::optional<CsrMatrix<double>> own;  ///< none: the finest, which is the caller's
        const CsrMatrix<double>* A = nullptr;
        std::vector<double> inverse;    ///< D⁻¹; empty where the level is solved
        double middle = 1, radius = 0;  ///< of the interval of D⁻¹A's eigenvalues that is damped
        std::optional<Transfer> P;      ///< from the next level; none: the coarsest
    };
    const std::vector<Level>& levels() const { return levels_; }
    int degree() const { return options_.degree; }
    bool is_solved(std::size_t level) const { return level + 1 == levels_.size() && solved_rows_ > 0; }
    /// Of the coarsest level, where that is solved: this rank's rows of the inverse.
    const std::vector<double>& inverse_of_coarsest() const { return inverse_; }
    /// Collective. The same on all ranks.
    void solve_coarsest(MultiVector<double> b, MultiVector<double> z) const;

private:
    struct Vectors {
        Buffer<double> b, z, residual, step, next;
    };
    using Work = std::vector<Vectors>;  // of the levels
    struct Gathered {
        std::vector<double> own, all;
    };
    struct OnProcessor;

    void round(LocalRows<double>& rows) const;
    std::vector<double> set_smoother(std::size_t level, const std::vector<double>& above);
    void solve_exactly(const std::vector<double>& size);
    Work vectors(int columns) const;
    static double beside_a_product(const Level& level, int columns);
    double bytes_of_coarsest(int columns) const;

    MultigridOptions options_;
    std::vector<Level> levels_;
    Global solved_rows_ = 0;  // of the coarsest level; 0: it is smoothed as the others are
    bool is_singular_ = false;
    mutable int applications_ = 0;
    std::vector<double> inverse_;
    Scratch<Work> work_;  // by number of columns, as the next
    Scratch<Gathered> gathered_;
};

}  // namespace stretto
