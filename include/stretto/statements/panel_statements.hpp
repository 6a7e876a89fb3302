// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include "stretto/statements/panel.hpp"
#include "stretto/statements/pass.hpp"

namespace stretto {

/// The number of dot products of a kind, or of a group, that is known only when running, because there are panels in
/// it.
inline constexpr int counted_when_running = std::numeric_limits<int>::max();

template <class T>
struct Combination {
    Panel<T> panel;
    SmallView<T> coefficients;
};

/// target = (start ± panel · coefficients) · divisor⁻¹; an empty start is zero, a divisor without data is the identity,
/// otherwise an upper triangle. A zero on its diagonal makes a vector zero, as for Scalars.
template <class T>
struct PanelAssign {
    using value_type = T;
    static constexpr int dots = 0;
    static constexpr bool panels = true;
    Panel<T> target, start, panel;
    SmallView<T> coefficients, divisor;
    Number<T> sign;

    void touch(Pass& pass) const {
        for (int k = 0; k < panel.count(); ++k) pass.read(panel[k].data());
        for (int k = 0; k < start.count(); ++k) pass.read(start[k].data());
        for (int k = 0; k < target.count(); ++k) pass.write(target[k].data());
    }
    /// An update and a division are two calls.
    template <class F>
    void for_each_call(F&& f) const {
        if (!divisor.data || panel.count() == 0) return f(*this);
        f(PanelAssign{target, start, panel, coefficients, {}, sign});
        f(PanelAssign{target, target, target.part(0, 0), {}, divisor, Number<T>{1}});
    }
};

/// All products of a vector of `left` with one of `right`; those of one of `left` together.
template <class T>
struct PanelDots {
    using value_type = T;
    static constexpr int dots = counted_when_running;
    static constexpr bool panels = true;
    Panel<T> left, right;

    void touch(Pass& pass) const {
        for (int k = 0; k < left.count(); ++k) pass.read(left[k].data());
        for (int k = 0; k < right.count(); ++k) pass.read(right[k].data());
    }
    int count() const { return left.count() * right.count(); }
};

template <class T>
Combination<T> operator*(const Panel<T>& panel, const SmallView<T>& coefficients) {
    return {panel, coefficients};
}
template <class T>
PanelAssign<T> operator-(const Panel<T>& start, const Combination<T>& all) {
    return {{}, start, all.panel, all.coefficients, {}, Number<T>{-1}};
}
template <class T>
PanelAssign<T> operator+(const Panel<T>& start, const Combination<T>& all) {
    return {{}, start, all.panel, all.coefficients, {}, Number<T>{1}};
}
template <class T>
PanelAssign<T> operator/(PanelAssign<T> all, const SmallView<T>& divisor) {
    all.divisor = divisor;
    return all;
}
template <class T>
PanelAssign<T> operator/(const Panel<T>& start, const SmallView<T>& divisor) {
    return {{}, start, start.part(0, 0), {}, divisor, Number<T>{1}};
}
template <class T>
PanelAssign<T> operator<<=(const Panel<T>& target, PanelAssign<T> all) {
    all.target = target;
    return all;
}
template <class T>
PanelAssign<T> operator<<=(const Panel<T>& target, const Combination<T>& all) {
    return {target, target.part(0, 0), all.panel, all.coefficients, {}, Number<T>{1}};
}
template <class T>
PanelDots<T> dots(const Panel<T>& left, const Panel<T>& right) {
    return {left, right};
}

}  // namespace stretto
