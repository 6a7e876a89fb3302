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
    /// Whether some column is about to pass.
    bool near(const Scalars<T>& natural) const {
        constexpr Number<T> about = 2;  // ‖r‖², over the target's
        const auto rr = (*this)(natural);
        for (int j = 0; j < natural.columns(); ++j) {
            const Number<T> target = static_cast<Number<T>>(stop_.columns()[j].target);
            if (stop_.active(j) && rr[j] <= about * target * target) return true;
        }
        return false;
    }
    void measured(const Scalars<T>& natural, const Scalars<T>& rr) {
        ratio_ = rr / natural;
        for (int j = 0; j < rr.columns(); ++j) expect(j, natural[j], rr[j]);
    }
    Scalars<T> operator()(const Scalars<T>& natural) const { return ratio_ * natural; }

private:
    void expect(int j, Number<T> natural, Number<T> rr) {
        const Number<T> target = stop_.columns()[j].target;
        next_[j] = natural * std::clamp(Number<T>{0.9} * target * target / rr, Number<T>{1e-4}, Number<T>{0.5});
    }

    const Verdict<T>& stop_;
    Scalars<T> ratio_, next_;
};

/// (r, M⁻¹r) and ‖r‖² of the true residual r of x, and the squares of M⁻¹r − ρ v and of v, on their way: how far the
/// recurrence, for which M⁻¹r is ρ v, has left the truth. r and z are overwritten, one vector where there is no M.
template <class T>
InFlight<T, 4> measure(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                       const Scalars<T>& rho, MultiVector<T> v, MultiVector<T> r, MultiVector<T> z) {
    const auto safeguard = V.ledger().enter(Phase::safeguard);
    residual(V, A, b, x, r);
    M.apply(r, z);
    return V.start(dot(r, z), dot(r, r), z <<= z - rho * v, dot(z, z), dot(v, v));
}

}  // namespace stretto
