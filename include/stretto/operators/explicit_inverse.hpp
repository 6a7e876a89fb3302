// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "stretto/core/types.hpp"

// What preconditioners are made of, as plain numbers of this rank's rows: for whoever applies them in other memory.

namespace stretto {

class Multigrid;

/// M⁻¹ is diagonal.
struct DiagonalInverse {
    std::vector<double> values;  ///< one for each row
};

/// M⁻¹ is a polynomial in D⁻¹A, whose residual is Chebyshev's on [middle − radius, middle + radius]. With d = step = z
/// = D⁻¹ r / middle at first, each of `degree` times: r −= A step, step = keep · step + add · D⁻¹ r, z += step.
struct ChebyshevInverse {
    std::vector<double> inverse;  ///< of the diagonal D
    double middle = 1, radius = 0;
    int degree = 0;

    /// keep and add, one pair after the other.
    class Coefficients {
    public:
        Coefficients(double middle, double radius) : middle_(middle), radius_(radius), rho_(radius / middle) {}
        std::pair<double, double> next() {
            const double next = 1 / (2 * middle_ / radius_ - rho_), keep = next * rho_;
            rho_ = next;
            return {keep, 2 * next / radius_};
        }

    private:
        double middle_, radius_, rho_;
    };
    Coefficients coefficients() const { return {middle, radius}; }
};

/// M⁻¹ is sparse: compressed rows, whose columns are rows of this rank.
struct SparseInverse {
    std::vector<std::size_t> start{0};
    std::vector<Index> columns;
    std::vector<double> values;
};

/// M⁻¹ is dense blocks on the diagonal, and zero elsewhere.
struct BlockInverse {
    std::vector<Index> first{0};  ///< row of each block, and after the last
    std::vector<double> values;   ///< block after block, row by row
};

/// M⁻¹ is a V-cycle over levels, which stay where they are (precond/multigrid.hpp).
struct MultigridInverse {
    const Multigrid* cycle;
};

/// None of these: std::monostate.
using ExplicitInverse =
    std::variant<std::monostate, DiagonalInverse, ChebyshevInverse, SparseInverse, BlockInverse, MultigridInverse>;

}  // namespace stretto
