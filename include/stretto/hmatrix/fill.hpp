// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <complex>
#include <functional>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/types.hpp"
#include "stretto/hmatrix/geometry.hpp"

namespace stretto {

/// Writes the entries at `rows` × `cols`, numbers of points, to `out`, column after column. Called by several threads
/// at a time.
template <class T>
using FillOf = std::function<void(std::span<const Index> rows, std::span<const Index> cols, T* out)>;
using Fill = FillOf<double>;
using ComplexFill = FillOf<std::complex<double>>;

/// The fill of a kernel given entry by entry: kernel(i, j), real or complex, compiled into the loops.
template <class Kernel>
auto entries(Kernel kernel) {
    using T = std::conditional_t<std::is_arithmetic_v<std::invoke_result_t<const Kernel&, Index, Index>>, double,
                                 std::complex<double>>;
    return FillOf<T>([kernel = std::move(kernel)](std::span<const Index> rows, std::span<const Index> cols, T* out) {
        if (rows.size() == 1) {
            for (std::size_t j = 0; j < cols.size(); ++j) out[j] = kernel(rows[0], cols[j]);
            return;
        }
        for (const Index col : cols)
            for (const Index row : rows) *out++ = kernel(row, col);
    });
}

/// The fill of a kernel of the distance r of two points: kernel(i, j, r²), and diagonal(i) where i = j. Coordinates are
/// brought together before, so that the loops over kernel are vectorised, where it is (std::sqrt takes
/// -fno-math-errno). The points must outlive it.
template <class Kernel, class Diagonal>
Fill of_distance(const std::vector<Point>& points, Kernel kernel, Diagonal diagonal) {
    return [&points, kernel = std::move(kernel), diagonal = std::move(diagonal)](
               std::span<const Index> rows, std::span<const Index> cols, double* out) {
        constexpr std::size_t stretch = 64, lanes = 16;  // whole groups of lanes: remainders would take longer
        alignas(64) double x[stretch], y[stretch], z[stretch], squares[stretch], values[stretch];
        alignas(64) Index numbers[stretch];
        const bool row = rows.size() == 1;  // the loops go along the row then
        const auto along = row ? cols : rows, across = row ? rows : cols;
        for (std::size_t begin = 0; begin < along.size(); begin += stretch) {
            const std::size_t size = std::min(stretch, along.size() - begin),
                              padded = (size + lanes - 1) & ~(lanes - 1);
            for (std::size_t k = 0; k < padded; ++k) {
                numbers[k] = along[begin + std::min(k, size - 1)];
                const Point& p = points[static_cast<std::size_t>(numbers[k])];
                x[k] = p[0];
                y[k] = p[1];
                z[k] = p[2];
            }
            double* to = out + begin;
            for (const Index other : across) {
                const Point p = points[static_cast<std::size_t>(other)];
#pragma omp simd
                for (std::size_t k = 0; k < padded; ++k) {
                    const double a = x[k] - p[0], b = y[k] - p[1], c = z[k] - p[2], square = a * a + b * b + c * c;
                    squares[k] = square;
                    values[k] = row ? kernel(other, numbers[k], square) : kernel(numbers[k], other, square);
                }
                double smallest = squares[0];
#pragma omp simd reduction(min : smallest)
                for (std::size_t k = 0; k < padded; ++k) smallest = std::min(smallest, squares[k]);
                if (smallest == 0)
                    for (std::size_t k = 0; k < size; ++k)
                        if (numbers[k] == other) values[k] = diagonal(other);
                std::copy_n(values, size, to);
                to += along.size();
            }
        }
    };
}

}  // namespace stretto
