// SPDX-License-Identifier: BSD-3-Clause
#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace stretto {
namespace {

/// A column of integers S: value = integer · scale.
template <class S>
struct Scale {
    static constexpr double most = std::numeric_limits<S>::max();
    float scale = 0;
    double inverse = 0;

    Scale(const double* values, std::size_t rows) {
        double largest = 0;
#pragma omp simd reduction(max : largest)
        for (std::size_t i = 0; i < rows; ++i) largest = std::max(largest, std::abs(values[i]));
        scale = static_cast<float>(largest / most);
        if (scale < std::numeric_limits<float>::min()) scale = 0;  // zeros, beside what fits_single has let in
        inverse = scale > 0 ? 1 / static_cast<double>(scale) : 0;
    }
    /// The nearest integer, as a double.
    double rounded(double value) const {
        constexpr double shift = 0x1.8p52;  // beyond it doubles are integers; a call of nearbyint does not vectorise
        return (value * inverse + shift) - shift;
    }
    double squared_error(const double* values, std::size_t rows) const {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t i = 0; i < rows; ++i) {
            const double error = values[i] - rounded(values[i]) * static_cast<double>(scale);
            sum += error * error;
        }
        return sum;
    }
};

double squared_norm(const double* values, std::size_t rows) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < rows; ++i) sum += values[i] * values[i];
    return sum;
}

/// One column of a kind into its place in all slabs.
template <class S, class Round>
void write_column(const double* values, std::size_t rows, std::byte* to, std::size_t slab_bytes, Round&& round) {
    constexpr std::size_t slab = panel_rows;
    for (std::size_t row = 0; row < rows; row += slab, to += slab_bytes) {
        S* const out = reinterpret_cast<S*>(to);
        if (row + slab <= rows)
            for (std::size_t i = 0; i < slab; ++i) out[i] = static_cast<S>(round(values[row + i]));
        else
            for (std::size_t i = 0; i < slab; ++i)
                out[i] = row + i < rows ? static_cast<S>(round(values[row + i])) : S{};
    }
}

}  // namespace

bool fits_single(double norm, std::size_t values) {
    return norm == 0 || (norm < 1e37 && norm > 1e-25 * std::sqrt(static_cast<double>(values)));
}

double error_in_16_bits(Index rows) { return std::sqrt(static_cast<double>(rows)) / (2 * Scale<std::int16_t>::most); }

void write_panel(const double* values, std::size_t rows, const PanelColumns& columns, std::byte* to) {
    float* scales = reinterpret_cast<float*>(to);
    std::byte* const slabs = to + columns.scales_bytes();
    const std::size_t slab_bytes = columns.slab_bytes();
    each_kind(columns, [&]<class S>(Index first, Index count, std::size_t offset) {
        for (Index j = 0; j < count; ++j) {
            const double* const column = values + static_cast<std::size_t>(first + j) * rows;
            std::byte* const place = slabs + offset + static_cast<std::size_t>(j) * panel_rows * sizeof(S);
            if constexpr (std::integral<S>) {
                const Scale<S> scale(column, rows);
                *scales++ = scale.scale;
                write_column<S>(column, rows, place, slab_bytes, [&](double v) { return scale.rounded(v); });
            } else {
                write_column<S>(column, rows, place, slab_bytes, [](double v) { return v; });
            }
        }
    });
}

void Rounding::choose(const RealFactors& from, double bound, double cosines) {
    columns_ = {};
    double sum = 0;  // of squares: ‖dU Vᵀ‖² is the sum over its columns, ‖U dVᵀ‖² at most `cosines` times that
    const auto parts = static_cast<std::size_t>(from.parts);
    const auto all_parts = [parts](const double* column, std::size_t rows, auto&& of_one) {
        double all = 0;
        for (std::size_t part = 0; part < parts; ++part) all += of_one(column + part * rows, rows);
        return all;
    };
    const auto sides = [&](Index l, auto&& error_of) {
        const double *const u = &from.U[static_cast<std::size_t>(l) * parts * from.rows],
                            *const v = &from.V[static_cast<std::size_t>(l) * parts * from.cols];
        return 2 * (all_parts(u, from.rows, error_of) * all_parts(v, from.cols, squared_norm) +
                    cosines * all_parts(u, from.rows, squared_norm) * all_parts(v, from.cols, error_of));
    };
    // From the lightest column on, as long as the kind's part of the bound lasts: the wider ones take hardly anything.
    Index l = from.rank;
    const auto take = [&](double part, Index PanelColumns::* kind, auto&& error_of) {
        for (; l > 0; --l) {
            const double squares = sum + sides(l - 1, error_of);
            if (!(squares <= part * bound * bound)) return;
            sum = squares;
            columns_.*kind += from.parts;
        }
    };
    const auto integers = []<class S>(const double* values, std::size_t rows) {
        return Scale<S>(values, rows).squared_error(values, rows);
    };
    take(0.9, &PanelColumns::in_8_bits,
         [&](const double* v, std::size_t n) { return integers.template operator()<std::int8_t>(v, n); });
    take(0.98, &PanelColumns::in_16_bits,
         [&](const double* v, std::size_t n) { return integers.template operator()<std::int16_t>(v, n); });
    take(1, &PanelColumns::in_single,
         [](const double* v, std::size_t n) { return unit_single * unit_single * squared_norm(v, n); });
    columns_.in_double = l * from.parts;
    error_ = std::sqrt(sum);
}

void Rounding::choose_single(const RealFactors& from, double bound) {
    const double error =
        2 * unit_single *
        std::sqrt(squared_norm(from.U.data(), from.U.size()) * squared_norm(from.V.data(), from.V.size()));
    columns_ = {};
    (error <= bound ? columns_.in_single : columns_.in_double) = from.rank * from.parts;
    error_ = error <= bound ? error : 0;
}

}  // namespace stretto
