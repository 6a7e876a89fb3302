// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "columns.hpp"
#include "stretto/core/random.hpp"
#include "stretto/hmatrix/low_rank.hpp"

namespace stretto {

using namespace columns;

template <class T>
SampledError sampled_error(const FillOf<T>& fill, std::span<const Index> rows, std::span<const Index> cols,
                           const Factors<T>& factors, std::size_t sample, std::uint64_t seed) {
    const auto choose = [&](std::size_t size, std::uint64_t stream) {
        std::vector<std::size_t> chosen;
        const std::size_t count = std::min(size, sample);
        for (std::size_t k = 0; k < count; ++k) {  // one from each of `count` stretches
            const std::size_t begin = size * k / count, end = size * (k + 1) / count;
            chosen.push_back(begin + splitmix64(seed ^ splitmix64(stream + k)) % (end - begin));
        }
        return chosen;
    };
    const auto is = choose(rows.size(), 0), js = choose(cols.size(), 1000);
    std::vector<Index> at_rows, at_cols;
    for (const std::size_t i : is) at_rows.push_back(rows[i]);
    for (const std::size_t j : js) at_cols.push_back(cols[j]);
    std::vector<T> block(is.size() * js.size()), U;
    std::vector<double> by_row(is.size());
    fill(at_rows, at_cols, block.data());
    SampledError result;
    for (const T value : block) result.norm += std::norm(value);
    const auto rank = static_cast<std::size_t>(factors.rank);
    for (std::size_t l = 0; l < rank; ++l)
        for (const std::size_t i : is) U.push_back(factors.U[l * rows.size() + i]);
    for (std::size_t b = 0; b < js.size(); ++b)
        subtract(U.data(), is.size(), rank, factors.V.data() + js[b], cols.size(), &block[b * is.size()], is.size());
    for (std::size_t b = 0; b < js.size(); ++b)
        for (std::size_t a = 0; a < is.size(); ++a) by_row[a] += std::norm(block[b * is.size() + a]);
    for (const double squared : by_row) result.error += squared;
    result.worst_row = is[static_cast<std::size_t>(std::ranges::max_element(by_row) - by_row.begin())];
    const double whole = static_cast<double>(rows.size()) * static_cast<double>(cols.size()) /
                         static_cast<double>(is.size() * js.size());
    result.error = std::sqrt(whole * result.error);
    result.norm = std::sqrt(whole * result.norm);
    return result;
}

template SampledError sampled_error(const Fill&, std::span<const Index>, std::span<const Index>, const Factors<double>&,
                                    std::size_t, std::uint64_t);
template SampledError sampled_error(const ComplexFill&, std::span<const Index>, std::span<const Index>,
                                    const Factors<std::complex<double>>&, std::size_t, std::uint64_t);

}  // namespace stretto
