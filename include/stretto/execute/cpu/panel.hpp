// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/execute/cpu/kind.hpp"
#include "stretto/statements/panel_statements.hpp"

namespace stretto {

/// The vectors of a panel from the start of a block on.
template <class T>
typename PanelKernels<T>::StridedVectors strip_of(const Panel<T>& panel, std::size_t block) {
    return {panel.data() + block, panel.stride(), panel.count()};
}

/// Coefficients are spread over the lanes of a period, those below a divisor's diagonal left out and those on it
/// inverted.
template <class T>
struct CpuKind<PanelAssign<T>> {
    PanelAssign<T> statement;
    const T* coefficients;
    const T* divisor;
    std::size_t period;

    static int width(const PanelAssign<T>& s) { return s.target.count(); }
    static CpuKind bind(const PanelAssign<T>& s, Binding<T>& binding) {
        const int k = s.target.count();
        const T* coefficients =
            binding.spread(s.panel.count(), k, [&](int i, int c, int j) { return s.sign * s.coefficients(i, c)[j]; });
        const T* divisor = nullptr;
        if (s.divisor.data)
            divisor = binding.spread(k, k, [&](int i, int c, int j) {
                const Number<T> value = s.divisor(i, c)[j];
                return i < c ? -value : i == c && value != Number<T>{} ? Number<T>{1} / value : Number<T>{};
            });
        return {s, coefficients, divisor, binding.period()};
    }

    template <class Sums>
    void run(std::size_t block, std::size_t lanes, Sums) const {
        using Kernels = PanelKernels<T>;
        const auto& target = statement.target;
        start(block, lanes);
        const auto across = static_cast<std::size_t>(target.count()) * period;
        Kernels::update(strip_of(statement.panel, block), target.data() + block, target.stride(), target.count(),
                        {coefficients, across, statement.panel.count()}, {lanes, period, lanes});
        for (int k = 0; divisor && k < target.count(); ++k) {
            const T* const column = divisor + static_cast<std::size_t>(k) * period;
            T* const vector = target[k].data() + block;
            Kernels::update(strip_of(target.part(0, k), block), vector, 0, 1, {column, across, k}, {lanes, period, 0});
            const T* const inverse = column + static_cast<std::size_t>(k) * across;
            for (std::size_t begin = 0; begin < lanes; begin += period) {
                const std::size_t end = std::min(period, lanes - begin);
#pragma omp simd
                for (std::size_t lane = 0; lane < end; ++lane) vector[begin + lane] *= inverse[lane];
            }
        }
    }

private:
    /// Brings the block of the target to where it starts from.
    void start(std::size_t block, std::size_t lanes) const {
        const auto& from = statement.start;
        for (int k = 0; k < statement.target.count(); ++k) {
            T* const vector = statement.target[k].data() + block;
            if (from.count() == 0)
                std::fill_n(vector, lanes, T{});
            else if (from.data() != statement.target.data())
                std::copy_n(from[k].data() + block, lanes, vector);
        }
    }
};

template <class T>
struct CpuKind<PanelDots<T>> {
    PanelDots<T> statement;
    std::size_t dot, period;

    static int width(const PanelDots<T>& s) { return s.right.count(); }
    static CpuKind bind(const PanelDots<T>& s, Binding<T>& binding) {
        return {s, binding.take_dots(s.count()), binding.period()};
    }
    void run(std::size_t block, std::size_t lanes, sum_of<T>* sums) const {
        PanelKernels<T>::dots(strip_of(statement.left, block), strip_of(statement.right, block), sums + dot * period,
                              {lanes, period, lanes});
    }
    void run(std::size_t block, std::size_t lanes, ExactSums<T> sums) const {
        std::size_t each = dot;
        for (int i = 0; i < statement.left.count(); ++i)
            for (int k = 0; k < statement.right.count(); ++k)
                sums.add(each++, statement.left[i].data() + block, statement.right[k].data() + block, lanes);
    }
};

}  // namespace stretto
