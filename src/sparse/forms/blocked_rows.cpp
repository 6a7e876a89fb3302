// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/blocked_rows.hpp"

#include <algorithm>
#include <functional>
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

/// A block: y_r += Σ_k value(k, r) x(column(k)), in two sums that do not wait for each other.
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
    for (std::size_t r = 0; r < height; ++r) y[r] += even[r] + odd[r];
}

/// The same with a block's mirror image: y(column(k)) += Σ_r value(k, r) x_r as well. Columns count from the row after
/// the block.
template <std::size_t height, class V, class T>
[[gnu::noinline]] void multiply_both(V values, const std::uint16_t* steps, int terms, const T* x, T* y) {
    constexpr std::size_t width = lanes<V, height>;
    T even[width] = {}, odd[width] = {}, own[height];
    std::copy_n(x, height, own);
    std::size_t column = height;
    const auto term = [&](T(&sum)[width], V value, std::size_t at) {
        const T other = x[at];
#pragma omp simd
        for (std::size_t r = 0; r < width; ++r) sum[r] += static_cast<T>(value[r]) * other;
        T image = y[at];
        for (std::size_t r = 0; r < height; ++r) image += static_cast<T>(value[r]) * own[r];
        y[at] = image;
    };
    int k = 0;
    for (; k + 1 < terms; k += 2, steps += 2, values += 2 * height) {
        prefetch_value(values + elements_ahead);
        const std::size_t first = column + steps[0];
        column = first + steps[1];
        term(even, values, first);
        term(odd, values + height, column);
    }
    if (k < terms) term(even, values, column + steps[0]);
    for (std::size_t r = 0; r < height; ++r) y[r] += even[r] + odd[r];
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

/// Numbers of rows, which increase.
class RowSet {
public:
    explicit RowSet(const std::vector<Index>& rows) : first_(rows.empty() ? 0 : rows.front()) {
        if (!rows.empty()) has_.resize(static_cast<std::size_t>(rows.back() - first_) + 1);
        for (const Index row : rows) has_[place(row)] = 1;
    }
    std::size_t place(Index row) const { return static_cast<std::size_t>(row - first_); }
    std::size_t places() const { return has_.size(); }
    bool has(Index row) const { return row >= first_ && place(row) < has_.size() && has_[place(row)]; }

private:
    Index first_;
    std::vector<char> has_;
};

/// Whether the matrix of these rows and columns is symmetric.
template <class T>
bool mirrors(const Index* start, const Index* columns, const T* values, const std::vector<Index>& rows,
             const RowSet& set) {
    // Rows are gone through in turn, so that they meet the entries of another one below its diagonal in their order.
    std::vector<Index> next(set.places());
    for (const Index row : rows) next[set.place(row)] = start[row];
    for (const Index row : rows)
        for (Index k = start[row]; k < start[row + 1]; ++k) {
            const Index column = columns[k];
            if (column == row || !set.has(column)) continue;
            if (column < row) {
                if (k >= next[set.place(row)]) return false;  // none above the diagonal has met it
                continue;
            }
            Index& at = next[set.place(column)];
            while (at < start[column + 1] && !set.has(columns[at])) ++at;
            if (at == start[column + 1] || columns[at] != row || values[at] != values[k]) return false;
            ++at;
        }
    return true;
}

}  // namespace

template <class T>
BlockedRows<T>::BlockedRows(const Index* start, const Index* columns, const T* values, const std::vector<Index>& rows) {
    std::vector<Index> terms;                // columns, of one block after the other
    std::vector<bool> fills;                 // which of them only make steps shorter
    std::vector<Index> in_block, with_next;  // of the last one
    std::size_t nonzeros = 0, in_blocks = 0;
    typename PackedValues<T>::Survey survey;
    const RowSet set(rows);
    symmetric_ = mirrors(start, columns, values, rows, set);
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
        const Index row = block.row, behind = row + block.height;
        const auto has_image = [&](Index column) {
            return symmetric_ && (column < row || column >= behind) && set.has(column);
        };
        // Returns how many.
        const auto keep = [&](Index last, auto&& wanted) {
            const auto before = terms.size();
            for (const Index column : in_block) {
                if (!wanted(column)) continue;
                for (; column - last > longest_step; last += longest_step) {
                    terms.push_back(last + longest_step);
                    fills.push_back(true);
                }
                terms.push_back(last = column);
                fills.push_back(false);
            }
            return static_cast<std::int32_t>(terms.size() - before);
        };
        const auto first = std::ranges::find_if_not(in_block, has_image);
        block.first_column = first == in_block.end() ? row : *first;
        block.terms = keep(block.first_column, std::not_fn(has_image));
        block.images = keep(behind, [&](Index column) { return column >= behind && has_image(column); });
        block.reach = block.images > 0 ? terms.back() + 1 : behind;
        in_blocks += in_block.size();
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
        blocks_.push_back({.row = row, .height = 1});
        in_block.assign(own, end);
    }
    if (!blocks_.empty()) close(blocks_.back());
    survey.see(0);  // what blocks are filled up with
    if (least_filled * in_blocks > nonzeros) {
        *this = {};
        return;
    }

    steps_ = Buffer<std::uint16_t>(terms.size());
    std::size_t size = 0, at = 0;
    for (const Block& block : blocks_) {
        size += static_cast<std::size_t>(block.terms + block.images) * static_cast<std::size_t>(block.height);
        const auto keep = [&](Index last, std::int32_t count) {
            for (const auto end = at + static_cast<std::size_t>(count); at < end; last = terms[at++])
                steps_[at] = static_cast<std::uint16_t>(terms[at] - last);
        };
        keep(block.first_column, block.terms);
        keep(block.row + block.height, block.images);
    }
    values_ = PackedValues<T>(survey, size, 2 * elements_ahead, [&](auto put) {
        const Index* column = terms.data();
        for (const Block& block : blocks_)
            for (const std::int32_t count : {block.terms, block.images}) {
                Index next[highest];
                std::copy_n(start + block.row, block.height, next);
                for (std::int32_t k = 0; k < count; ++k, ++column)
                    for (Index r = 0; r < block.height; ++r) {
                        const Index end = start[block.row + r + 1];
                        while (next[r] < end && columns[next[r]] < *column) ++next[r];
                        const bool stored = next[r] < end && columns[next[r]] == *column;
                        put(stored && !fills[static_cast<std::size_t>(column - terms.data())] ? values[next[r]] : T{});
                    }
            }
    });
    const double compressed = static_cast<double>(nonzeros * (sizeof(T) + sizeof(Index)) + rows.size() * sizeof(Index));
    if (bytes() >= compressed) *this = {};
}

template <class T>
void BlockedRows<T>::apply(const T* x, T* y, Pieces pieces, FinishedRows& finished) const {
    values_.visit([&](auto values) {
        const std::uint16_t* steps = steps_.data();
        Index cleared = blocks_.front().row;
        pieces(0, blocks_.size(), [&](std::size_t first, std::size_t last) {
            for (std::size_t b = first; b < last; ++b) {
                const auto& [row, height, first_column, terms, images, reach] = blocks_[b];
                if (reach > cleared) {
                    std::fill(y + cleared, y + reach, T{});
                    cleared = reach;
                }
                with_height<highest>(height, [&](auto h) {
                    multiply<h>(values, steps, terms, x + first_column, y + row);
                    if (images == 0) return;
                    multiply_both<h>(values + h * static_cast<std::size_t>(terms), steps + terms, images, x + row,
                                     y + row);
                });
                steps += terms + images;
                values += static_cast<std::size_t>(height) * static_cast<std::size_t>(terms + images);
                finished(row, row + height);
            }
        });
    });
}

template <class T>
double BlockedRows<T>::bytes() const {
    return values_.bytes() +
           static_cast<double>(blocks_.size() * sizeof(Block) + steps_.size() * sizeof(std::uint16_t));
}

template class BlockedRows<double>;

}  // namespace stretto
