// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "stretto/core/types.hpp"

namespace stretto {

/// Writes the entries at `rows` × `cols`, numbers of points, to `out`, column after column. Called by several threads
/// at a time.
using Fill = std::function<void(std::span<const Index> rows, std::span<const Index> cols, double* out)>;

/// The fill of a kernel given entry by entry: kernel(i, j), compiled into the loops.
template <class Kernel>
Fill entries(Kernel kernel) {
    return [kernel = std::move(kernel)](std::span<const Index> rows, std::span<const Index> cols, double* out) {
        if (rows.size() == 1) {
            for (std::size_t j = 0; j < cols.size(); ++j) out[j] = kernel(rows[0], cols[j]);
            return;
        }
        for (const Index col : cols)
            for (const Index row : rows) *out++ = kernel(row, col);
    };
}

}  // namespace stretto
