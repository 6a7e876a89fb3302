// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/cpu/kind.hpp"
#include "stretto/statements/dot.hpp"

namespace stretto {

/// Adds up lane by lane, at its place in the accumulators of a thread.
template <class T>
struct CpuKind<Dot<T>> {
    const T* left;
    const T* right;
    std::size_t place, period;

    static CpuKind bind(const Dot<T>& s, Binding<T>& binding) {
        return {s.left, s.right, binding.place(1), binding.period()};
    }
    void run(std::size_t block, std::size_t lanes, sum_of<T>* accumulators) const {
        PanelKernels<T>::dot(left + block, right + block, accumulators + place, lanes, period);
    }
};

}  // namespace stretto
