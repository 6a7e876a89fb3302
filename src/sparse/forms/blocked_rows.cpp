// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/forms/blocked_rows.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "row_sums.hpp"

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
    ProductSums<width, T> even, odd;
    int k = 0;
    for (; k + 1 < terms; k += 2, steps += 2, values += 2 * height) {
        prefetch_values(values, elements_ahead, is_complex<T> ? 2 * height : 1);
        x += steps[0];
        const T first = *x;
        x += steps[1];
        const T second = *x;
        even.add(first, values);
        odd.add(second, values + height);
    }
    if (k < terms) {
        x += steps[0];
        even.add(*x, values);
    }
    for (std::size_t r = 0; r < height; ++r) y[r] += even[r] + odd[r];
}

/// The same with a block's mirror image: y(column(k)) += Σ_r value(k, r) x_r as well. Columns count from the row after
/// the block.
template <std::size_t height, bool hermitian, class V, class T>
[[gnu::noinline]] void multiply_both(V values, const std::uint16_t* steps, int terms, const T* x, T* y) {
    constexpr std::size_t width = lanes<V, height>;
    ProductSums<width, T> even, odd;
    T own[height];
    std::copy_n(x, height, own);
    std::size_t column = height;
    const auto term = [&](ProductSums<width, T>& sums, V value, std::size_t at) {
        sums.add(x[at], value);
        T image = y[at];
        for (std::size_t r = 0; r < height; ++r)
            if constexpr (hermitian)
                image += conjugate(static_cast<T>(value[r])) * own[r];
            else
                image += static_cast<T>(value[r]) * own[r];
        y[at] = image;
    };
    int k = 0;
    for (; k + 1 < terms; k += 2, steps += 2, values += 2 * height) {
        prefetch_values(values, elements_ahead, is_complex<T> ? 2 * height : 1);
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
    explicit RowSet(std::span<const RowInterval> intervals)
        : first_(intervals.front().begin), has_(static_cast<std::size_t>(intervals.back().end - first_)) {
        for (const auto [begin, end] : intervals)
            for (Index row = begin; row < end; ++row) has_[place(row)] = 1;
    }
    std::size_t place(Index row) const { return static_cast<std::size_t>(row - first_); }
    std::size_t places() const { return has_.size(); }
    bool has(Index row) const { return row >= first_ && place(row) < has_.size() && has_[place(row)]; }

private:
    Index first_;
    std::vector<char> has_;
};

/// Whether the matrix of these rows and columns is symmetric, or hermitian.
template <class T>
bool mirrors(const InteriorRows<T>& rows, const RowSet& set, bool hermitian) {
    const auto [start, columns, values, intervals] = rows;
    // Rows are gone through in turn, so that they meet the entries of another one below its diagonal in their order.
    std::vector<Index> next(set.places());
    rows.each([&](Index row) { next[set.place(row)] = rows.start[row]; });
    for (const auto [begin, end] : intervals)
        for (Index row = begin; row < end; ++row)
            for (Index k = start[row]; k < start[row + 1]; ++k) {
                const Index column = columns[k];
                if (column == row || !set.has(column)) continue;
                if (column < row) {
                    if (k >= next[set.place(row)]) return false;  // none above the diagonal has met it
                    continue;
                }
                Index& at = next[set.place(column)];
                while (at < start[column + 1] && !set.has(columns[at])) ++at;
                if (at == start[column + 1] || columns[at] != row) return false;
                if (values[at] != (hermitian ? conjugate(values[k]) : values[k])) return false;
                ++at;
            }
    return true;
}

}  // namespace

/// Finds blocks row by row, then stores their steps and values.
template <class T>
class BlockedRows<T>::Builder {
public:
    Builder(const InteriorRows<T>& rows, BlockedRows& form) : rows_(rows), form_(form), set_(rows.intervals) {
        form_.hermitian_ = is_complex<T> && mirrors(rows, set_, true);
        form_.symmetric_ = form_.hermitian_ || mirrors(rows, set_, false);
    }

    /// False: they do not pay.
    bool find_blocks() {
        std::size_t nonzeros = 0;
        for (const auto [begin, end] : rows_.intervals)
            for (Index row = begin; row < end; ++row) {
                const std::span own(rows_.columns + rows_.start[row], rows_.columns + rows_.start[row + 1]);
                nonzeros += own.size();
                if (!form_.blocks_.empty()) {
                    if (takes(form_.blocks_.back(), row, own)) continue;
                    close(form_.blocks_.back());
                    if (terms_.size() > nonzeros + most_terms_more) return false;
                }
                form_.blocks_.push_back({.row = row, .height = 1});
                in_block_.assign(own.begin(), own.end());
            }
        close(form_.blocks_.back());
        return least_filled * in_blocks_ <= nonzeros;
    }

    void store() {
        store_steps();
        store_values();
    }

private:
    static std::size_t cost(Index height, std::size_t terms) {
        return terms * (static_cast<std::size_t>(height) * sizeof(T) + cost_of_term);
    }

    /// Whether the block is cheaper with the row than both apart.
    bool takes(Block& block, Index row, std::span<const Index> own) {
        if (block.row + block.height != row || block.height == highest) return false;
        with_next_.clear();
        std::ranges::set_union(in_block_, own, std::back_inserter(with_next_));
        if (cost(block.height + 1, with_next_.size()) > cost(block.height, in_block_.size()) + cost(1, own.size()))
            return false;
        ++block.height;
        in_block_.swap(with_next_);
        return true;
    }

    /// Makes terms of the columns of the last block.
    void close(Block& block) {
        const Index row = block.row, behind = row + block.height;
        const auto has_image = [&](Index column) {
            return form_.symmetric_ && (column < row || column >= behind) && set_.has(column);
        };
        const auto first = std::ranges::find_if_not(in_block_, has_image);
        block.first_column = first == in_block_.end() ? row : *first;
        block.terms = add_terms(block.first_column, std::not_fn(has_image));
        block.images = add_terms(behind, [&](Index column) { return column >= behind && has_image(column); });
        block.reach = block.images > 0 ? terms_.back() + 1 : behind;
        in_blocks_ += in_block_.size();
    }

    /// Those columns that are wanted, and what long steps to them take. Returns how many.
    template <class Wanted>
    std::int32_t add_terms(Index last, Wanted&& wanted) {
        const auto before = terms_.size();
        for (const Index column : in_block_) {
            if (!wanted(column)) continue;
            for (; column - last > longest_step; last += longest_step) {
                terms_.push_back(last + longest_step);
                fills_.push_back(true);
            }
            terms_.push_back(last = column);
            fills_.push_back(false);
        }
        return static_cast<std::int32_t>(terms_.size() - before);
    }

    void store_steps() {
        form_.steps_ = Buffer<std::uint16_t>(terms_.size());
        std::size_t at = 0;
        for (const Block& block : form_.blocks_) {
            const auto store = [&](Index last, std::int32_t count) {
                for (const auto end = at + static_cast<std::size_t>(count); at < end; last = terms_[at++])
                    form_.steps_[at] = static_cast<std::uint16_t>(terms_[at] - last);
            };
            store(block.first_column, block.terms);
            store(block.row + block.height, block.images);
        }
    }

    void store_values() {
        typename PackedValues<T>::Survey survey;
        for (const auto [begin, end] : rows_.intervals)
            std::for_each(rows_.values + rows_.start[begin], rows_.values + rows_.start[end],
                          [&](T value) { survey.see(value); });
        survey.see(T{});  // what blocks are filled up with
        std::size_t size = 0;
        for (const Block& block : form_.blocks_)
            size += static_cast<std::size_t>(block.terms + block.images) * static_cast<std::size_t>(block.height);
        form_.values_ = PackedValues<T>(survey, size, 2 * elements_ahead, [&](auto put) {
            std::size_t term = 0;
            for (const Block& block : form_.blocks_)
                for (const std::int32_t count : {block.terms, block.images}) {
                    Index next[highest];
                    std::copy_n(rows_.start + block.row, block.height, next);
                    for (const auto end = term + static_cast<std::size_t>(count); term < end; ++term)
                        for (Index r = 0; r < block.height; ++r) put(value(block.row + r, term, next[r]));
                }
        });
    }

    /// Of a row at a term; `at` is where the search in the row goes on.
    T value(Index row, std::size_t term, Index& at) const {
        const Index end = rows_.start[row + 1], column = terms_[term];
        while (at < end && rows_.columns[at] < column) ++at;
        return at < end && rows_.columns[at] == column && !fills_[term] ? rows_.values[at] : T{};
    }

    const InteriorRows<T>& rows_;
    BlockedRows& form_;
    RowSet set_;
    std::vector<Index> terms_;                 // columns, of one block after the other
    std::vector<bool> fills_;                  // which of them only make steps shorter
    std::vector<Index> in_block_, with_next_;  // of the last one
    std::size_t in_blocks_ = 0;
};

template <class T>
auto BlockedRows<T>::build(const InteriorRows<T>& rows) -> std::optional<BlockedRows> {
    BlockedRows form;
    {
        Builder builder(rows, form);
        if (!builder.find_blocks()) return {};
        builder.store();
    }
    if (form.bytes() >= rows.bytes()) return {};
    return form;
}

template <class T>
void BlockedRows<T>::apply(const T* x, T* y, int, Pieces pieces, FinishedRows& finished) const {
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
                    const auto both = [&](auto hermitian) {
                        multiply_both<h, hermitian>(values + h * static_cast<std::size_t>(terms), steps + terms, images,
                                                    x + row, y + row);
                    };
                    if constexpr (is_complex<T>)
                        if (hermitian_) return both(std::true_type());
                    both(std::false_type());
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
template class BlockedRows<float>;
#if STRETTO_COMPLEX
template class BlockedRows<std::complex<double>>;
template class BlockedRows<std::complex<float>>;
#endif

}  // namespace stretto
