// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/execute/device/vectors.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Rows of which there are few different ones, but for where they stand: y = A x in those whose number is known. A
/// block has a table of the different ones at hand, and neighbouring rows, which share values of x; a thread takes two
/// at a time, which mostly are alike.
template <class X, class D>
struct RepeatedRowsKernel {
    static constexpr std::string_view name = "product, repeated rows";
    static constexpr std::uint16_t none = 0xffff;  // the number of a row that is not among them
    static constexpr std::size_t most_entries = 2048;
    const OnDevice<std::uint16_t, D>* number;  // of each row
    const OnDevice<int, D>* start;             // of each number, in what follows
    const OnDevice<Index, D>* offsets;         // of columns, from the diagonal
    const OnDevice<X, D>* values;
    int numbers, entries;
    const OnDevice<X, D>* x;
    OnDevice<X, D>* y;
    std::size_t rows;
    int columns;
    int turns = 1;  // pairs of rows that a thread has

    /// How it is launched; it is in that shape then.
    Launch take_shape() {
        const int threads = threads_of_columns(columns, 1);
        const auto at_once = static_cast<std::size_t>(2 * (threads / columns));
        turns = static_cast<int>(std::clamp<std::size_t>(rows / (at_once * D::many_blocks), 1, most_turns));
        return {blocks_of(rows, at_once * static_cast<std::size_t>(turns)), threads, table_bytes()};
    }
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        X* const of_values = block.template shared<X>(0, static_cast<std::size_t>(entries));
        Index* const of_offsets =
            block.template shared<Index>(offsets_begin(), static_cast<std::size_t>(entries + numbers + 1));
        int* const of_starts = of_offsets + entries;
        block.each([&](int t) {
            for (int k = t; k < entries; k += block.threads()) {
                of_values[k] = block.at(values + k);
                of_offsets[k] = block.at(offsets + k) * columns;
            }
            for (int k = t; k <= numbers; k += block.threads()) of_starts[k] = block.at(start + k);
        });
        const auto apart = static_cast<std::size_t>(block.threads() / columns);
        block.each([&](int t) {
            const int line = columns == 1 ? t : t / columns;
            std::size_t row = static_cast<std::size_t>(block.index()) * 2 * apart * static_cast<std::size_t>(turns) +
                              static_cast<std::size_t>(line);
            for (int turn = 0; turn < turns && row < rows; ++turn, row += 2 * apart) {
                const std::size_t place =
                    row * static_cast<std::size_t>(columns) + static_cast<std::size_t>(t - line * columns);
                const std::size_t other = place + apart * static_cast<std::size_t>(columns);
                const int first = block.at(number + row),
                          second = row + apart < rows ? block.at(number + row + apart) : none;
                if (first == second && first != none) {
                    const auto *const from = x + place, *const from_other = x + other;
                    X sum{}, sum_other{};
                    const int end = of_starts[first + 1];
                    for (int k = of_starts[first]; k < end; ++k) {
                        const X value = of_values[k];
                        const Index offset = of_offsets[k];
                        sum += value * block.at(from + offset);
                        sum_other += value * block.at(from_other + offset);
                    }
                    block.at(y + place) = sum;
                    block.at(y + other) = sum_other;
                    continue;
                }
                const auto alone = [&](int which, std::size_t at) {
                    X sum{};
                    for (int k = of_starts[which]; k < of_starts[which + 1]; ++k)
                        sum += of_values[k] * block.at(x + at + of_offsets[k]);
                    block.at(y + at) = sum;
                };
                if (first != none) alone(first, place);
                if (second != none) alone(second, other);
            }
        });
    }

private:
    static constexpr std::size_t most_turns = 4;

    STRETTO_KERNEL_AND_HOST std::size_t offsets_begin() const { return static_cast<std::size_t>(entries) * sizeof(X); }
    std::size_t table_bytes() const {
        return offsets_begin() + static_cast<std::size_t>(entries + numbers + 1) * sizeof(Index);
    }
};

/// Rows of which there are few different ones.
template <class X, class D>
class DeviceRepeatedRows {
public:
    /// Takes these rows where that is so; false: it is not.
    bool take(const CsrMatrix<X>& A, std::span<const Index> rows) {
        constexpr std::uint16_t none = RepeatedRowsKernel<X, D>::none;
        std::map<std::vector<std::pair<Index, X>>, std::uint16_t> known;
        std::vector<std::uint16_t> number(static_cast<std::size_t>(A.local_rows()), none);
        std::vector<int> start{0};
        std::vector<Index> offsets;
        std::vector<X> values;
        std::vector<std::pair<Index, X>> content, last;
        for (const Index row : rows) {
            const auto [columns, of] = A.row(row);
            content.clear();
            for (std::size_t k = 0; k < columns.size(); ++k) content.emplace_back(columns[k] - row, of[k]);
            if (start.size() > 1 && content == last) {
                number[static_cast<std::size_t>(row)] = last_;
                continue;
            }
            last = content;
            const auto [found, fresh] = known.try_emplace(content, static_cast<std::uint16_t>(start.size() - 1));
            number[static_cast<std::size_t>(row)] = last_ = found->second;
            if (!fresh) continue;
            if (values.size() + content.size() > RepeatedRowsKernel<X, D>::most_entries) return false;
            for (const auto& [offset, value] : content) {
                offsets.push_back(offset);
                values.push_back(value);
            }
            start.push_back(static_cast<int>(values.size()));
        }
        number_ = Array<std::uint16_t>(number);
        start_ = Array<int>(start);
        offsets_ = Array<Index>(offsets);
        values_ = Array<X>(values);
        return true;
    }
    void multiply(const OnDevice<X, D>* x, OnDevice<X, D>* y, int m) const {
        if (number_.size() == 0) return;
        RepeatedRowsKernel<X, D> kernel{number_.data(),
                                        start_.data(),
                                        offsets_.data(),
                                        values_.data(),
                                        static_cast<int>(start_.size()) - 1,
                                        static_cast<int>(values_.size()),
                                        x,
                                        y,
                                        number_.size(),
                                        m};
        const Launch how = kernel.take_shape();
        D::launch(kernel, how);
    }
    double bytes() const { return static_cast<double>(number_.size() * sizeof(std::uint16_t)); }

private:
    template <class Y>
    using Array = DeviceArray<Y, D>;
    std::uint16_t last_ = 0;
    Array<std::uint16_t> number_;
    Array<int> start_;
    Array<Index> offsets_;
    Array<X> values_;
};

}  // namespace stretto
