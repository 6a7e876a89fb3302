// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory_resource>
#include <vector>

#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// What Gram–Schmidt by Pythagoras, ‖v − QQᵀv‖² = ‖v‖² − ‖Qᵀv‖², costs in orthogonality. It takes Q for orthonormal;
/// that Q is so up to an error, which shows in the length of its last vector, is multiplied by the square of the
/// condition of the new vectors, scaled to length one, less what Q has of them (Carson and Ma 2024: one pass is good
/// for O(ε) κ² ≤ ½). The condition is that of their Cholesky factor T, in which it is estimated column by column.
template <class T>
class OrthogonalityLoss {
public:
    using Length = real_of<T>;

    OrthogonalityLoss(int most, std::pmr::memory_resource* memory) : z_(static_cast<std::size_t>(most), memory) {}

    /// Vectors follow on a Q whose last one has this squared length.
    void begin(Length square) {
        error_ = std::max(std::abs(square - 1), std::numeric_limits<Length>::epsilon());
        squares_ = 0;
    }
    /// Takes one more vector in: column c of T, of which `first` is the first, and ‖v_i‖² as length(i). Returns the
    /// loss that is to be expected.
    template <class Triangle, class LengthOf>
    Length extend(int first, int c, Triangle triangle, LengthOf length) {
        // Column c of T⁻¹.
        for (int i = c; i >= first; --i) {
            T sum = i == c ? T{1} : T{};
            for (int k = i + 1; k <= c; ++k) sum -= triangle(i, k) * z(k - first);
            z(i - first) = sum / triangle(i, i);
            squares_ += abs_squared(z(i - first)) * length(i);
        }
        return error_ * squares_;
    }

    static constexpr Length tolerable = 1e-8;    ///< GMRES takes the same iterations as with fully orthogonal vectors
    static constexpr Length meaningless = 0.01;  ///< of the length that is left nothing is known any more

private:
    T& z(int i) { return z_[static_cast<std::size_t>(i)]; }
    std::pmr::vector<T> z_;
    Length error_{}, squares_{};
};

}  // namespace stretto
