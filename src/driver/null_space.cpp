// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/driver/null_space.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

double dot(const Comm& comm, const std::vector<double>& a, const std::vector<double>& b) {
    return all_sum(comm, std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
}

}  // namespace

NullSpace::NullSpace(const Comm& comm, std::vector<std::vector<double>> vectors, bool of_transpose)
    : of_transpose_(of_transpose) {
    if (vectors.size() > most) throw InputError(fmt::format("{} null vectors: at most {}", vectors.size(), most));
    constexpr double dependent = 1e-10;
    for (auto& v : vectors) {
        const double length = std::sqrt(dot(comm, v, v));
        for (int twice = 0; twice < 2; ++twice)
            for (const auto& other : vectors_) {
                const double overlap = dot(comm, other, v);
                for (std::size_t i = 0; i < v.size(); ++i) v[i] -= overlap * other[i];
            }
        const double left = std::sqrt(dot(comm, v, v));
        if (!(left > dependent * length)) continue;
        for (double& value : v) value /= left;
        vectors_.push_back(std::move(v));
    }
}

}  // namespace stretto
