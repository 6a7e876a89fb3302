// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <ranges>

#include "../../sparse/forms/row_sums.hpp"
#include "solver.hpp"

namespace stretto {

namespace {
/// Where the rows of a half begin, of which `entries(k)` has the kth.
template <class Entries>
std::vector<Index> starts(Index rows, Entries&& entries) {
    std::vector<Index> start(static_cast<std::size_t>(rows) + 1);
    for (Index k = 0; k < rows; ++k) start[k + 1] = start[k] + static_cast<Index>(entries(k).size());
    return start;
}
}  // namespace

template <class V>
TriangularOf<V>::TriangularOf(const Block& lower, const std::vector<double>& diagonal, const Block& upper,
                              std::vector<Index> row_order, std::vector<Index> column_order,
                              std::vector<double> row_scale)
    : lower_(starts(lower.rows(), [&](Index i) { return lower.before(i, i); })),
      upper_(starts(upper.rows(), [&, n = upper.rows()](Index k) { return upper.after(n - 1 - k, n - 1 - k); })),
      row_order_(std::move(row_order)),
      column_order_(std::move(column_order)),
      row_scale_(std::move(row_scale)) {
    for (const double pivot : diagonal) inverse_.push_back(static_cast<V>(1 / pivot));
    std::size_t at = 0;
    for (Index i = 0; i < rows(); ++i)
        for (const std::size_t k : lower.before(i, i)) {
            lower_.columns[at] = lower.columns[k];
            lower_.values[at++] = static_cast<V>(lower.values[k]);
        }
    at = 0;
    for (Index i = rows(); i-- > 0;)
        for (const std::size_t k : upper.after(i, i) | std::views::reverse) {
            upper_.columns[at] = upper.columns[k];
            upper_.values[at++] = static_cast<V>(upper.values[k]) * inverse_[i];
        }
}

namespace {
/// sum − Σ values · z
template <int Width, class V, class T>
void subtract(T (&sum)[Width], const V* values, const Index* columns, Index begin, Index end, const T* z,
              std::size_t stride) {
    for (Index k = begin; k < end; ++k) {
        const T value = static_cast<T>(values[k]);
        const T* const row = z + static_cast<std::size_t>(columns[k]) * stride;
        for (int j = 0; j < Width; ++j) sum[j] -= value * row[j];
    }
}

/// Rows at … last − 1 of one half with one column: z of row(at) = scale(at) · from − Σ values · z. A row mostly waits
/// for the one before it, whose column comes last: its z is in a register.
template <class V, class T, class Row, class Scale>
void sweep_column(const Half<V>& half, std::size_t at, std::size_t last, const T* from, T* z, Row row, Scale scale) {
    Index before = -1;
    T z_before = 0;
    for (; at < last; ++at) {
        const std::size_t place = row(at);
        const Index begin = half.start[at], end = half.start[at + 1];
        T sum[] = {scale(at) * from[place]};
        if (end > begin && half.columns[static_cast<std::size_t>(end) - 1] == before) {
            subtract(sum, half.values.data(), half.columns.data(), begin, end - 1, z, 1);
            sum[0] -= static_cast<T>(half.values[static_cast<std::size_t>(end) - 1]) * z_before;
        } else {
            subtract(sum, half.values.data(), half.columns.data(), begin, end, z, 1);
        }
        z[place] = z_before = sum[0];
        before = static_cast<Index>(place);
    }
}
}  // namespace

/// r may be z.
template <class V>
template <class T>
void TriangularOf<V>::solve_in_place(const T* r, T* z, int columns, Pieces pieces) const {
    const auto n = static_cast<std::size_t>(rows());
    const auto halves = [&](auto&& sweep) {
        pieces(0, n, [&](std::size_t i, std::size_t last) {
            sweep(lower_, i, last, r, [](std::size_t at) { return at; }, [](std::size_t) { return T{1}; });
        });
        pieces(0, n, [&](std::size_t i, std::size_t last) {
            const auto row = [n](std::size_t at) { return n - 1 - at; };
            sweep(upper_, i, last, z, row, [&](std::size_t at) { return static_cast<T>(inverse_[row(at)]); });
        });
    };
    if (columns == 1)
        return halves([z](const Half<V>& half, std::size_t at, std::size_t last, const T* from, auto row, auto scale) {
            sweep_column(half, at, last, from, z, row, scale);
        });
    with_columns(columns, [&](auto m) {
        const auto stride = static_cast<std::size_t>(m);
        halves([&](const Half<V>& half, std::size_t at, std::size_t last, const T* from, auto row, auto scale) {
            for (; at < last; ++at)
                cover(m, [&]<int Width>(int c) {
                    const std::size_t place = row(at) * stride + static_cast<std::size_t>(c);
                    T sum[Width];
                    for (int j = 0; j < Width; ++j) sum[j] = scale(at) * from[place + j];
                    subtract(sum, half.values.data(), half.columns.data(), half.start[at], half.start[at + 1], z + c,
                             stride);
                    for (int j = 0; j < Width; ++j) z[place + j] = sum[j];
                });
        });
    });
}

template <class V>
void TriangularOf<V>::solve_transpose_in_place(double* z, int m) const {
    const auto stride = static_cast<std::size_t>(m);
    const auto n = static_cast<std::size_t>(rows());
    const auto sweep = [&](const Half<V>& half, std::size_t at, std::size_t row, double scale) {
        double* const own = z + row * stride;
        for (auto k = half.start[at]; k < half.start[at + 1]; ++k) {
            double* const to = z + static_cast<std::size_t>(half.columns[k]) * stride;
            for (std::size_t j = 0; j < stride; ++j) to[j] -= half.values[k] * own[j];
        }
        for (std::size_t j = 0; j < stride; ++j) own[j] *= scale;
    };
    for (std::size_t i = 0; i < n; ++i) sweep(upper_, n - 1 - i, i, inverse_[i]);
    for (std::size_t i = n; i-- > 0;) sweep(lower_, i, i, 1);
}

namespace {
/// to[k] = from[order[k]], rows of m values; an empty scale is one everywhere.
template <class T>
void gather(const std::vector<Index>& order, const std::vector<double>& scale, const T* from, T* to, std::size_t m) {
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto row = static_cast<std::size_t>(order[k]);
        const T factor = scale.empty() ? T{1} : static_cast<T>(scale[row]);
        for (std::size_t j = 0; j < m; ++j) to[k * m + j] = factor * from[row * m + j];
    }
}
template <class T>
void scatter(const std::vector<Index>& order, const std::vector<double>& scale, const T* from, T* to, std::size_t m) {
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto row = static_cast<std::size_t>(order[k]);
        const T factor = scale.empty() ? T{1} : static_cast<T>(scale[row]);
        for (std::size_t j = 0; j < m; ++j) to[row * m + j] = factor * from[k * m + j];
    }
}
}  // namespace

template <class V>
template <class T>
void TriangularOf<V>::solve_for(const T* r, T* z, int m, Pieces pieces) const {
    if (row_order_.empty()) return solve_in_place(r, z, m, pieces);
    const auto width = static_cast<std::size_t>(m);
    auto& work = std::get<std::vector<T>>(work_);
    work.resize(std::max(work.size(), inverse_.size() * width));
    gather(row_order_, row_scale_, r, work.data(), width);
    solve_in_place<T>(work.data(), work.data(), m, pieces);
    scatter<T>(column_order_, {}, work.data(), z, width);
}

template <class V>
void TriangularOf<V>::solve_transpose(const double* r, double* z, int m) const {
    const auto width = static_cast<std::size_t>(m);
    if (row_order_.empty()) {
        std::copy_n(r, inverse_.size() * width, z);
        return solve_transpose_in_place(z, m);
    }
    auto& work = std::get<std::vector<double>>(work_);
    work.resize(std::max(work.size(), inverse_.size() * width));
    gather(column_order_, {}, r, work.data(), width);
    solve_transpose_in_place(work.data(), m);
    scatter(row_order_, row_scale_, work.data(), z, width);
}

template <class V>
double TriangularOf<V>::stored() const {
    const auto entries = static_cast<double>(lower_.values.size() + upper_.values.size());
    const auto n = static_cast<double>(inverse_.size());
    return entries * (sizeof(V) + sizeof(Index)) + n * (sizeof(V) + 2 * sizeof(Index)) +
           static_cast<double>((row_order_.size() + column_order_.size()) * sizeof(Index) +
                               row_scale_.size() * sizeof(double));
}

template class TriangularOf<double>;
template class TriangularOf<float>;

}  // namespace stretto
