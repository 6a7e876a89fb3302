// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "precond/v_cycle.hpp"
#include "stretto/execute/device/vectors.hpp"

// What a product does with rows that a thread has: sums of some neighbouring columns.

namespace stretto {

/// They go to y.
template <class X, class D>
struct StoreRows {
    OnDevice<X, D>* y;

    template <int width, class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index row, int column, Columns columns, const X (&sums)[width]) const {
        store(block, y + place_of(row, column, columns), sums);
    }
};

/// A smoother takes them, and y is never written.
template <class X, class D>
struct SmoothRows {
    SmootherStep<OnDevice<X, D>> step;
    const OnDevice<X, D>* inverse;  // D⁻¹

    template <int width, class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index row, int column, Columns columns, const X (&sums)[width]) const {
        const X of_row = block.at(inverse + row);
        STRETTO_UNROLL
        for (int q = 0; q < width; ++q) step(block, place_of(row, column + q, columns), sums[q], of_row);
    }
};

}  // namespace stretto
