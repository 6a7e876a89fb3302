// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/cpu/kind.hpp"
#include "stretto/statements/dot.hpp"

namespace stretto {

/// Adds up lane by lane, at its place in the accumulators of a thread; exactly column by column.
template <class T>
struct CpuKind<Dot<T>> {
    const T* left;
    const T* right;
    std::size_t place, period, exact_columns;

    static CpuKind bind(const Dot<T>& s, Binding<T>& binding) {
        return {s.left, s.right, binding.place(1), binding.period(), binding.exact_columns()};
    }
    void run(std::size_t block, std::size_t lanes, sum_of<T>* accumulators) const {
        if (exact_columns > 0)
            ExactSum::add_products(left + block, right + block, lanes, exact_columns,
                                   reinterpret_cast<ExactSum::Digit*>(accumulators + place));
        else
            PanelKernels<T>::dot(left + block, right + block, accumulators + place, lanes, period);
    }
};

}  // namespace stretto
