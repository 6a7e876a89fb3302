// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/repeated_rows.hpp"

#include <algorithm>
#include <bit>

#include "row_sums.hpp"

namespace stretto {
namespace {

constexpr int most_terms = 8;        // of a row in one pass: their sum stays in registers
constexpr std::size_t piece = 1024;  // elements of y that stay in the first-level cache between passes

/// y = (or +=) Σ value[k] x[k]
template <int terms, bool first, class T>
void pass(const T* values, const T* const* from, T* __restrict to, std::size_t size) {
    T value[terms];
    const T* x[terms];
    std::copy_n(values, terms, value);
    std::copy_n(from, terms, x);
    std::size_t i = 0;
    if constexpr (is_complex<T>)
        for (; i + 4 <= size; i += 4) {
            ProductSums<4, T> sums;
            for (int k = 0; k < terms; ++k) sums.add(value[k], x[k] + i);
            for (std::size_t r = 0; r < 4; ++r) to[i + r] = first ? sums[r] : to[i + r] + sums[r];
        }
#pragma omp simd
    for (std::size_t j = i; j < size; ++j) {
        T sum = first ? T{} : to[j];
        for (int k = 0; k < terms; ++k)
            if constexpr (is_complex<T>)
                sum += value[k] * x[k][j];
            else
                sum = multiply_add(value[k], x[k][j], sum);
        to[j] = sum;
    }
}

template <bool first, class T, int terms = most_terms>
void pass(int count, const T* values, const T* const* from, T* to, std::size_t size) {
    if (count == terms) return pass<terms, first>(values, from, to, size);
    if constexpr (terms > 1) pass<first, T, terms - 1>(count, values, from, to, size);
}

}  // namespace

template <class T>
bool RepeatedRows<T>::equals(const Row& row, const Index* columns, const T* values, Index count, Index place) const {
    if (row.end - row.begin != static_cast<std::size_t>(count)) return false;
    for (Index k = 0; k < count; ++k)
        if (offsets_[row.begin + static_cast<std::size_t>(k)] != columns[k] - place ||
            values_[row.begin + static_cast<std::size_t>(k)] != values[k])
            return false;
    return true;
}

/// The number of a row, new or known.
template <class T>
int RepeatedRows<T>::find(Known& known, const Index* columns, const T* values, Index count, Index place) {
    Content content;
    for (Index k = 0; k < count; ++k) content.emplace_back(columns[k] - place, std::bit_cast<Parts>(values[k]));
    const auto [found, fresh] = known.try_emplace(std::move(content), different_rows());
    if (fresh) {
        rows_.push_back({offsets_.size(), offsets_.size() + static_cast<std::size_t>(count)});
        for (const auto& [offset, value] : found->first) {
            offsets_.push_back(offset);
            values_.push_back(std::bit_cast<T>(value));
        }
    }
    return found->second;
}

template <class T>
auto RepeatedRows<T>::build(const InteriorRows<T>& rows) -> std::optional<RepeatedRows> {
    RepeatedRows form;
    Known known;
    for (const auto [begin, end] : rows.intervals)
        for (Index i = begin; i < end; ++i) {
            const Index* const own = rows.columns + rows.start[i];
            const T* const of = rows.values + rows.start[i];
            const Index count = rows.start[i + 1] - rows.start[i];
            Run* const last = form.runs_.empty() ? nullptr : &form.runs_.back();
            const bool same = last && form.equals(form.rows_[static_cast<std::size_t>(last->row)], own, of, count, i);
            if (same && last->end == i)
                ++last->end;
            else
                form.runs_.push_back({i, i + 1, same ? last->row : form.find(known, own, of, count, i)});
            if (form.different_rows() > most_different) return {};
        }
    if (rows.rows() < shortest_average * static_cast<Index>(form.runs_.size())) return {};
    return form;
}

template <class T>
void RepeatedRows<T>::apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const {
    const auto width = static_cast<std::size_t>(m);
    const auto multiply = [&](const Row& terms, std::size_t at, std::size_t last) {
        for (; at < last; at += piece) {
            const std::size_t size = std::min(piece, last - at);
            if (terms.begin == terms.end) std::fill_n(y + at, size, T{});
            for (std::size_t k = terms.begin; k < terms.end; k += most_terms) {
                const int count = static_cast<int>(std::min<std::size_t>(most_terms, terms.end - k));
                const T* from[most_terms];
                for (int each = 0; each < count; ++each)
                    from[each] = x + (static_cast<std::ptrdiff_t>(at) +
                                      static_cast<std::ptrdiff_t>(offsets_[k + static_cast<std::size_t>(each)]) * m);
                if (k == terms.begin)
                    pass<true>(count, &values_[k], from, y + at, size);
                else
                    pass<false>(count, &values_[k], from, y + at, size);
            }
            finished(static_cast<Index>(at / width), static_cast<Index>((at + size) / width));  // whole rows
        }
    };
    for (const auto& [begin, end, row] : runs_)
        pieces(static_cast<std::size_t>(begin) * width, static_cast<std::size_t>(end) * width,
               [&, &terms = rows_[static_cast<std::size_t>(row)]](std::size_t at, std::size_t last) {
                   multiply(terms, at, last);
               });
}

template class RepeatedRows<double>;
template class RepeatedRows<float>;
#if STRETTO_COMPLEX
template class RepeatedRows<std::complex<double>>;
template class RepeatedRows<std::complex<float>>;
#endif

}  // namespace stretto
