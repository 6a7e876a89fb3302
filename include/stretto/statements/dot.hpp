// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/statements/multivector.hpp"
#include "stretto/statements/pass.hpp"

namespace stretto {

/// left · right for each column, conjugated on the left where values are complex (scalar_traits.hpp).
template <class T>
struct Dot {
    using value_type = T;
    static constexpr int dots = 1;
    T* left;
    T* right;

    void touch(Pass& pass) const {
        pass.read(left);
        pass.read(right);
    }
};

template <class T>
constexpr Dot<T> dot(MultiVector<T> left, MultiVector<T> right) {
    return {left.data(), right.data()};
}

}  // namespace stretto
