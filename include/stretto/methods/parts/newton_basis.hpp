// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/statements/panel.hpp"

namespace stretto {

/// The eigenvalues of a Hessenberg matrix, n × n by columns, which is overwritten (LAPACK's dhseqr and zhseqr); none
/// where they cannot be computed.
std::pmr::vector<std::complex<double>> hessenberg_eigenvalues(
    std::span<double> H, int n, std::pmr::memory_resource* memory = std::pmr::get_default_resource());
std::pmr::vector<std::complex<double>> hessenberg_eigenvalues(
    std::span<std::complex<double>> H, int n, std::pmr::memory_resource* memory = std::pmr::get_default_resource());

/// n of the points, in Leja order: each the farthest, by the product of distances, from those before it. `pairs`: of
/// conjugates, which stay together, the one with the positive imaginary part first; of a pair that the end cuts the
/// real part is left. The points are used again where they are too few.
std::pmr::vector<std::complex<double>> leja_order(std::span<const std::complex<double>> points, int n,
                                                  std::pmr::memory_resource* memory = std::pmr::get_default_resource(),
                                                  bool pairs = true);

/// The way from one vector of a Krylov basis to the next where nothing orthonormal is known yet:
/// θ v_{i+1} = (A − σ_i) v_i, in real arithmetic for a pair of conjugates: θ v_{i+1} = (A − Re σ_i) v_i + (Im σ_i)²/θ
/// v_{i−1}. Where scalars are complex there are no pairs, and each step is by its shift. For each right-hand side
/// another one.
class NewtonBasis {
public:
    enum Kind { newton, chebyshev, monomial };
    static constexpr std::string_view names[] = {"newton", "chebyshev", "monomial"};

    /// No shifts: the monomial basis, until they are chosen, which allocates nothing for up to `most` columns of H.
    NewtonBasis(Kind kind, int length, int columns, int most = 0);

    /// Takes the Ritz values of the first k columns of H for right-hand side j, where it has fewer.
    template <class Y>
    void choose(const SmallMatrixOf<Y>& H, int k, int j);

    /// Column i of B, A V = V B, for the step of this number from the beginning of a block, 0 … length − 1.
    template <class Y>
    void step(int from_begin, SmallMatrixOf<Y>& B, int i) const;

    /// Whether the step of this number needs v_{i−1}, for some right-hand side.
    bool second_of_pair(int from_begin) const;

    bool chosen() const { return chosen_; }
    /// The largest modulus of a Ritz value: about the norm of A M⁻¹.
    double norm(int j) const { return shifts_[static_cast<std::size_t>(j)].largest; }

private:
    struct Shifts {
        std::vector<std::complex<double>> sigma;
        int ritz_values = 0;  // that they come from
        double theta = 1;
        double largest = 0;  // Ritz value
    };

    Kind kind_;
    int length_;
    bool chosen_ = false, pairs_ = true;
    std::vector<std::byte> scratch_;
    std::vector<Shifts> shifts_;
};

}  // namespace stretto
