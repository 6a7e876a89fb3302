// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

/// Rows of which there are few different ones, but for where they stand: y = A x in those whose number is known.
template <class X, class D>
struct RepeatedRowsElement {
    static constexpr std::string_view name = "product, repeated rows";
    static constexpr std::uint16_t none = 0xffff;  // the number of a row that is not among them
    const OnDevice<std::uint16_t, D>* number;      // of each row
    const OnDevice<int, D>* start;                 // of each number, in what follows
    const OnDevice<Index, D>* offsets;             // of columns, from the diagonal
    const OnDevice<X, D>* values;
    const OnDevice<X, D>* x;
    OnDevice<X, D>* y;
    std::size_t columns;

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        const int row = block.at(number + i / columns);
        if (row == none) return;
        X sum{};
        const auto place = static_cast<std::ptrdiff_t>(i);
        for (int k = block.at(start + row); k < block.at(start + row + 1); ++k)
            sum += block.at(values + k) *
                   block.at(x + (place + block.at(offsets + k) * static_cast<std::ptrdiff_t>(columns)));
        block.at(y + i) = sum;
    }
};

/// Rows of which there are few different ones.
template <class X, class D>
class DeviceRepeatedRows {
public:
    /// Takes these rows where that is so; false: it is not.
    bool take(const CsrMatrix<X>& A, std::span<const Index> rows) {
        using Element = RepeatedRowsElement<X, D>;
        std::map<std::vector<std::pair<Index, X>>, std::uint16_t> known;
        std::vector<std::uint16_t> number(static_cast<std::size_t>(A.local_rows()), Element::none);
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
            if (start.size() > most_different) return false;
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
        const auto columns = static_cast<std::size_t>(m);
        for_each_on_device<D>(
            number_.size() * columns,
            RepeatedRowsElement<X, D>{number_.data(), start_.data(), offsets_.data(), values_.data(), x, y, columns});
    }
    double bytes() const { return static_cast<double>(number_.size() * sizeof(std::uint16_t)); }

private:
    static constexpr std::size_t most_different = 1024;
    template <class Y>
    using Array = DeviceArray<Y, D>;
    std::uint16_t last_ = 0;
    Array<std::uint16_t> number_;
    Array<int> start_;
    Array<Index> offsets_;
    Array<X> values_;
};

}  // namespace stretto
