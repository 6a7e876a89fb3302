// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <type_traits>

#include "stretto/core/types.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// A view of n local rows by m columns, row-major: the m values of one row are neighbours, so that one read
/// of a matrix row serves all columns. Copying the view copies the handle; values change through statements.
/// Two vectors of one solver are identical or disjoint.
template <class T>
class MultiVector {
public:
    using value_type = T;

    MultiVector() = default;
    constexpr MultiVector(T* data, Index rows, int columns) : data_(data), rows_(rows), columns_(columns) {}

    constexpr T* data() const { return data_; }
    constexpr Index rows() const { return rows_; }
    constexpr int columns() const { return columns_; }
    std::size_t size() const { return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_); }

    T& operator()(Index row, int column = 0) const
        requires OnHost<T>
    {
        return data_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                     static_cast<std::size_t>(column)];
    }
    std::span<T> values() const
        requires OnHost<T>
    {
        return {data_, size()};
    }
    operator MultiVector<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data_, rows_, columns_};
    }

private:
    T* data_ = nullptr;
    Index rows_ = 0;
    int columns_ = 1;
};

/// Vectors of complex numbers as real ones of twice as many columns: real and imaginary part side by side.
template <class X>
MultiVector<X> in_pairs(MultiVector<std::complex<X>> v) {
    return {reinterpret_cast<X*>(v.data()), v.rows(), 2 * v.columns()};
}
template <class X>
MultiVector<const X> in_pairs(MultiVector<const std::complex<X>> v) {
    return {reinterpret_cast<const X*>(v.data()), v.rows(), 2 * v.columns()};
}
/// The way back.
template <class X>
MultiVector<std::complex<X>> from_pairs(MultiVector<X> v) {
    return {reinterpret_cast<std::complex<X>*>(v.data()), v.rows(), v.columns() / 2};
}

}  // namespace stretto
