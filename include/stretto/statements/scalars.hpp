// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "stretto/core/types.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// A scalar of a recurrence (α, β, …): one value per column, with element-wise arithmetic.
///
/// Division by zero yields zero. A finished column is frozen by clearing its vectors, so that its dot
/// products vanish; this rule keeps all its coefficients at zero from then on, without a test in any method.
/// Breakdown is noticed by testing the denominator (Verdict::unless_nonzero), never by waiting for a NaN.
template <class T>
class ScalarsOf {
public:
    using value_type = T;

    explicit ScalarsOf(int columns, T value = T{}) : columns_(columns) { std::fill_n(values_.begin(), columns, value); }
    ScalarsOf(const ScalarsOf& other) : columns_(other.columns_) {
        std::copy_n(other.values_.begin(), columns_, values_.begin());
    }
    ScalarsOf& operator=(const ScalarsOf& other) {
        columns_ = other.columns_;
        std::copy_n(other.values_.begin(), columns_, values_.begin());
        return *this;
    }

    int columns() const { return columns_; }
    T& operator[](int column) { return values_[static_cast<std::size_t>(column)]; }
    const T& operator[](int column) const { return values_[static_cast<std::size_t>(column)]; }
    T* data() { return values_.data(); }
    const T* data() const { return values_.data(); }

    friend ScalarsOf operator+(const ScalarsOf& a, const ScalarsOf& b) { return zip(a, b, std::plus<>{}); }
    friend ScalarsOf operator-(const ScalarsOf& a, const ScalarsOf& b) { return zip(a, b, std::minus<>{}); }
    friend ScalarsOf operator*(const ScalarsOf& a, const ScalarsOf& b) { return zip(a, b, std::multiplies<>{}); }
    friend ScalarsOf operator/(const ScalarsOf& a, const ScalarsOf& b) {
        return zip(a, b, [](T x, T y) { return y == T{} ? T{} : x / y; });
    }
    friend ScalarsOf operator-(const ScalarsOf& a) {
        return zip(a, a, [](T x, T) { return -x; });
    }
    friend ScalarsOf operator*(T a, const ScalarsOf& b) {
        return zip(b, b, [a](T x, T) { return a * x; });
    }
    /// Square root of what is real, as squares of norms are; rounding below zero counts as zero.
    friend ScalarsOf sqrt(const ScalarsOf& a) {
        return zip(a, a, [](T x, T) {
            const real_of<T> square = real_part(x);
            return T{square < 0 ? real_of<T>{} : std::sqrt(square)};
        });
    }
    friend ScalarsOf conjugate(const ScalarsOf& a) {
        return zip(a, a, [](T x, T) { return conjugate(x); });
    }

private:
    template <class F>
    static ScalarsOf zip(const ScalarsOf& a, const ScalarsOf& b, F&& f) {
        ScalarsOf result(a.columns_);
        for (int j = 0; j < a.columns_; ++j) result[j] = f(a[j], b[j]);
        return result;
    }

    int columns_;
    std::array<T, max_columns> values_;  // only the first columns_ are ever read or copied
};

/// Those of vectors of T. Of others a specialisation.
template <class T>
struct ScalarsFor {
    using type = ScalarsOf<Number<T>>;
};
template <class T>
using Scalars = typename ScalarsFor<T>::type;

}  // namespace stretto
