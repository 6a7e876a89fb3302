// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "stretto/io/problem.hpp"

namespace peers {

/// The factor of a row and of its column in matrix k of a sequence D A D: between 0.8 and 1.2, another for each k.
inline double factor(stretto::Global row, int k) { return 1 + 0.2 * std::sin(0.01 * static_cast<double>(row) + k); }

/// The values of matrix k of the sequence, and b = D A D · ones.
struct Changed {
    std::vector<double> values, b;

    Changed(const stretto::LocalRows<double>& rows, stretto::Global first, int k) {
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
            double sum = 0;
            const double own = factor(first + static_cast<stretto::Global>(i), k);
            for (auto e = static_cast<std::size_t>(rows.start[i]); e < static_cast<std::size_t>(rows.start[i + 1]);
                 ++e) {
                values.push_back(own * rows.values[e] * factor(rows.columns[e], k));
                sum += values.back();
            }
            b.push_back(sum);
        }
    }
};

}  // namespace peers
