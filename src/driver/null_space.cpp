// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/driver/null_space.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/execute/exact_sum.hpp"

namespace stretto {
namespace {

double dot(const Comm& comm, const std::vector<double>& a, const std::vector<double>& b) {
    const std::span<const double> left[] = {a};
    return all_dots(comm, left, b).front();
}

std::vector<std::vector<double>> orthonormal(const Comm& comm, std::vector<std::vector<double>> vectors) {
    constexpr auto most = static_cast<std::size_t>(NullSpace::most);
    if (vectors.size() > most) throw InputError(fmt::format("{} null vectors: at most {}", vectors.size(), most));
    constexpr double dependent = 1e-10;
    std::vector<std::vector<double>> found;
    for (auto& v : vectors) {
        const double length = std::sqrt(dot(comm, v, v));
        for (int twice = 0; twice < 2; ++twice)
            for (const auto& other : found) {
                const double overlap = dot(comm, other, v);
                for (std::size_t i = 0; i < v.size(); ++i) v[i] -= overlap * other[i];
            }
        const double left = std::sqrt(dot(comm, v, v));
        if (!(left > dependent * length)) continue;
        for (double& value : v) value /= left;
        found.push_back(std::move(v));
    }
    return found;
}

}  // namespace

NullSpace::NullSpace(const Comm& comm, std::vector<std::vector<double>> vectors, bool of_transpose)
    : vectors_(orthonormal(comm, std::move(vectors))), of_transpose_(of_transpose) {}

NullSpace::NullSpace(const Comm& comm, std::vector<std::vector<double>> vectors, std::vector<std::vector<double>> left)
    : vectors_(orthonormal(comm, std::move(vectors))), left_(orthonormal(comm, std::move(left))) {}

}  // namespace stretto
