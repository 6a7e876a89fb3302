// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// ‖r‖² for a recurrence that knows of its residual the natural norm (r, M⁻¹r) alone. The ratio of the two is measured
/// where the natural one has fallen far enough: by two decades, or to where the tolerance may be met.
template <class T>
class NaturalNorm {
public:
    /// Where the recurrence begins: natural = (r, M⁻¹r), rr = ‖r‖².
    NaturalNorm(const Scalars<T>& natural, const Scalars<T>& rr, const Verdict<T>& stop)
        : stop_(stop), ratio_(rr / natural), next_(natural) {
        for (int j = 0; j < rr.columns(); ++j) expect(j, natural[j], rr[j]);
    }

    bool due(const Scalars<T>& natural) const {
        for (int j = 0; j < natural.columns(); ++j)
            if (stop_.active(j) && natural[j] <= next_[j]) return true;
        return false;
    }
    void measured(const Scalars<T>& natural, const Scalars<T>& rr) {
        ratio_ = rr / natural;
        for (int j = 0; j < rr.columns(); ++j) expect(j, natural[j], rr[j]);
    }
    Scalars<T> operator()(const Scalars<T>& natural) const { return ratio_ * natural; }

private:
    void expect(int j, T natural, T rr) {
        const T target = stop_.columns()[j].target;
        next_[j] = natural * std::clamp(T{0.9} * target * target / rr, T{1e-4}, T{0.5});
    }

    const Verdict<T>& stop_;
    Scalars<T> ratio_, next_;
};

}  // namespace stretto
