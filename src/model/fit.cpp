// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace stretto {
namespace {

/// The best c0, c1 ≥ 0 for given exponents, and the sum of the squared relative errors.
double solve_coefficients(const std::vector<CommTime>& measured, PowerLaw& law) {
    // Relative: both basis functions over the time itself, against one.
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    const auto power = [&](const CommTime& m) { return std::pow(m.bytes, law.n0) * std::pow(m.ranks, law.n1); };
    for (const auto& m : measured) {
        const double a = 1 / m.seconds, b = power(m) / m.seconds;
        aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
    }
    const double determinant = aa * bb - ab * ab;
    law.c0 = law.c1 = -1;
    if (determinant > 1e-12 * aa * bb) {
        law.c0 = (bb * a1 - ab * b1) / determinant;
        law.c1 = (aa * b1 - ab * a1) / determinant;
    }
    if (law.c1 < 0) law.c0 = a1 / aa, law.c1 = 0;
    if (law.c0 < 0) law.c0 = 0, law.c1 = b1 / bb;
    double error = 0;
    for (const auto& m : measured) {
        const double e = law(m.bytes, m.ranks) / m.seconds - 1;
        error += e * e;
    }
    return error;
}

double search(const std::vector<CommTime>& measured, PowerLaw& best) {
    std::set<double> ranks;
    for (const auto& m : measured) ranks.insert(m.ranks);
    constexpr double most = 1.5;  // of an exponent
    double smallest = std::numeric_limits<double>::infinity(), step = 0.1;
    const auto try_around = [&](PowerLaw center, int reach) {
        for (int i = -reach; i <= reach; ++i)
            for (int j = -reach; j <= reach; ++j) {
                PowerLaw law = center;
                law.n0 = std::clamp(center.n0 + i * step, 0.0, most);
                law.n1 = ranks.size() > 1 ? std::clamp(center.n1 + j * step, 0.0, most) : 0;
                if (const double error = solve_coefficients(measured, law); error < smallest) {
                    smallest = error;
                    best = law;
                }
                if (ranks.size() == 1) break;
            }
    };
    best = {};
    best.n0 = best.n1 = most / 2;
    try_around(best, 8);
    for (; step > 1e-4; step /= 2) try_around(best, 2);
    return smallest;
}

}  // namespace

double PowerLaw::operator()(double bytes, double ranks) const {
    return c0 + c1 * std::pow(bytes, n0) * std::pow(ranks, n1);
}

PowerLaw fit(const std::vector<CommTime>& measured) {
    PowerLaw best;
    search(measured, best);
    return best;
}

TwoLaws fit_two(const std::vector<CommTime>& measured) {
    constexpr std::size_t least = 4;
    std::set<double> sizes;
    for (const auto& m : measured) sizes.insert(m.bytes);
    TwoLaws best;
    double smallest = std::numeric_limits<double>::infinity();
    std::size_t below = 0;
    for (const double limit : sizes) {
        if (++below < least || sizes.size() - below < least) continue;
        TwoLaws laws{limit, {}, {}};
        std::vector<CommTime> small, large;
        for (const auto& m : measured) (m.bytes <= limit ? small : large).push_back(m);
        if (const double error = search(small, laws.small) + search(large, laws.large); error < smallest) {
            smallest = error;
            best = laws;
        }
    }
    return best;
}

}  // namespace stretto
