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

    explicit DeviceDiagonalBlocks(const DiagonalBlocks& M)
        : forward_(plan_panels(panels_of(M), M.rows())),
          values_(panel_values(M, false)),
          transposed_(panel_values(M, true)),
          bytes_of_column_(M.bytes(1) - M.bytes(0)) {}

    void apply(MultiVector<T> r, MultiVector<T> z) const { multiply(values_, r, z); }
    void apply_transpose(MultiVector<T> r, MultiVector<T> z) const { multiply(transposed_, r, z); }
    double bytes(int columns) const {
        return static_cast<double>(values_.size()) + forward_.bytes() + columns * bytes_of_column_;
    }

private:
    static std::vector<HMatrixPanel> panels_of(const DiagonalBlocks& M) {
        std::vector<HMatrixPanel> panels;
        std::size_t at = 0;
        for (const auto& [begin, rows, values] : M.inverses()) {
            panels.push_back({at, 0, begin, rows, begin, {.in_double = rows}});
            at +=
                sizeof(double) * static_cast<std::size_t>(round_up(rows, panel_rows)) * static_cast<std::size_t>(rows);
        }
        return panels;
    }
    static std::vector<std::byte> panel_values(const DiagonalBlocks& M, bool transposed) {
        std::vector<double> slabs;
        for (const auto& [begin, rows, values] : M.inverses())
            for (Index first = 0; first < rows; first += panel_rows)
                for (Index j = 0; j < rows; ++j)
                    for (Index i = first; i < first + panel_rows; ++i)
                        slabs.push_back(
                            i < rows ? values[static_cast<std::size_t>(transposed ? i * rows + j : j * rows + i)] : 0);
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
