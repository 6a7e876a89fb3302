// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/sliced_rows.hpp"

#include <algorithm>
#include <limits>

#include "row_sums.hpp"

namespace stretto {
namespace {

/// The hardware's prefetcher alone keeps a core at half of its bandwidth: ask for what is this many elements ahead.
constexpr std::size_t elements_ahead = 512;

/// A slice: sum_r = Σ_k value(k, r) x(base(k) + offset(k, r)). Without vector instructions, which would gather:
/// loading one by one is faster.
template <std::size_t height, class V, class T>
[[gnu::optimize("no-tree-vectorize"), gnu::noinline]] void multiply(V values, const Index* base,
                                                                    const std::uint16_t* offset, int terms, const T* x,
                                                                    T* sum) {
    ProductSums<1, T> s[height];
    for (int k = 0; k < terms; ++k) {
        prefetch_values(values, elements_ahead, height);
        __builtin_prefetch(offset + elements_ahead);
        const T* const from = x + base[k];
        for (std::size_t r = 0; r < height; ++r) s[r].add(static_cast<T>(values[r]), from + offset[r]);
        values += height;
        offset += height;
    }
    for (std::size_t r = 0; r < height; ++r) sum[r] = s[r][0];
}

}  // namespace

template <class T>
auto SlicedRows<T>::build(const InteriorRows<T>& rows) -> std::optional<SlicedRows> {
    SlicedRows form;
    form.cut(rows);
    if (!form.place_columns(rows)) return {};
    form.store_values(rows);
    if (form.bytes() >= rows.bytes()) return {};
    return form;
}

/// Into windows, and these, by length, into slices.
template <class T>
void SlicedRows<T>::cut(const InteriorRows<T>& rows) {
    std::vector<Index> order;
    rows.each([&](Index row) { order.push_back(row); });
    const auto length = [&](Index row) { return rows.start[row + 1] - rows.start[row]; };
    const auto count = static_cast<std::ptrdiff_t>(order.size());
    for (std::ptrdiff_t at = 0; at < count; at += window) {
        const auto first = order.begin() + at, last = order.begin() + std::min(count, at + window);
        windows_.push_back(ranges_.size());
        for (auto row = first; row != last; ++row)
            if (row != first && ranges_.back().end == *row)
                ++ranges_.back().end;
            else
                ranges_.push_back({*row, *row + 1});
        std::stable_sort(first, last, [&](Index a, Index b) { return length(a) > length(b); });
    }
    windows_.push_back(ranges_.size());
    for (std::ptrdiff_t at = 0; at < count; at += height) {
        Slice slice{length(order[static_cast<std::size_t>(at)]), {}};
        for (std::ptrdiff_t r = 0; r < height; ++r)
            slice.row[r] = at + r < count ? order[static_cast<std::size_t>(at + r)] : -1;
        slices_.push_back(slice);
        terms_ += static_cast<std::size_t>(slice.terms);
    }
}

/// Whether the columns of every term are near enough to each other.
template <class T>
bool SlicedRows<T>::place_columns(const InteriorRows<T>& rows) {
    const Index *const start = rows.start, *const columns = rows.columns;
    base_column_ = Buffer<Index>(terms_);
    column_offset_ = Buffer<std::uint16_t>(height * terms_ + elements_ahead);
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
            base_column_[term] = smallest;
            std::uint16_t* const to = column_offset_.data() + height * term;
            std::fill_n(to, height, std::uint16_t{0});
            each([&](int r, Index column) { to[r] = static_cast<std::uint16_t>(column - smallest); });
        }
    return true;
}

template <class T>
void SlicedRows<T>::store_values(const InteriorRows<T>& rows) {
    typename PackedValues<T>::Survey survey;
    for (const auto& [terms, row] : slices_)
        for (const Index i : row)
            if (i >= 0)
                std::for_each(rows.values + rows.start[i], rows.values + rows.start[i + 1],
                              [&](T value) { survey.see(value); });
    survey.see(T{});  // what short rows are filled up with
    values_ = PackedValues<T>(survey, height * terms_, elements_ahead, [&](auto put) {
        for (const auto& [terms, row] : slices_)
            for (Index k = 0; k < terms; ++k)
                for (const Index i : row)
                    put(i >= 0 && k < rows.start[i + 1] - rows.start[i] ? rows.values[rows.start[i] + k] : T{});
    });
}

template <class T>
void SlicedRows<T>::apply(const T* x, T* y, int, Pieces pieces, FinishedRows& finished) const {
    values_.visit([&](auto values) {
        const Index* base = base_column_.data();
        const std::uint16_t* offset = column_offset_.data();
        pieces(0, slices_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t s = first; s < last; ++s) {
                const auto& [terms, row] = slices_[s];
                T sum[height];
                multiply<height>(values, base, offset, terms, x, sum);
                for (int r = 0; r < height; ++r)
                    if (row[r] >= 0) y[row[r]] = sum[r];
                base += terms;
                offset += height * terms;
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
template class SlicedRows<float>;
#if STRETTO_COMPLEX
template class SlicedRows<std::complex<double>>;
template class SlicedRows<std::complex<float>>;
#endif

}  // namespace stretto
