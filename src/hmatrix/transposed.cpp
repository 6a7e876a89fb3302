// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "panels.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

using namespace panels;

HMatrix::TransposedVectors& HMatrix::transposed_vectors(int columns) const {
    return transposed_vectors_.at(columns, [&] {
        TransposedVectors v;
        const auto m = static_cast<std::size_t>(columns);
        const auto values = [&](Index rows) { return static_cast<std::size_t>(round_up(rows, panel_rows)) * m; };
        v.x = Buffer<double>(values(local_rows()));
        std::ranges::fill(v.x.values(), 0.0);
        for (const ThreadWork& work : work_) {
            Index widest = 0;
            for (const auto* list : {&work.dense_here, &work.dense_there, &work.forward})
                for (const HMatrixPanel& p : *list) widest = std::max(widest, p.cols());
            v.by_thread.push_back({Buffer<double>(values(tree_.size())), Buffer<double>(values(products_)),
                                   Buffer<double>(values(widest))});
        }
        // What a product receives, its transposed sends, and the other way round.
        Index received = 0;
        for (const auto& range : sends_) received += range.end - range.begin;
        v.received = Buffer<double>(values(received));
        for (const auto& [rank, begin, end] : receives_)
            add_messages(v.sends, rank,
                         v.by_thread[0].y.values().subspan(static_cast<std::size_t>(begin) * m,
                                                           static_cast<std::size_t>(end - begin) * m));
        std::size_t at = 0;
        for (const auto& [rank, begin, end] : sends_) {
            const auto size = static_cast<std::size_t>(end - begin) * m;
            add_messages(v.receives, rank, v.received.values().subspan(at, size));
            at += size;
        }
        return v;
    });
}

void HMatrix::apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
    const int m = x.columns();
    check_shapes(x, y, local_rows());
    comm_->charge(bytes(m));
    TransposedVectors& v = transposed_vectors(m);
    // Of complex values Aᴴ x is the conjugate of Aᵀ times the conjugate of x.
    const auto conjugated = [this](int column, double value) {
        return is_complex() && column % 2 == 1 ? -value : value;
    };
    for (Index row = 0; row < x.rows(); ++row)
        for (int c = 0; c < m; ++c) v.x[place<false>(row, c, m)] = conjugated(c, x(row, c));
    const auto each_thread = [&](auto&& work) {
        parallel(threads_, [&](int t, int all) {
            for (auto k = static_cast<std::size_t>(t); k < work_.size(); k += static_cast<std::size_t>(all))
                work(work_[k], v.by_thread[k]);
        });
    };
    // to(columns of the panel) += Pᵀ x(rows of the panel), where `every` row of a pair has a place, or its first one.
    const auto adjoint_all = [&](TransposedVectors::Sums& own, const std::vector<HMatrixPanel>& list, double* to,
                                 bool every) {
        const Index step = every ? 1 : parts_;
        for (const HMatrixPanel& p : list) {
            HMatrixPanel here = p;
            here.col = 0;
            multiply_transposed(here, values_.data(), v.x.data(), own.products.data(), m);
            if (is_complex()) complete_pairs(own.products.data(), 0, p.cols(), m);
            for (Index j = 0; j < p.cols(); j += step)
                for (int c = 0; c < m; ++c)
                    to[place<false>((p.col + j) / step, c, m)] += own.products[place<false>(j, c, m)];
        }
    };
    each_thread([&](const ThreadWork& work, TransposedVectors::Sums& own) {
        std::ranges::fill(own.y.values(), 0.0);
        std::ranges::fill(own.t.values(), 0.0);
        adjoint_all(own, work.dense_here, own.y.data(), false);
        adjoint_all(own, work.dense_there, own.y.data(), false);
        adjoint_all(own, work.forward, own.t.data(), true);
        for (const HMatrixPanel& p : work.sums)
            for (Index k = 0; k < p.rows; ++k)
                for (int c = 0; c < m; ++c) {
                    const double value = v.x[place<false>(p.row + k, c, m)];
                    const Index row = p.col + parts_ * k;
                    own.t[place<false>(row, c, m)] += value;
                    if (is_complex())
                        own.t[place<false>(row + 1, c % 2 == 0 ? c + 1 : c - 1, m)] += c % 2 == 0 ? value : -value;
                }
    });
    // Sums of all threads, in the first one's.
    const auto add_up = [&](Buffer<double> TransposedVectors::Sums::* which) {
        auto& first = v.by_thread[0].*which;
        parallel(threads_, [&](int t, int all) {
            const Share share(first.size(), t, all);
            for (std::size_t k = 1; k < v.by_thread.size(); ++k)
                for (std::size_t i = share.begin; i < share.end; ++i) first[i] += (v.by_thread[k].*which)[i];
        });
    };
    add_up(&TransposedVectors::Sums::t);
    each_thread([&](const ThreadWork& work, TransposedVectors::Sums& own) {
        for (const auto* list : {&work.adjoint_here, &work.adjoint_there})
            for (const HMatrixPanel& p : *list)
                panels::multiply(p, values_.data(), v.by_thread[0].t.data(), own.y.data(), m);
    });
    add_up(&TransposedVectors::Sums::y);
    comm_->start_exchange(v.receives, v.sends).wait();
    double* const sums = v.by_thread[0].y.data();
    const double* from = v.received.data();
    for (const auto& [rank, begin, end] : sends_)
        for (auto k = static_cast<std::size_t>(begin) * static_cast<std::size_t>(m);
             k < static_cast<std::size_t>(end) * static_cast<std::size_t>(m); ++k)
            sums[k] += *from++;
    for (Index row = 0; row < y.rows(); ++row)
        for (int c = 0; c < m; ++c) y(row, c) = conjugated(c, sums[place<false>(first_ + row, c, m)]);
}

}  // namespace stretto
