// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>

#include "../../sparse/forms/row_sums.hpp"
#include "solver.hpp"
#include "stretto/core/error.hpp"

namespace stretto {

void Triangular::Half::add_row(const std::vector<Entry>& entries) {
    if (columns.size() + entries.size() > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
        throw InputError("a factor has more entries than a local 32-bit index can count: use more ranks or blocks");
    for (const auto& [column, value] : entries) {
        columns.push_back(column);
        values.push_back(value);
    }
    start.push_back(static_cast<Index>(columns.size()));
}

void Triangular::add_row(const std::vector<Entry>& lower, double diagonal, const std::vector<Entry>& upper) {
    lower_.add_row(lower);
    upper_.add_row(upper);
    inverse_.push_back(1 / diagonal);
}

void Triangular::finish(std::vector<Index> row_order, std::vector<Index> column_order, std::vector<double> row_scale) {
    Half reversed;
    reversed.columns.reserve(upper_.columns.size());
    reversed.values.reserve(upper_.values.size());
    for (auto i = static_cast<std::size_t>(rows()); i-- > 0;) {
        for (auto k = upper_.start[i]; k < upper_.start[i + 1]; ++k) {
            reversed.columns.push_back(upper_.columns[k]);
            reversed.values.push_back(upper_.values[k]);
        }
        reversed.start.push_back(static_cast<Index>(reversed.columns.size()));
    }
    upper_ = std::move(reversed);
    lower_.columns.shrink_to_fit();
    lower_.values.shrink_to_fit();
    row_order_ = std::move(row_order);
    column_order_ = std::move(column_order);
    row_scale_ = std::move(row_scale);
}

/// r may be z.
void Triangular::solve_in_place(const double* r, double* z, int columns, Pieces pieces) const {
    with_columns(columns, [&](auto m) {
        const auto stride = static_cast<std::size_t>(m);
        const auto n = static_cast<std::size_t>(rows());
        const auto sweep = [&](const Half& half, std::size_t at, std::size_t row, const double* from, double scale) {
            cover(m, [&]<int Width>(int c) {
                RowSums<Width, double> sums;
                sums.add(half.values.data(), half.columns.data(), half.start[at], half.start[at + 1], z + c, stride);
                const std::size_t place = row * stride + static_cast<std::size_t>(c);
                for (int j = 0; j < Width; ++j) z[place + j] = scale * (from[place + j] - sums.sum[j]);
            });
        };
        pieces(0, n, [&](std::size_t i, std::size_t last) {
            for (; i < last; ++i) sweep(lower_, i, i, r, 1);
        });
        pieces(0, n, [&](std::size_t i, std::size_t last) {
            for (; i < last; ++i) sweep(upper_, i, n - 1 - i, z, inverse_[n - 1 - i]);
        });
    });
}

void Triangular::solve_transpose_in_place(double* z, int m) const {
    const auto stride = static_cast<std::size_t>(m);
    const auto n = static_cast<std::size_t>(rows());
    const auto sweep = [&](const Half& half, std::size_t at, std::size_t row, double scale) {
        double* const own = z + row * stride;
        for (std::size_t j = 0; j < stride; ++j) own[j] *= scale;
        for (auto k = half.start[at]; k < half.start[at + 1]; ++k) {
            double* const to = z + static_cast<std::size_t>(half.columns[k]) * stride;
            for (std::size_t j = 0; j < stride; ++j) to[j] -= half.values[k] * own[j];
        }
    };
    for (std::size_t i = 0; i < n; ++i) sweep(upper_, n - 1 - i, i, inverse_[i]);
    for (std::size_t i = n; i-- > 0;) sweep(lower_, i, i, 1);
}

namespace {
/// to[k] = from[order[k]], rows of m values; an empty scale is one everywhere.
void gather(const std::vector<Index>& order, const std::vector<double>& scale, const double* from, double* to,
            std::size_t m) {
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto row = static_cast<std::size_t>(order[k]);
        const double factor = scale.empty() ? 1 : scale[row];
        for (std::size_t j = 0; j < m; ++j) to[k * m + j] = factor * from[row * m + j];
    }
}
void scatter(const std::vector<Index>& order, const std::vector<double>& scale, const double* from, double* to,
             std::size_t m) {
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto row = static_cast<std::size_t>(order[k]);
        const double factor = scale.empty() ? 1 : scale[row];
        for (std::size_t j = 0; j < m; ++j) to[row * m + j] = factor * from[k * m + j];
    }
}
}  // namespace

void Triangular::solve(const double* r, double* z, int m, Pieces pieces) const {
    if (row_order_.empty()) return solve_in_place(r, z, m, pieces);
    const auto width = static_cast<std::size_t>(m);
    work_.resize(std::max(work_.size(), inverse_.size() * width));
    gather(row_order_, row_scale_, r, work_.data(), width);
    solve_in_place(work_.data(), work_.data(), m, pieces);
    scatter(column_order_, {}, work_.data(), z, width);
}

void Triangular::solve_transpose(const double* r, double* z, int m) const {
    const auto width = static_cast<std::size_t>(m);
    if (row_order_.empty()) {
        std::copy_n(r, inverse_.size() * width, z);
        return solve_transpose_in_place(z, m);
    }
    work_.resize(std::max(work_.size(), inverse_.size() * width));
    gather(column_order_, {}, r, work_.data(), width);
    solve_transpose_in_place(work_.data(), m);
    scatter(row_order_, row_scale_, work_.data(), z, width);
}

double Triangular::stored() const {
    const auto entries = static_cast<double>(lower_.values.size() + upper_.values.size());
    const auto n = static_cast<double>(inverse_.size());
    return entries * (sizeof(double) + sizeof(Index)) + n * (sizeof(double) + 2 * sizeof(Index)) +
           static_cast<double>((row_order_.size() + column_order_.size()) * sizeof(Index) +
                               row_scale_.size() * sizeof(double));
}

}  // namespace stretto
