// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Which kinds of numbers a block is stored in, and how.

#include <complex>
#include <span>
#include <vector>

#include "stretto/hmatrix/low_rank.hpp"
#include "stretto/hmatrix/panel.hpp"

namespace stretto {

inline constexpr double unit_single = 0x1p-24;

/// Whether a block of this norm and number of values is within what single precision can hold.
bool fits_single(double norm, std::size_t values);

/// Columns of `rows` numbers, of complex ones each as two, its real and its imaginary part. `scratch` is where those
/// are.
inline std::span<const double> real_columns(const std::vector<double>& columns, std::size_t, std::vector<double>&) {
    return columns;
}
inline std::span<const double> real_columns(const std::vector<std::complex<double>>& columns, std::size_t rows,
                                            std::vector<double>& scratch) {
    scratch.resize(2 * columns.size());
    for (std::size_t begin = 0; begin < columns.size(); begin += rows)
        for (std::size_t i = begin; i < begin + rows; ++i) {
            scratch[begin + i] = columns[i].real();
            scratch[begin + rows + i] = columns[i].imag();
        }
    return scratch;
}

/// U and V by their real columns, of which `parts` together are one of U and V.
struct RealFactors {
    std::size_t rows = 0, cols = 0;
    int rank = 0;
    Index parts = 1;
    std::span<const double> U, V;
};

/// Writes `values` (rows × columns.all(), column after column) as a panel.
void write_panel(const double* values, std::size_t rows, const PanelColumns& columns, std::byte* to);

/// The most by which integers of 16 bits with a scale for each column of a block err, in parts of its norm.
double error_in_16_bits(Index rows);

/// Chooses for each column of U and V the shortest kind of number, as the variable accuracy of Kriemann (2024), with
/// integers for his floats: the scale of a column, its largest value, is known, and singular vectors of smooth kernels
/// are of one size. Of a column that weighs σ in U Vᵀ only ε/σ must be right, so that most take 8 bits.
class Rounding {
public:
    /// `from` has columns of falling weight, those of V orthogonal; the sum of |cosines| of a column of U with all of
    /// them is `cosines` at most. Rounding moves U Vᵀ by at most `bound` (Frobenius). It is measured, not guessed.
    void choose(const RealFactors& from, double bound, double cosines);

    /// All columns in single precision where that keeps the bound whatever the columns are, else in double.
    void choose_single(const RealFactors& from, double bound);

    const PanelColumns& columns() const { return columns_; }
    double error() const { return error_; }  ///< a bound of ‖what rounding has changed‖

private:
    PanelColumns columns_;
    double error_ = 0;
};

}  // namespace stretto
