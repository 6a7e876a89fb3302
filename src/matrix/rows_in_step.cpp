// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/matrix/rows_in_step.hpp"

#include <algorithm>

#include "row_sums.hpp"

namespace stretto {
namespace {

/// The hardware's prefetcher alone keeps a core at half of its bandwidth: ask for values this many elements ahead.
constexpr std::size_t elements_ahead = 512;
constexpr Index longest_run = 1024;  // between two looks at what is in flight

/// A run is cut into strips of 32 rows, then of 8, then of 1, whose sums stay in registers. Values stand in the order
/// in which they are read: strip by strip, in a strip term by term.
template <class Strip>
void each_strip(std::size_t rows, Strip&& strip) {
    std::size_t i = 0;
    for (; i + 32 <= rows; i += 32) strip(std::integral_constant<std::size_t, 32>(), i);
    for (; i + 8 <= rows; i += 8) strip(std::integral_constant<std::size_t, 8>(), i);
    for (; i < rows; ++i) strip(std::integral_constant<std::size_t, 1>(), i);
}

template <class V>
void prefetch(const V& values, std::size_t width) {
    for (std::size_t at = 0; at < width; at += 64 / element_size<V>) prefetch_value(values + (elements_ahead + at));
}

/// y = A x in the rows of a run, the first of which x and y begin with.
template <class V, class T>
[[gnu::noinline]] void multiply(std::integral_constant<int, 1>, V values, const std::vector<std::ptrdiff_t>& offsets,
                                std::size_t rows, const T* x, T* y) {
    const std::ptrdiff_t *const first = offsets.data(), *const last = first + offsets.size();
    each_strip(rows, [&]<std::size_t width>(std::integral_constant<std::size_t, width>, std::size_t i) {
        T sum[width] = {};
        for (const std::ptrdiff_t* offset = first; offset != last; ++offset, values += width) {
            prefetch(values, width);
            const T* const from = x + i + *offset;
#pragma omp simd
            for (std::size_t r = 0; r < width; ++r) sum[r] += static_cast<T>(values[r]) * from[r];
        }
        std::copy_n(sum, width, y + i);
    });
}

template <class M, class V, class T>
[[gnu::noinline]] void multiply(M m, V values, const std::vector<std::ptrdiff_t>& offsets, std::size_t rows, const T* x,
                                T* y) {
    const auto stride = static_cast<std::ptrdiff_t>(m);
    each_strip(rows, [&]<std::size_t width>(std::integral_constant<std::size_t, width>, std::size_t begin) {
        prefetch(values, width * offsets.size());
        for (std::size_t r = 0; r < width; ++r) {
            const auto i = static_cast<std::ptrdiff_t>(begin + r);
            cover(m, [&]<int Width>(int c) {
                T sum[Width] = {};
                V value = values + r;
                for (const std::ptrdiff_t offset : offsets) {
                    const T* const from = x + (i + offset) * stride + c;
                    for (int j = 0; j < Width; ++j) sum[j] += static_cast<T>(value[0]) * from[j];
                    value += width;
                }
                std::copy_n(sum, Width, y + i * stride + c);
            });
        }
        values += width * offsets.size();
    });
}

}  // namespace

template <class T>
bool RowsInStep<T>::continues(const Run& run, const Index* columns, Index count, Index row) const {
    const auto& pattern = patterns_[static_cast<std::size_t>(run.pattern)];
    return run.end == row && run.end - run.begin < longest_run && pattern.size() == static_cast<std::size_t>(count) &&
           std::equal(
               pattern.begin(), pattern.end(), columns,
               [row](std::ptrdiff_t offset, Index column) { return offset == column - row; });
}

template <class T>
void RowsInStep<T>::add(const Index* start, const Index* columns, Index begin, Index end) {
    for (Index i = begin; i < end && !given_up_; ++i, ++added_) {
        const Index* const own = columns + start[i];
        const Index count = start[i + 1] - start[i];
        if (!runs_.empty() && continues(runs_.back(), own, count, i)) {
            ++runs_.back().end;
        } else {
            Pattern pattern;
            for (Index k = 0; k < count; ++k) pattern.push_back(own[k] - i);
            const auto [known, fresh] = known_.try_emplace(pattern, static_cast<int>(patterns_.size()));
            if (fresh) patterns_.push_back(std::move(pattern));
            runs_.push_back({i, i + 1, known->second});
        }
        nonzeros_ += static_cast<std::size_t>(count);
        given_up_ = patterns_.size() > most_different;
    }
}

template <class T>
void RowsInStep<T>::finish(const Index* start, const T* values) {
    known_.clear();
    if (given_up_ || added_ < shortest_average * static_cast<Index>(runs_.size())) {
        *this = {};
        return;
    }
    typename PackedValues<T>::Survey survey;
    for (const auto& run : runs_)
        std::for_each(values + start[run.begin], values + start[run.end], [&](T value) { survey.see(value); });
    values_ = PackedValues<T>(survey, nonzeros_, elements_ahead, [&](auto put) {
        for (const auto& [begin, end, pattern] : runs_) {
            const std::size_t terms = patterns_[static_cast<std::size_t>(pattern)].size();
            const T* const from = values + start[begin];  // rows of a run are of one length
            each_strip(static_cast<std::size_t>(end - begin), [&](std::size_t width, std::size_t i) {
                for (std::size_t k = 0; k < terms; ++k)
                    for (std::size_t r = i; r < i + width; ++r) put(from[r * terms + k]);
            });
        }
    });
}

template <class T>
void RowsInStep<T>::apply(const T* x, T* y, int m, Pieces pieces) const {
    values_.visit([&](auto values) {
        with_columns(m, [&](auto width) {
            pieces(0, runs_.size(), [&](std::size_t first, std::size_t last) {
                for (std::size_t k = first; k < last; ++k) {
                    const auto& [begin, end, number] = runs_[k];
                    const auto& pattern = patterns_[static_cast<std::size_t>(number)];
                    const auto rows = static_cast<std::size_t>(end - begin);
                    const auto origin = static_cast<std::ptrdiff_t>(begin) * m;
                    multiply(width, values, pattern, rows, x + origin, y + origin);
                    values += rows * pattern.size();
                }
            });
        });
    });
}

template <class T>
double RowsInStep<T>::bytes() const {
    return static_cast<double>(runs_.size() * sizeof(Run)) + values_.bytes();
}

template class RowsInStep<double>;

}  // namespace stretto
