// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <tuple>

#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

HMatrix::Steps HMatrix::steps() const {
    // Threads share a panel slab by slab: what follows on in rows, in memory and in its columns is the same panel.
    const auto joined = [&](std::vector<HMatrixPanel> ThreadWork::* list) {
        std::vector<HMatrixPanel> parts, panels;
        for (const ThreadWork& work : work_) parts.insert(parts.end(), (work.*list).begin(), (work.*list).end());
        const bool values = list != &ThreadWork::sums;
        std::ranges::stable_sort(parts, {}, [](const HMatrixPanel& p) { return std::tuple(p.at, p.col, p.row); });
        for (const HMatrixPanel& part : parts) {
            if (!panels.empty()) {
                HMatrixPanel& last = panels.back();
                const std::size_t end = values ? last.at + last.columns.slabs_bytes(last.rows) : last.at;
                const Index col = values ? last.col : last.col + parts_ * last.rows;
                if (last.row + last.rows == part.row && end == part.at && last.scales == part.scales &&
                    col == part.col && last.columns == part.columns) {
                    last.rows += part.rows;
                    continue;
                }
            }
            panels.push_back(part);
        }
        return panels;
    };
    return {.dense_here = joined(&ThreadWork::dense_here),
            .dense_there = joined(&ThreadWork::dense_there),
            .adjoint_here = joined(&ThreadWork::adjoint_here),
            .adjoint_there = joined(&ThreadWork::adjoint_there),
            .forward = joined(&ThreadWork::forward),
            .sums = joined(&ThreadWork::sums),
            .products = products_,
            .values = {values_.data(), values_.size()},
            .receives = receives_,
            .sends = sends_};
}

}  // namespace stretto
