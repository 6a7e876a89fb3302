// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// Makes the shadow vector of BiCGStab methods: r0 = r, or after a run that got nowhere (ρ ≈ 0, ω ≈ 0) a random
/// one, the same on any number of ranks. r is that of initial_residual. Returns ‖r0‖, against which ρ is judged, and
/// ρ = (r0, r).
template <class T>
constexpr std::array<Scalars<T>, 2> shadow(Space<T>& V, MultiVector<T> r, MultiVector<T> r0, Verdict<T>& stop) {
    V.run(r0 <<= r);
    if (!stop.fresh_shadow()) {
        const auto rr = stop.initial_squares(r);
        return {sqrt(rr), rr};
    }
    V.fill_uniform(r0, static_cast<std::uint64_t>(stop.run()));
    V.clear_frozen(r0);
    auto [square, rho] = V.start(dot(r0, r0), dot(r0, r)).wait();
    return {sqrt(square), rho};
}

/// The ω of BiCGStab methods: (t, s)/(t, t), which makes ‖s − ωt‖ least. Where s and t are nearly orthogonal that is
/// next to nothing, and ρ, a multiple of it, drowns in rounding: in a column that goes on past breakdowns, ω is as long
/// then as at the cosine that the option names (Sleijpen and van der Vorst 1995).
template <class T>
constexpr Scalars<T> stabiliser(const Scalars<T>& ts, const Scalars<T>& tt, const Scalars<T>& ss,
                                const Verdict<T>& stop) {
    const Real<T> cosine = static_cast<Real<T>>(stop.option("cosine"));
    const auto parallel = sqrt(ss / tt);  // |ω| at a cosine of one
    auto omega = ts / tt;
    for (int j = 0; j < omega.columns(); ++j)
        if (stop.columns()[j].lenient && std::abs(omega[j]) < cosine * real_part(parallel[j]))
            omega[j] = with_length(cosine * real_part(parallel[j]), omega[j]);
    return omega;
}

}  // namespace stretto
