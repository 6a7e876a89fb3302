// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// A sum of doubles without rounding before the end, so that it has the same bits in every order (Kulisch and Miranker
/// 1986; Collange, Defour, Graillat and Iakymchuk 2015). It is an integer in units of 2⁻¹⁰⁸⁸ whose digits of 32 bits
/// are added up apart: their carries wait until the sum is passed on. What is not finite is added up beside it.
class ExactSum {
public:
    static constexpr std::size_t digits = 68;  ///< numbers that a sum is made of: 67 digits, and what is not finite
    typedef std::int64_t Digit __attribute__((may_alias));

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

/// Where the numbers of one dot product are: the digits of all its sums; of each part (of complex numbers, whose sums
/// have two) the windows of its lanes and their sums at each level; how many numbers these hold at most. A lane is of
/// one column, and so many `rows` stand side by side that lanes fill registers.
struct ExactLayout {
    static constexpr std::size_t levels = 3;
    std::size_t columns, parts, rows, lanes;
    std::size_t step;  // elements that are added at once, at most

    ExactLayout(std::size_t of_columns, std::size_t of_parts);
    std::size_t products() const { return columns * parts; }
    std::size_t lanes_at(std::size_t part) const { return products() * ExactSum::digits + part * (levels + 1) * lanes; }
    std::size_t size() const { return lanes_at(parts) + 1; }
    std::size_t sum_at(std::size_t lane, std::size_t part) const {
        return (lane % products() / parts * parts + part) * ExactSum::digits;
    }
};

/// What a thread adds up exactly, for some dot products of vectors of `columns` columns: of each product as it is
/// rounded; of complex numbers, the left conjugated, two sums a column. Each dot product has size() numbers, zeros at
/// first. Products are split into three parts of 44 bits below the window of their lane, and the parts added up as
/// doubles, which is exact for 512 of them; then they go over into digits, as do at once the few that are smaller.
template <class T>
class ExactSums {
public:
    static constexpr auto parts = static_cast<std::size_t>(reals_in<T>);
    static ExactLayout layout(std::size_t columns) { return {columns, parts}; }
    /// `layout`: that of the columns; it must outlive this.
    ExactSums(double* numbers, const ExactLayout& layout) : numbers_(numbers), layout_(&layout) {}

    /// Dot product `dot` += left · right: `length` elements, column by column in turn.
    void add(std::size_t dot, const T* left, const T* right, std::size_t length) const;
    /// Brings what has been added into the digits.
    void finish(std::size_t dot) const;
    /// Those of a column; of complex numbers those of its real (0) or imaginary (1) part.
    const ExactSum::Digit* sum(std::size_t dot, std::size_t column, std::size_t part) const {
        return reinterpret_cast<const ExactSum::Digit*>(numbers_ + dot * layout_->size()) +
               layout_->sum_at(column * parts, part);
    }

private:
    double* numbers_;
    const ExactLayout* layout_;
};

/// Collective. Σ left · right over all ranks for each pair of vectors, outside of iterations: as `comm` adds up, which
/// is exact where it is reproducible().
std::vector<double> all_dots(const Comm& comm, std::span<const std::span<const double>> left,
                             std::span<const double> right);

}  // namespace stretto
