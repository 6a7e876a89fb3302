// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/cpu/kind.hpp"
#include "stretto/statements/dot.hpp"

namespace stretto {

/// Adds up lane by lane, at its place in the accumulators of a thread; or exactly.
template <class T>
struct CpuKind<Dot<T>> {
    const T* left;
    const T* right;
    std::size_t dot, period;

    static CpuKind bind(const Dot<T>& s, Binding<T>& binding) {
        return {s.left, s.right, binding.take_dots(1), binding.period()};
    }
    // GCC would leave it a call of its own in some groups, for 3 to 6 % more instructions a row.
    [[gnu::always_inline]] void run(std::size_t block, std::size_t lanes, sum_of<T>* sums) const {
        PanelKernels<T>::dot(left + block, right + block, sums + dot * period, lanes, period);
    }
    void run(std::size_t block, std::size_t lanes, ExactSums<T> sums) const {
        sums.add(dot, left + block, right + block, lanes);
    }
};

}  // namespace stretto
