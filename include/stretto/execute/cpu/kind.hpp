// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

#include "stretto/execute/cpu/panel_kernels.hpp"
#include "stretto/execute/exact_sum.hpp"
#include "stretto/statements/scalars.hpp"

namespace stretto {

/// Arrays of coefficients that keep their memory from one run to the next.
template <class T>
class LaneArrays {
public:
    void clear() { used_ = asked_ = 0; }
    std::size_t used() const { return used_; }
    /// The array that begins with these values, each so often, or none. Makes room as if there were none, so that no
    /// later iteration, in which fewer are equal, allocates.
    const T* find(const Number<T>* first, std::size_t count, std::size_t each, std::size_t lanes) {
        if (arrays_.size() < ++asked_) arrays_.emplace_back(lanes);
        const auto same = [&](const std::vector<T>& array) {
            if constexpr (std::same_as<T, Number<T>>)
                if (each == 1) return std::equal(first, first + count, array.begin());
            std::size_t j = 0;
            while (j < count && array[j * each] == static_cast<T>(first[j])) ++j;
            return j == count;
        };
        for (std::size_t k = 0; k < used_; ++k)
            if (same(arrays_[k])) return arrays_[k].data();
        return nullptr;
    }
    void reserve(std::size_t lanes) {
        arrays_.resize(std::max<std::size_t>(arrays_.size(), 8));
        for (auto& array : arrays_) array.reserve(lanes);
    }
    std::vector<T>& next(std::size_t lanes) {
        if (used_ == arrays_.size()) arrays_.emplace_back();
        auto& array = arrays_[used_++];
        if (array.size() < lanes) array.resize(lanes);
        return array;
    }

private:
    std::vector<std::vector<T>> arrays_;
    std::size_t used_ = 0, asked_ = 0;
};

/// What the statements of a group are bound with: coefficients are spread over lanes, dot products get their place.
template <class T>
class Binding {
public:
    /// For blocks of at most so many lanes, of `columns` columns, so many of which have one coefficient. `share`:
    /// coefficients that are equal are one array.
    Binding(LaneArrays<T>& arrays, std::size_t columns, std::size_t together, std::size_t lanes, bool share)
        : arrays_(arrays),
          columns_(columns),
          together_(together),
          lanes_(lanes),
          period_(PanelKernels<T>::period(static_cast<int>(columns))),
          share_(share) {}

    std::size_t period() const { return period_; }
    /// The first of so many dot products in the sums of a thread.
    std::size_t take_dots(int count) { return std::exchange(dots_, dots_ + static_cast<std::size_t>(count)); }

    /// A coefficient for each lane of a block.
    const T* spread(const Scalars<T>& scalars) {
        // Lists say the same coefficient many times: one array each time would leave the block no room in cache.
        if (const T* const same =
                share_ ? arrays_.find(scalars.data(), columns_ / together_, together_, lanes_) : nullptr)
            return same;
        auto& values = arrays_.next(lanes_);
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            const std::size_t column = lane % columns_;
            values[lane] = static_cast<T>(scalars[static_cast<int>(together_ == 1 ? column : column / together_)]);
        }
        return values.data();
    }
    /// value(i, k, column) for each lane of a period, for all i and k.
    template <class Value>
    const T* spread(int rows, int cols, Value value) {
        auto& values = arrays_.next(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * period_);
        auto to = values.begin();
        for (int i = 0; i < rows; ++i)
            for (int k = 0; k < cols; ++k) {
                const auto begin = to;
                for (int j = 0; j < static_cast<int>(columns_); ++j)
                    *to++ = static_cast<T>(value(i, k, j / static_cast<int>(together_)));
                for (; to != begin + static_cast<std::ptrdiff_t>(period_); ++to)
                    *to = *(to - static_cast<std::ptrdiff_t>(columns_));
            }
        return values.data();
    }

private:
    LaneArrays<T>& arrays_;
    std::size_t columns_, together_, lanes_, period_;
    bool share_;
    std::size_t dots_ = 0;
};

/// A kind of statement on a CPU: one specialisation each. bind(s, binding) makes a value of it, whose
/// run(block, lanes, sums) is the loop over the lanes of the block that starts at element `block`; the sums of a thread
/// are a period for each dot product, or exact ones. A kind with panels says in width(s) how many vectors a panel is
/// multiplied with, or makes.
template <class S>
struct CpuKind;

/// What a statement is bound to.
template <class S>
using Bound = decltype(CpuKind<S>::bind(std::declval<const S&>(), std::declval<Binding<typename S::value_type>&>()));

}  // namespace stretto
