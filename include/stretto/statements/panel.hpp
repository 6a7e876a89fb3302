// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "stretto/statements/multivector.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// Vectors at equal distances in one slab: the columns of a tall matrix, of n local rows by m right-hand sides each.
/// A view, as MultiVector is.
template <class T>
class Panel {
public:
    using value_type = T;

    Panel() = default;
    /// A single vector.
    Panel(MultiVector<T> v) : first_(v), count_(1) {}
    /// `stride` values from the start of one to the start of the next.
    Panel(MultiVector<T> first, std::size_t stride, int count) : first_(first), stride_(stride), count_(count) {}

    int count() const { return count_; }
    std::size_t stride() const { return stride_; }
    T* data() const { return first_.data(); }
    MultiVector<T> operator[](int k) const {
        return {first_.data() + static_cast<std::size_t>(k) * stride_, first_.rows(), first_.columns()};
    }
    /// The vectors first … first + count − 1.
    Panel part(int first, int count) const { return {(*this)[first], stride_, count}; }

private:
    MultiVector<T> first_;
    std::size_t stride_ = 0;
    int count_ = 0;
};

/// Entries from one on of a SmallMatrix. How many, the panels say that it is used with.
template <class T>
struct SmallViewOf {
    const T* data = nullptr;
    std::size_t row_stride = 0, entry_stride = 0;
    const T* operator()(int i, int k) const {
        return data + static_cast<std::size_t>(i) * row_stride + static_cast<std::size_t>(k) * entry_stride;
    }
};

/// A small dense matrix for each right-hand side, the same on every rank: the coefficients of panels.
template <class T>
class SmallMatrixOf {
public:
    SmallMatrixOf(int rows, int cols, int columns, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : cols_(static_cast<std::size_t>(cols)),
          columns_(static_cast<std::size_t>(columns)),
          values_(static_cast<std::size_t>(rows) * cols_ * columns_, memory) {}
    SmallMatrixOf(const SmallMatrixOf& other)
        : cols_(other.cols_), columns_(other.columns_), values_(other.values_, other.values_.get_allocator()) {}
    SmallMatrixOf& operator=(const SmallMatrixOf&) = delete;

    /// Entry (i, k) of the matrix of right-hand side j.
    T& operator()(int i, int k, int j) { return values_[place(i, k) + static_cast<std::size_t>(j)]; }
    const T& operator()(int i, int k, int j) const { return values_[place(i, k) + static_cast<std::size_t>(j)]; }

    /// The matrix without the rows above i and the columns before k.
    SmallViewOf<T> from(int i, int k) const { return {values_.data() + place(i, k), cols_ * columns_, columns_}; }
    /// Its m numbers at (i, k).
    T* entry(int i, int k) { return values_.data() + place(i, k); }

    int columns() const { return static_cast<int>(columns_); }
    void clear() { std::ranges::fill(values_, T{}); }

private:
    std::size_t place(int i, int k) const {
        return (static_cast<std::size_t>(i) * cols_ + static_cast<std::size_t>(k)) * columns_;
    }

    std::size_t cols_, columns_;
    std::pmr::vector<T> values_;
};

/// Those of panels of T.
template <class T>
using SmallView = SmallViewOf<Number<T>>;
template <class T>
using SmallMatrix = SmallMatrixOf<Number<T>>;

}  // namespace stretto
