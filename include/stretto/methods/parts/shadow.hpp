// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// Makes the shadow vector of BiCGStab methods: r0 = r, or after a run that got nowhere (ρ ≈ 0, ω ≈ 0) a random
/// one, the same on any number of ranks. Returns ‖r0‖, against which ρ is judged.
template <class T>
Scalars<T> shadow(Space<T>& V, MultiVector<T> r, MultiVector<T> r0, const Verdict<T>& stop) {
    V.run(r0 <<= r);
    if (stop.fresh_shadow()) {
        V.fill_uniform(r0, static_cast<std::uint64_t>(stop.run()));
        V.clear_frozen(r0);
    }
    auto [square] = V.start(dot(r0, r0)).wait();
    return sqrt(square);
}

}  // namespace stretto
