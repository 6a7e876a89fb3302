// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "operator.hpp"
#include "stretto/precond/diagonal_blocks.hpp"

namespace stretto {

/// Block Jacobi of a hierarchical matrix on a device: the inverses of the host are panels like others.
template <class D>
class DeviceDiagonalBlocks {
public:
    using T = OnDevice<double, D>;

    explicit DeviceDiagonalBlocks(const DiagonalBlocks& M) : DeviceDiagonalBlocks(M, 0, M.rows()) {}
    /// Of these rows, which begin and end with a block's.
    DeviceDiagonalBlocks(const DiagonalBlocks& M, Index first, Index end)
        : forward_(plan_panels(panels_of(M, first, end), end - first)),
          values_(panel_values(M, first, end, false)),
          transposed_(panel_values(M, first, end, true)),
          bytes_of_column_(M.bytes(1) - M.bytes(0)) {}

    void apply(MultiVector<T> r, MultiVector<T> z) const { multiply(values_, r, z); }
    void apply_transpose(MultiVector<T> r, MultiVector<T> z) const { multiply(transposed_, r, z); }
    double bytes(int columns) const {
        return static_cast<double>(values_.size()) + forward_.bytes() + columns * bytes_of_column_;
    }

private:
    static std::vector<HMatrixPanel> panels_of(const DiagonalBlocks& M, Index first, Index end) {
        std::vector<HMatrixPanel> panels;
        std::size_t at = 0;
        for (const auto& [begin, rows, values] : M.inverses()) {
            if (begin < first || begin >= end) continue;
            panels.push_back({at, 0, begin - first, rows, begin - first, {.in_double = rows}});
            at +=
                sizeof(double) * static_cast<std::size_t>(round_up(rows, panel_rows)) * static_cast<std::size_t>(rows);
        }
        return panels;
    }
    static std::vector<std::byte> panel_values(const DiagonalBlocks& M, Index first, Index end, bool transposed) {
        std::vector<double> slabs;
        for (const auto& [begin, rows, values] : M.inverses()) {
            if (begin < first || begin >= end) continue;
            for (Index slab = 0; slab < rows; slab += panel_rows)
                for (Index j = 0; j < rows; ++j)
                    for (Index i = slab; i < slab + panel_rows; ++i)
                        slabs.push_back(
                            i < rows ? values[static_cast<std::size_t>(transposed ? i * rows + j : j * rows + i)] : 0);
        }
        std::vector<std::byte> bytes(slabs.size() * sizeof(double));
        if (!bytes.empty()) std::memcpy(bytes.data(), slabs.data(), bytes.size());
        return bytes;
    }
    void multiply(const DeviceArray<std::byte, D>& values, MultiVector<T> r, MultiVector<T> z) const {
        const DeviceColumns<D> from{r.data(), r.rows(), r.columns()};
        forward_.run(values.data(), from, from, z.data(), z.rows(), true);
    }

    DeviceForward<D> forward_;
    DeviceArray<std::byte, D> values_, transposed_;
    double bytes_of_column_;
};

}  // namespace stretto
