// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <ctime>
#include <optional>
#include <vector>

#include "stretto/hmatrix/geometry.hpp"

/// What hmat-oss needs for the same matrix: ACA+ and recompression by its defaults, one thread, double precision.
struct HmatOss {
    double compression_seconds, cpu_seconds, product_seconds, bytes;  ///< cpu: of all threads, compressing
    std::vector<double> y;                                            ///< A x
};

/// Charges w_j at the points: entry (i, j) is w_j/|p_i − p_j|, or `self` on the diagonal.
struct ChargeKernel {
    std::vector<stretto::Point> points;
    std::vector<double> weights, self;

    double operator()(std::int32_t row, std::int32_t col) const {
        const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(col);
        const auto &p = points[i], &q = points[j];
        const double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
        return row == col ? self[i] : weights[j] / std::sqrt(x * x + y * y + z * z);
    }
};

/// Seconds of processor time of all threads so far.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Nothing where it is not built in. The fastest product of `products`.
std::optional<HmatOss> measure_hmat_oss(const ChargeKernel& kernel, double epsilon, const std::vector<double>& x,
                                        int products);
