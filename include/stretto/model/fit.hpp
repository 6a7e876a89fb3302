// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace stretto {

/// What a communication of `bytes` among `ranks` took.
struct CommTime {
    double bytes, ranks, seconds;
};

/// t = c0 + c1 · bytesⁿ⁰ · ranksⁿ¹ (Krasnopolsky 2019, formulas 7 and 9), in seconds.
struct PowerLaw {
    double c0 = 0, c1 = 0, n0 = 0, n1 = 0;
    double operator()(double bytes, double ranks = 1) const;
};

/// The law with c0, c1, n0, n1 ≥ 0 that comes closest to what was measured, relative errors squared; n1 = 0 where all
/// have the same number of ranks.
PowerLaw fit(const std::vector<CommTime>& measured);

/// Two laws, one up to `limit` bytes and one beyond (formula 8).
struct TwoLaws {
    double limit = 0;
    PowerLaw small, large;
    double operator()(double bytes) const { return bytes <= limit ? small(bytes) : large(bytes); }
};

/// The same with the limit among the sizes measured that fits best; each law has at least four sizes.
TwoLaws fit_two(const std::vector<CommTime>& measured);

}  // namespace stretto
