// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// A sum of doubles without rounding before the end, so that it has the same bits in every order (Kulisch and Miranker
/// 1986; Collange, Defour, Graillat and Iakymchuk 2015). It is an integer in units of 2⁻¹⁰⁸⁸ whose digits of 32 bits
/// are added up apart: their carries wait until the sum is passed on. What is not finite is added up beside it.
class ExactSum {
public:
    typedef std::int64_t Digit __attribute__((may_alias));
    static constexpr std::size_t digits = 68;  ///< numbers that a sum is made of: 67 digits, and what is not finite

    /// sums_j += Σ left · right of column j, of each product as it is rounded: `length` elements, column by column in
    /// turn. Of complex numbers, the left conjugated, two sums a column.
    template <class T>
    static void add_products(const T* left, const T* right, std::size_t length, std::size_t columns, Digit* sums);

    /// Adds what another sum holds so far.
    void add(const Digit* sum);
    /// As doubles that are added up without rounding, those of up to 2²¹ ranks. Returns where they end.
    double* put(double* numbers) const;
    /// The sum that such numbers are, rounded once.
    static double value(const double* numbers);

private:
    std::array<std::int64_t, digits - 1> digits_{};
    double not_finite_ = 0;
};

/// Collective. Σ left · right over all ranks for each pair of vectors, outside of iterations: as `comm` adds up, which
/// is exact where it is reproducible().
std::vector<double> all_dots(const Comm& comm, std::span<const std::span<const double>> left,
                             std::span<const double> right);

}  // namespace stretto
