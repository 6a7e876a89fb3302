// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "panels.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {

using namespace panels;

HMatrix::Vectors& HMatrix::vectors(int columns) const {
    const auto [found, fresh] = vectors_.try_emplace(columns);
    auto& [x, y, t, receives, sends] = found->second;
    if (!fresh) return found->second;
    const auto m = static_cast<std::size_t>(columns);
    const auto zeros = [&](Index rows) {
        Buffer<double> buffer(static_cast<std::size_t>(round_up(rows, panel_rows)) * m);
        std::ranges::fill(buffer.values(), 0.0);
        return buffer;
    };
    x = zeros(tree_.size());
    y = zeros(local_rows());
    t = zeros(products_);
    const auto messages = [&](const std::vector<Stretch>& stretches) {
        constexpr std::size_t limit = std::size_t{1} << 30;  // MPI counts the bytes of a message in an int
        std::vector<Message> result;
        for (const auto& [rank, begin, end] : stretches) {
            const auto data = std::as_writable_bytes(
                x.values().subspan(static_cast<std::size_t>(begin) * m, static_cast<std::size_t>(end - begin) * m));
            for (std::size_t at = 0; at < data.size(); at += limit)
                result.push_back({rank, data.subspan(at, std::min(limit, data.size() - at))});
        }
        return result;
    };
    receives = messages(receives_);
    sends = messages(sends_);
    return found->second;
}

void HMatrix::apply(MultiVector<double> x, MultiVector<double> y) const {
    const int m = x.columns();
    if (x.rows() != local_rows() || y.rows() != local_rows() || y.columns() != m || m < 1)
        throw InputError(fmt::format("A has {} local rows, x is {} × {}, y is {} × {}", local_rows(), x.rows(), m,
                                     y.rows(), y.columns()));
    comm_->charge(bytes(m));
    Vectors& v = vectors(m);
    double* const mine = v.x.data() + static_cast<std::size_t>(first_) * static_cast<std::size_t>(m);
    const auto each_thread = [&](auto&& work) {
        parallel(threads_, [&](int t, int all) {
            for (int k = t; k < threads_; k += all) work(work_[static_cast<std::size_t>(k)], k);
        });
    };
    // Panels of a kilobyte or so: some dozens of them to a microsecond's work.
    const auto run = [&](int thread, const std::vector<HMatrixPanel>& list, auto&& work) {
        Pieces pieces(comm_, thread, 16);
        pieces(0, list.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t k = begin; k < end; ++k) with_values(list[k], values_.data(), work);
        });
    };
    const auto forward_all = [&](int thread, const std::vector<HMatrixPanel>& list, const double* right) {
        run(thread, list, [&](const HMatrixPanel& p, const auto* values) {
            each_width(m, [&]<int width, bool one>(int first) {
                forward_panel<width, one>(p, values, right, v.y.data(), m, first);
            });
        });
    };
    const auto adjoint_all = [&](int thread, const std::vector<HMatrixPanel>& list) {
        run(thread, list, [&](const HMatrixPanel& p, const auto* values) {
            each_width(m, [&]<int width, bool one>(int first) {
                adjoint_panel<width, one>(p, values, v.x.data(), v.t.data(), m, first);
            });
        });
    };

    each_thread([&](const ThreadWork& work, int) {
        for (Index row = work.first_row; row < std::min(work.end_row, local_rows()); ++row)
            for (int c = 0; c < m; ++c) mine[place<false>(row, c, m)] = x(row, c);
    });
    auto pending = comm_->start_exchange(v.receives, v.sends);
    each_thread([&](const ThreadWork& work, int thread) {
        std::fill(v.y.data() + place<false>(work.first_row, 0, m), v.y.data() + place<false>(work.end_row, 0, m), 0.0);
        forward_all(thread, work.dense_here, v.x.data());
        adjoint_all(thread, work.adjoint_here);
    });
    pending.wait();
    each_thread([&](const ThreadWork& work, int thread) {
        forward_all(thread, work.dense_there, v.x.data());
        adjoint_all(thread, work.adjoint_there);
    });
    each_thread([&](const ThreadWork& work, int thread) {
        forward_all(thread, work.forward, v.t.data());
        for (const HMatrixPanel& p : work.sums)
            for (Index k = 0; k < p.rows; ++k)
                for (int c = 0; c < m; ++c) v.y[place<false>(p.row + k, c, m)] += v.t[place<false>(p.col + k, c, m)];
        for (Index row = work.first_row; row < std::min(work.end_row, local_rows()); ++row)
            for (int c = 0; c < m; ++c) y(row, c) = v.y[place<false>(row, c, m)];
    });
}

std::vector<HMatrix::DiagonalBlock> HMatrix::diagonal_blocks() const {
    std::vector<DiagonalBlock> blocks;
    for (const HMatrixPanel& p : diagonal_) {
        auto& block = blocks.emplace_back(DiagonalBlock{p.row, p.rows, {}});
        with_values(p, values_.data(), [&](const HMatrixPanel&, const auto* values) {
            for (Index j = 0; j < p.cols; ++j)
                for (Index i = 0; i < p.rows; ++i)
                    block.values.push_back(values[(i / panel_rows * p.cols + j) * panel_rows + i % panel_rows]);
        });
    }
    return blocks;
}

}  // namespace stretto
