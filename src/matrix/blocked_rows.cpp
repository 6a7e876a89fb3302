// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/matrix/blocked_rows.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

namespace stretto {
namespace {

constexpr std::size_t elements_ahead = 512;
constexpr Index longest_step = std::numeric_limits<std::uint16_t>::max();
/// What a term of a block costs besides its values, in bytes of them: its step, and loading the entry of x.
constexpr std::size_t cost_of_term = 4;
/// Blocks with fewer nonzeros a term than this do not pay.
constexpr std::size_t least_filled = 2;
/// Not even looked at further where so many terms more than nonzeros have come up, which is memory.
constexpr std::size_t most_terms_more = std::size_t{1} << 20;

/// Values of a column of a block that are loaded at once: a power of two, where what is behind them may be loaded with
/// them.
template <class V, std::size_t height>
constexpr std::size_t lanes = !std::is_pointer_v<V> ? height
                              : height <= 2         ? height
                              : height <= 4         ? 4
                                                    : 8;

/// A block: y_r = Σ_k value(k, r) x(column(k)), in two sums that do not wait for each other.
template <std::size_t height, class V, class T>
[[gnu::noinline]] void multiply(V values, const std::uint16_t* steps, int terms, const T* x, T* y) {
    constexpr std::size_t width = lanes<V, height>;
    T even[width] = {}, odd[width] = {};
    int k = 0;
    for (; k + 1 < terms; k += 2, steps += 2, values += 2 * height) {
        prefetch_value(values + elements_ahead);
        x += steps[0];
        const T first = *x;
        x += steps[1];
        const T second = *x;
#pragma omp simd
        for (std::size_t r = 0; r < width; ++r) even[r] += static_cast<T>(values[r]) * first;
#pragma omp simd
        for (std::size_t r = 0; r < width; ++r) odd[r] += static_cast<T>(values[height + r]) * second;
    }
    if (k < terms) {
        x += steps[0];
        for (std::size_t r = 0; r < width; ++r) even[r] += static_cast<T>(values[r]) * *x;
    }
    for (std::size_t r = 0; r < height; ++r) y[r] = even[r] + odd[r];
}

/// Calls work(height), 1 … highest, with a height known at compile time.
template <std::size_t highest, class Work>
void with_height(Index height, Work&& work) {
    [&]<std::size_t... h>(std::index_sequence<h...>) {
        (void)((static_cast<std::size_t>(height) == h + 1 &&
                (work(std::integral_constant<std::size_t, h + 1>()), true)) ||
               ...);
    }(std::make_index_sequence<highest>());
}

}  // namespace

template <class T>
BlockedRows<T>::BlockedRows(const Index* start, const Index* columns, const T* values, const std::vector<Index>& rows) {
    std::vector<Index> terms;                // columns, of one block after the other
    std::vector<Index> in_block, with_next;  // of the last one
    std::size_t nonzeros = 0;
    typename PackedValues<T>::Survey survey;
    const auto cost = [](Index height, std::size_t count) {
        return count * (static_cast<std::size_t>(height) * sizeof(T) + cost_of_term);
    };
    const auto takes = [&](Block& block, Index row, const Index* own, const Index* end) {
        if (block.row + block.height != row || block.height == highest) return false;
        with_next.clear();
        std::set_union(in_block.begin(), in_block.end(), own, end, std::back_inserter(with_next));
        if (cost(block.height + 1, with_next.size()) >
            cost(block.height, in_block.size()) + cost(1, static_cast<std::size_t>(end - own)))
            return false;
        ++block.height;
        in_block.swap(with_next);
        return true;
    };
    const auto close = [&](Block& block) {
        if (in_block.empty()) return;
        const auto before = terms.size();
        block.first_column = in_block.front();
        for (Index last = block.first_column; const Index column : in_block) {
            for (; column - last > longest_step; last += longest_step) terms.push_back(last + longest_step);
            terms.push_back(last = column);
        }
        block.terms = static_cast<std::int32_t>(terms.size() - before);
    };
    for (const Index row : rows) {
        const Index *const own = columns + start[row], *const end = columns + start[row + 1];
        nonzeros += static_cast<std::size_t>(end - own);
        std::for_each(values + start[row], values + start[row + 1], [&](T value) { survey.see(value); });
        if (!blocks_.empty()) {
            if (takes(blocks_.back(), row, own, end)) continue;
            close(blocks_.back());
            if (terms.size() > nonzeros + most_terms_more) {
                *this = {};
                return;
            }
        }
        blocks_.push_back({row, 0, 0, 1});
        in_block.assign(own, end);
    }
    if (!blocks_.empty()) close(blocks_.back());
    survey.see(0);  // what blocks are filled up with
    if (least_filled * terms.size() > nonzeros) {
        *this = {};
        return;
    }

    terms_ = terms.size();
    steps_ = Buffer<std::uint16_t>(terms_);
    std::size_t size = 0, at = 0;
    for (const Block& block : blocks_) {
        size += static_cast<std::size_t>(block.terms) * static_cast<std::size_t>(block.height);
        for (Index last = block.first_column, k = 0; k < block.terms; ++k, ++at) {
            steps_[at] = static_cast<std::uint16_t>(terms[at] - last);
            last = terms[at];
        }
    }
    values_ = PackedValues<T>(survey, size, 2 * elements_ahead, [&](auto put) {
        const Index* column = terms.data();
        for (const Block& block : blocks_) {
            Index next[highest];
            std::copy_n(start + block.row, block.height, next);
            for (Index k = 0; k < block.terms; ++k, ++column)
                for (Index r = 0; r < block.height; ++r) {
                    const bool stored = next[r] < start[block.row + r + 1] && columns[next[r]] == *column;
                    put(stored ? values[next[r]++] : T{});
                }
        }
    });
    const double compressed = static_cast<double>(nonzeros * (sizeof(T) + sizeof(Index)) + rows.size() * sizeof(Index));
    if (bytes() >= compressed) *this = {};
}

template <class T>
void BlockedRows<T>::apply(const T* x, T* y, Pieces pieces) const {
    values_.visit([&](auto values) {
        const std::uint16_t* steps = steps_.data();
        pieces(0, blocks_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t b = first; b < last; ++b) {
                const auto& [row, first_column, terms, height] = blocks_[b];
                with_height<highest>(height,
                                     [&](auto h) { multiply<h>(values, steps, terms, x + first_column, y + row); });
                steps += terms;
                values += static_cast<std::size_t>(height) * static_cast<std::size_t>(terms);
            }
        });
    });
}

template <class T>
double BlockedRows<T>::bytes() const {
    return values_.bytes() + static_cast<double>(blocks_.size() * sizeof(Block) + terms_ * sizeof(std::uint16_t));
}

template class BlockedRows<double>;

}  // namespace stretto
