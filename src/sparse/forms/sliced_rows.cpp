// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/sliced_rows.hpp"

#include <algorithm>
#include <limits>

namespace stretto {
namespace {

/// The hardware's prefetcher alone keeps a core at half of its bandwidth: ask for what is this many elements ahead.
constexpr std::size_t elements_ahead = 512;

/// A slice: sum_r = Σ_k value(k, r) x(nearest(k) + further(k, r)). Without vector instructions, which would gather:
/// loading one by one is faster.
template <std::size_t height, class V, class T>
[[gnu::optimize("no-tree-vectorize"), gnu::noinline]] void multiply(V values, const Index* nearest,
                                                                    const std::uint16_t* further, int terms, const T* x,
                                                                    T* sum) {
    T s[height] = {};
    for (int k = 0; k < terms; ++k) {
        prefetch_value(values + elements_ahead);
        __builtin_prefetch(further + elements_ahead);
        const T* const from = x + nearest[k];
        for (std::size_t r = 0; r < height; ++r) s[r] += static_cast<T>(values[r]) * from[further[r]];
        values += height;
        further += height;
    }
    for (std::size_t r = 0; r < height; ++r) sum[r] = s[r];
}

}  // namespace

template <class T>
SlicedRows<T>::SlicedRows(const Index* start, const Index* columns, const T* values, std::vector<Index> rows) {
    const auto length = [start](Index row) { return start[row + 1] - start[row]; };
    const auto count = static_cast<std::ptrdiff_t>(rows.size());
    double nonzeros = 0;
    for (std::ptrdiff_t at = 0; at < count; at += window) {
        const auto first = rows.begin() + at, last = rows.begin() + std::min(count, at + window);
        windows_.push_back(ranges_.size());
        for (auto row = first; row != last; ++row)
            if (row != first && ranges_.back().end == *row)
                ++ranges_.back().end;
            else
                ranges_.push_back({*row, *row + 1});
        std::stable_sort(first, last, [&](Index a, Index b) { return length(a) > length(b); });
    }
    windows_.push_back(ranges_.size());
    typename PackedValues<T>::Survey survey;
    for (std::ptrdiff_t at = 0; at < count; at += height) {
        Slice slice{length(rows[static_cast<std::size_t>(at)]), {}};
        for (std::ptrdiff_t r = 0; r < height; ++r)
            slice.row[r] = at + r < count ? rows[static_cast<std::size_t>(at + r)] : -1;
        slices_.push_back(slice);
        terms_ += static_cast<std::size_t>(slice.terms);
    }
    for (const Index row : rows) {
        nonzeros += length(row);
        std::for_each(values + start[row], values + start[row + 1], [&](T value) { survey.see(value); });
    }
    survey.see(0);  // what short rows are filled up with
    const bool fits = place_columns(start, columns);
    if (fits)
        values_ = PackedValues<T>(survey, height * terms_, elements_ahead, [&](auto put) {
            for (const auto& [terms, row] : slices_)
                for (Index k = 0; k < terms; ++k)
                    for (const Index i : row) put(i >= 0 && k < length(i) ? values[start[i] + k] : T{});
        });
    const double compressed =
        nonzeros * static_cast<double>(sizeof(T) + sizeof(Index)) + static_cast<double>(rows.size() * sizeof(Index));
    if (!fits || bytes() >= compressed) *this = {};
}

/// Whether the columns of every term are near enough to each other.
template <class T>
bool SlicedRows<T>::place_columns(const Index* start, const Index* columns) {
    nearest_ = Buffer<Index>(terms_);
    further_ = Buffer<std::uint16_t>(height * terms_ + elements_ahead);
    std::size_t term = 0;
    for (const auto& [terms, row] : slices_)
        for (Index k = 0; k < terms; ++k, ++term) {
            Index smallest = std::numeric_limits<Index>::max(), largest = 0;
            const auto each = [&](auto&& work) {
                for (int r = 0; r < height; ++r)
                    if (const Index i = row[r]; i >= 0 && k < start[i + 1] - start[i]) work(r, columns[start[i] + k]);
            };
            each([&](int, Index column) {
                smallest = std::min(smallest, column);
                largest = std::max(largest, column);
            });
            if (largest - smallest > std::numeric_limits<std::uint16_t>::max()) return false;
            nearest_[term] = smallest;
            std::uint16_t* const to = further_.data() + height * term;
            std::fill_n(to, height, std::uint16_t{0});
            each([&](int r, Index column) { to[r] = static_cast<std::uint16_t>(column - smallest); });
        }
    return true;
}

template <class T>
void SlicedRows<T>::apply(const T* x, T* y, Pieces pieces, FinishedRows& finished) const {
    values_.visit([&](auto values) {
        const Index* nearest = nearest_.data();
        const std::uint16_t* further = further_.data();
        pieces(0, slices_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t s = first; s < last; ++s) {
                const auto& [terms, row] = slices_[s];
                T sum[height];
                multiply<height>(values, nearest, further, terms, x, sum);
                for (int r = 0; r < height; ++r)
                    if (row[r] >= 0) y[row[r]] = sum[r];
                nearest += terms;
                further += height * terms;
                values += static_cast<std::size_t>(height) * static_cast<std::size_t>(terms);
                if ((s + 1) % slices_of_window > 0 && s + 1 < slices_.size()) continue;
                for (std::size_t k = windows_[s / slices_of_window]; k < windows_[s / slices_of_window + 1]; ++k)
                    finished(ranges_[k].begin, ranges_[k].end);
            }
        });
    });
}

template <class T>
double SlicedRows<T>::bytes() const {
    return values_.bytes() + static_cast<double>(slices_.size() * sizeof(Slice) +
                                                 terms_ * (sizeof(Index) + height * sizeof(std::uint16_t)));
}

template class SlicedRows<double>;

}  // namespace stretto
