// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/diagonal_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "../core/lapack.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// A becomes its inverse; false: it is singular.
bool invert(std::vector<double>& A, int n) {
    std::vector<int> pivots(static_cast<std::size_t>(n));
    std::vector<double> work(static_cast<std::size_t>(64 * n));
    const int size = 64 * n;
    int info = 0;
    dgetrf_(&n, &n, A.data(), &n, pivots.data(), &info);
    if (info == 0) dgetri_(&n, A.data(), &n, pivots.data(), work.data(), &size, &info);
    return info == 0;
}

/// The same where a column is its real parts, and then its imaginary parts.
bool invert_parts(std::vector<double>& parts, int n) {
    const auto rows = static_cast<std::size_t>(n);
    std::vector<std::complex<double>> A(rows * rows), work(64 * rows);
    for (std::size_t j = 0; j < rows; ++j)
        for (std::size_t i = 0; i < rows; ++i)
            A[j * rows + i] = {parts[2 * j * rows + i], parts[(2 * j + 1) * rows + i]};
    std::vector<int> pivots(rows);
    const int size = 64 * n;
    int info = 0;
    zgetrf_(&n, &n, A.data(), &n, pivots.data(), &info);
    if (info == 0) zgetri_(&n, A.data(), &n, pivots.data(), work.data(), &size, &info);
    for (std::size_t j = 0; j < rows; ++j)
        for (std::size_t i = 0; i < rows; ++i) {
            parts[2 * j * rows + i] = A[j * rows + i].real();
            parts[(2 * j + 1) * rows + i] = A[j * rows + i].imag();
        }
    return info == 0;
}

}  // namespace

DiagonalBlocks::DiagonalBlocks(const HMatrix& A, bool everywhere)
    : inverses_(A.diagonal_blocks()), rows_(A.local_rows()), parts_(A.is_complex() ? 2 : 1), threads_(A.threads()) {
    invert();
    singular_ = all_sum(A.comm(), singular_);
    if (everywhere) gather(A);
    for (const auto& block : inverses_) stored_ += 8.0 * static_cast<double>(block.values.size());
}

void DiagonalBlocks::invert() {
    for (auto& [begin, rows, values] : inverses_) {
        if (parts_ == 2 ? invert_parts(values, rows) : stretto::invert(values, rows)) continue;
        std::ranges::fill(values, 0.0);
        const auto step = static_cast<std::size_t>(parts_) * static_cast<std::size_t>(rows) + 1;
        for (Index i = 0; i < rows; ++i) values[static_cast<std::size_t>(i) * step] = 1;
        ++singular_;
    }
}

/// Collective. Every rank's blocks to all ranks: begin, rows and values of one after the other.
void DiagonalBlocks::gather(const HMatrix& A) {
    rows_ = static_cast<Index>(A.rows());
    const auto first = static_cast<Index>(A.partition().first(A.comm().rank()));
    std::vector<double> mine;
    for (const auto& [begin, rows, values] : inverses_) {
        mine.insert(mine.end(), {static_cast<double>(first + begin), static_cast<double>(rows)});
        mine.insert(mine.end(), values.begin(), values.end());
    }
    inverses_.clear();
    for (const auto& part : all_to_all(A.comm(), std::vector(static_cast<std::size_t>(A.comm().size()), mine)))
        for (auto next = part.begin(); next != part.end();) {
            auto& block = inverses_.emplace_back();
            block.begin = static_cast<Index>(*next++);
            block.rows = static_cast<Index>(*next++);
            const auto size = static_cast<std::ptrdiff_t>(parts_) * block.rows * block.rows;
            block.values.assign(next, next + size);
            next += size;
        }
}

void DiagonalBlocks::multiply(MultiVector<double> r, MultiVector<double> z, bool transposed) const {
    const int m = r.columns();
    parallel(threads_, [&](int t, int all) {
        const Share share(inverses_.size(), t, all);
        for (std::size_t b = share.begin; b < share.end; ++b) {
            const auto& [begin, rows, values] = inverses_[b];
            for (Index i = 0; i < rows; ++i) std::fill_n(&z(begin + i, 0), m, 0.0);
            const double* value = values.data();
            for (Index j = 0; j < rows; ++j)
                for (int part = 0; part < parts_; ++part)
                    for (Index i = 0; i < rows; ++i, ++value) {
                        const Index from = transposed ? i : j, to = transposed ? j : i;
                        if (part == 0) {
                            for (int c = 0; c < m; ++c) z(begin + to, c) += *value * r(begin + from, c);
                            continue;
                        }
                        // i times the value, or −i times it where it is conjugated, of numbers in pairs.
                        const double turned = transposed ? -*value : *value;
                        for (int c = 0; c < m; c += 2) {
                            z(begin + to, c) -= turned * r(begin + from, c + 1);
                            z(begin + to, c + 1) += turned * r(begin + from, c);
                        }
                    }
        }
    });
}

std::vector<std::string> DiagonalBlocks::remarks() const {
    if (singular_ == 0) return {};
    return {fmt::format("block_jacobi: {} blocks are singular and left out", singular_)};
}

}  // namespace stretto
