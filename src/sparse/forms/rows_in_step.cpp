// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/rows_in_step.hpp"

#include <algorithm>
#include <cstdlib>

#include "row_sums.hpp"

namespace stretto {
namespace {

/// The hardware's prefetcher alone keeps a core at half of its bandwidth: ask for values this many elements ahead.
constexpr std::size_t elements_ahead = 512;
constexpr std::ptrdiff_t rows_ahead = 16;
constexpr Index longest_run = 1024;  // between two looks at what is in flight

/// A run is cut into strips of 32 rows, of complex values 8, then of 8, then of 1, whose sums stay in registers.
template <class T, class Strip>
void each_strip(std::size_t rows, Strip&& strip) {
    constexpr std::size_t widest = is_complex<T> ? 8 : 32;
    std::size_t i = 0;
    for (; i + widest <= rows; i += widest) strip(std::integral_constant<std::size_t, widest>(), i);
    for (; i + 8 <= rows; i += 8) strip(std::integral_constant<std::size_t, 8>(), i);
    for (; i < rows; ++i) strip(std::integral_constant<std::size_t, 1>(), i);
}

/// The values of a run in the order in which they are read: strip by strip, in a strip term by term.
template <class V>
struct ByStrips {
    static constexpr std::size_t ahead = elements_ahead;
    static constexpr bool hermitian = false;

    V values;  // of the run
    std::size_t terms;

    V of(std::size_t term, std::size_t first_row, std::size_t width) const {
        return values + (first_row * terms + term * width);
    }
};

/// The values of a run on their diagonals; those of a hermitian matrix below the main one are the conjugates.
template <bool of_hermitian, class V>
struct ByDiagonals {
    static constexpr std::size_t ahead = elements_ahead / 4;  // as there are several streams
    static constexpr bool hermitian = of_hermitian;

    V values;  // of the run's first row, before places
    const std::size_t* places;

    V of(std::size_t term, std::size_t first_row, std::size_t) const { return values + (first_row + places[term]); }
};

/// y = A x in the rows of a run, the first of which x and y begin with.
template <class Values, class T>
[[gnu::noinline]] void multiply(std::integral_constant<int, 1>, Values values,
                                const std::vector<std::ptrdiff_t>& offsets, std::size_t rows, const T* x, T* y) {
    const std::ptrdiff_t* const offset = offsets.data();
    const std::size_t terms = offsets.size();
    each_strip<T>(rows, [&]<std::size_t width>(std::integral_constant<std::size_t, width>, std::size_t i) {
        ProductSums<width, T> sums;
        for (std::size_t k = 0; k < terms; ++k) {
            const auto value = values.of(k, i, width);
            prefetch_values(value, Values::ahead, width);
            const T* const from = x + i + offset[k];
            if (Values::hermitian && offset[k] < 0)
                sums.template add_each<Values::hermitian>(value, from);
            else
                sums.add_each(value, from);
        }
        sums.store(y + i);
    });
}

template <class M, class Values, class T>
[[gnu::noinline]] void multiply(M m, Values values, const std::vector<std::ptrdiff_t>& offsets, std::size_t rows,
                                const T* x, T* y) {
    const auto stride = static_cast<std::ptrdiff_t>(m);
    const std::size_t terms = offsets.size();
    each_strip<T>(rows, [&]<std::size_t width>(std::integral_constant<std::size_t, width>, std::size_t begin) {
        for (std::size_t k = 0; k < terms; ++k) prefetch_values(values.of(k, begin, width), Values::ahead, width);
        cover<widest_sums<T>>(m, [&]<int Width>(int c) {
            // So many rows at once as leave their sums in registers.
            constexpr std::size_t high = std::min<std::size_t>(width, std::clamp(32 / Width, 1, 4));
            for (std::size_t r = 0; r < width; r += high) {
                ProductSums<static_cast<std::size_t>(Width), T> sums[high];
                const auto i = static_cast<std::ptrdiff_t>(begin + r);
                if (Width >= 4 && terms > 0)
                    for (std::size_t q = 0; q < high; ++q)
                        for (int j = 0; j < Width; j += 64 / sizeof(T))
                            __builtin_prefetch(
                                x + (i + static_cast<std::ptrdiff_t>(q) + rows_ahead + offsets.back()) * stride + c +
                                j);
                for (std::size_t k = 0; k < terms; ++k) {
                    const auto value = values.of(k, begin, width) + r;
                    const T* const from = x + (i + offsets[k]) * stride + c;
                    const bool conjugated = Values::hermitian && offsets[k] < 0;
                    for (std::size_t q = 0; q < high; ++q) {
                        const auto factor = static_cast<T>(value[q]);
                        sums[q].add(conjugated ? conjugate(factor) : factor,
                                    from + q * static_cast<std::size_t>(stride));
                    }
                }
                for (std::size_t q = 0; q < high; ++q)
                    sums[q].store(y + (i + static_cast<std::ptrdiff_t>(q)) * stride + c);
            }
        });
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

/// False: they do not pay.
template <class T>
bool RowsInStep<T>::find_runs(const InteriorRows<T>& rows) {
    std::map<Pattern, int> known;
    for (const auto [first, last] : rows.intervals)
        for (Index i = first; i < last; ++i) {
            const Index* const own = rows.columns + rows.start[i];
            const Index count = rows.start[i + 1] - rows.start[i];
            if (!runs_.empty() && continues(runs_.back(), own, count, i)) {
                ++runs_.back().end;
                continue;
            }
            Pattern pattern;
            for (Index k = 0; k < count; ++k) pattern.push_back(own[k] - i);
            const auto [found, fresh] = known.try_emplace(pattern, static_cast<int>(patterns_.size()));
            if (fresh) patterns_.push_back(std::move(pattern));
            if (patterns_.size() > most_different) return false;
            runs_.push_back({i, i + 1, found->second});
        }
    nonzeros_ = rows.nonzeros();
    return rows.rows() >= shortest_average * static_cast<Index>(runs_.size());
}

template <class T>
auto RowsInStep<T>::build(const InteriorRows<T>& rows) -> std::optional<RowsInStep> {
    RowsInStep form;
    if (!form.find_runs(rows)) return {};
    if (!form.store_diagonals(rows)) form.store_runs(rows);
    return form;
}

template <class T>
void RowsInStep<T>::store_runs(const InteriorRows<T>& rows) {
    typename PackedValues<T>::Survey survey;
    for (const auto [begin, end] : rows.intervals)
        std::for_each(rows.values + rows.start[begin], rows.values + rows.start[end],
                      [&](T value) { survey.see(value); });
    values_ = PackedValues<T>(survey, nonzeros_, elements_ahead, [&](auto put) {
        for (const auto& [begin, end, pattern] : runs_) {
            const std::size_t terms = patterns_[static_cast<std::size_t>(pattern)].size();
            const T* const from = rows.values + rows.start[begin];  // rows of a run are of one length
            each_strip<T>(static_cast<std::size_t>(end - begin), [&](std::size_t width, std::size_t i) {
                for (std::size_t k = 0; k < terms; ++k)
                    for (std::size_t r = i; r < i + width; ++r) put(from[r * terms + k]);
            });
        }
    });
    stored_ = nonzeros_;
}

/// Finds a place for each diagonal on and above the main one, where they are few and nearly full. A value will stand in
/// the row of its lower index. False: they are not.
template <class T>
bool RowsInStep<T>::place_diagonals() {
    std::map<std::ptrdiff_t, std::size_t> diagonals;  // offset, and which it is
    std::ptrdiff_t lowest = runs_.front().begin, furthest = 0;
    for (const auto& [begin, end, pattern] : runs_)
        for (const std::ptrdiff_t offset : patterns_[static_cast<std::size_t>(pattern)]) {
            diagonals.try_emplace(std::abs(offset), diagonals.size());
            furthest = std::max(furthest, -offset);
            lowest = std::min(lowest, begin + std::min<std::ptrdiff_t>(offset, 0));
        }
    const auto rows = static_cast<std::size_t>(runs_.back().end - lowest);
    if (static_cast<double>(diagonals.size() * rows) > most_of_nonzeros * static_cast<double>(nonzeros_)) return false;
    // Diagonals that began at the same place of a page would be in each other's way in the first cache.
    constexpr std::size_t page = 4096 / sizeof(T), stagger = 9 * 64 / sizeof(T);
    const std::size_t length = (rows + page - 1) / page * page + stagger;
    const auto front = static_cast<std::size_t>(furthest);  // so that no place is before the first

    lowest_ = lowest;
    size_ = front + diagonals.size() * length;
    places_.resize(patterns_.size());
    for (std::size_t p = 0; p < patterns_.size(); ++p)
        for (const std::ptrdiff_t offset : patterns_[p])
            places_[p].push_back(front + diagonals[std::abs(offset)] * length -
                                 static_cast<std::size_t>(std::max<std::ptrdiff_t>(-offset, 0)));
    return true;
}

/// Stores the diagonals on and above the main one, where no two mirror images differ in these rows, and it pays. False:
/// it does not, and nothing is stored.
template <class T>
bool RowsInStep<T>::store_diagonals(const InteriorRows<T>& rows) {
    if (!place_diagonals()) return false;
    if (fill_diagonals(rows)) return true;
    hermitian_ = is_complex<T>;
    if (hermitian_ && fill_diagonals(rows)) return true;
    hermitian_ = false;
    places_.clear();
    return false;
}

/// False: two mirror images differ.
template <class T>
bool RowsInStep<T>::fill_diagonals(const InteriorRows<T>& rows) {
    Buffer<T> diagonals(size_);
    std::ranges::fill(diagonals.values(), T{});
    std::vector<bool> taken(size_);
    stored_ = 0;
    for (const auto& [begin, end, number] : runs_)
        for (Index i = begin; i < end; ++i) {
            const auto pattern = static_cast<std::size_t>(number);
            const T* from = rows.values + rows.start[i];
            for (std::size_t k = 0; k < patterns_[pattern].size(); ++k, ++from) {
                const std::size_t at = places_[pattern][k] + static_cast<std::size_t>(i - lowest_);
                const T value = hermitian_ && patterns_[pattern][k] < 0 ? conjugate(*from) : *from;
                if (taken[at] && diagonals[at] != value) return false;
                if (taken[at]) continue;
                taken[at] = true;
                diagonals[at] = value;
                ++stored_;
            }
        }
    typename PackedValues<T>::Survey survey;
    for (const T value : diagonals.values()) survey.see(value);
    values_ = PackedValues<T>(survey, size_, elements_ahead,
                              [&](auto put) { std::ranges::for_each(diagonals.values(), put); });
    return true;
}

template <class T>
void RowsInStep<T>::apply(const T* x, T* y, int m, Pieces pieces, FinishedRows& finished) const {
    values_.visit([&](auto values) {
        with_columns<T>(m, [&](auto width) {
            pieces(0, runs_.size(), [&](std::size_t first, std::size_t last) {
                for (std::size_t k = first; k < last; ++k) {
                    const auto& [begin, end, number] = runs_[k];
                    const auto pattern = static_cast<std::size_t>(number);
                    const auto& offsets = patterns_[pattern];
                    const auto rows = static_cast<std::size_t>(end - begin);
                    const auto origin = static_cast<std::ptrdiff_t>(begin) * m;
                    const auto by_diagonals = [&](auto hermitian) {
                        const ByDiagonals<hermitian, decltype(values)> diagonals{
                            values + static_cast<std::size_t>(begin - lowest_), places_[pattern].data()};
                        multiply(width, diagonals, offsets, rows, x + origin, y + origin);
                    };
                    if (is_complex<T> && hermitian_) {
                        by_diagonals(std::bool_constant<is_complex<T>>());
                    } else if (is_halved()) {
                        by_diagonals(std::false_type());
                    } else {
                        multiply(width, ByStrips{values, offsets.size()}, offsets, rows, x + origin, y + origin);
                        values += rows * offsets.size();
                    }
                    finished(begin, end);
                }
            });
        });
    });
}

template <class T>
double RowsInStep<T>::bytes() const {
    return static_cast<double>(runs_.size() * sizeof(Run)) + static_cast<double>(stored_ * values_.width());
}

template class RowsInStep<double>;
template class RowsInStep<float>;
#if STRETTO_COMPLEX
template class RowsInStep<std::complex<double>>;
template class RowsInStep<std::complex<float>>;
#endif

}  // namespace stretto
