// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "panels.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

using namespace panels;

HMatrix::Vectors& HMatrix::vectors(int columns) const {
    return vectors_.at(columns, [&] {
        const auto m = static_cast<std::size_t>(columns);
        const auto zeros = [&](Index rows) {
            Buffer<double> buffer(static_cast<std::size_t>(round_up(rows, panel_rows)) * m);
            std::ranges::fill(buffer.values(), 0.0);
            return buffer;
        };
        Vectors v{zeros(tree_.size()),
                  zeros(local_rows()),
                  zeros(products_),
                  zeros(is_complex() ? parts_ * round_up(tree_.size(), panel_rows) : 0),
                  {},
                  {}};
        const auto messages = [&](const std::vector<RankRange>& ranges) {
            std::vector<Message> result;
            for (const auto& [rank, begin, end] : ranges)
                add_messages(result, rank,
                             v.x.values().subspan(static_cast<std::size_t>(begin) * m,
                                                  static_cast<std::size_t>(end - begin) * m));
            return result;
        };
        v.receives = messages(receives_);
        v.sends = messages(sends_);
        return v;
    });
}

/// y = A x, where x begins with row `first` of all; exchange(v) starts to bring the others.
template <class Exchange>
void HMatrix::multiply(int m, MultiVector<double> x, Index first, MultiVector<double> y, Exchange&& exchange) const {
    comm_->charge(bytes(m));
    Vectors& v = vectors(m);
    double* const mine = v.x.data() + static_cast<std::size_t>(first) * static_cast<std::size_t>(m);
    const auto each_thread = [&](auto&& work) {
        parallel(threads_, [&](int t, int all) {
            for (int k = t; k < threads_; k += all) work(work_[static_cast<std::size_t>(k)], k);
        });
    };
    // Panels of a kilobyte or so: some of them are a microsecond's work.
    const auto run = [&](int thread, const std::vector<HMatrixPanel>& list, auto&& next, auto&& work) {
        Pieces pieces(comm_, thread, 16);
        pieces(0, list.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t k = begin; k < end; ++k) {
                if (k + 1 < list.size()) next(list[k + 1]);
                work(list[k]);
            }
        });
    };
    // The processor fetches the stream of values ahead by itself, but not where the next panel begins in vectors.
    const auto fetch = [m](const double* vector, Index begin, Index rows) {
        const double* const from = vector + static_cast<std::size_t>(begin) * static_cast<std::size_t>(m);
        for (Index i = 0; i < std::min(std::min(rows, 64) * m, 64); i += panel_rows) __builtin_prefetch(from + i);
    };
    const auto forward_all = [&](int thread, const std::vector<HMatrixPanel>& list, const double* right) {
        const auto next = [&](const HMatrixPanel& p) {
            fetch(right, p.col, p.cols());
            fetch(v.y.data(), p.row, panel_rows);
        };
        run(thread, list, next,
            [&](const HMatrixPanel& p) { panels::multiply(p, values_.data(), right, v.y.data(), m); });
    };
    const auto adjoint_all = [&](int thread, const std::vector<HMatrixPanel>& list) {
        const auto next = [&](const HMatrixPanel& p) { fetch(v.x.data(), p.row, p.rows); };
        run(thread, list, next, [&](const HMatrixPanel& p) {
            multiply_transposed(p, values_.data(), v.x.data(), v.t.data(), m);
            if (is_complex()) complete_pairs(v.t.data(), p.col, p.cols(), m);
        });
    };
    const double* const of_dense = is_complex() ? v.x_pairs.data() : v.x.data();
    const auto expand = [&](Index begin, Index end) {
        if (!is_complex()) return;
        parallel(threads_, [&](int t, int all) {
            const Share share(static_cast<std::size_t>(end - begin), t, all);
            expand_pairs(v.x.data(), begin + static_cast<Index>(share.begin), begin + static_cast<Index>(share.end),
                         v.x_pairs.data(), m);
        });
    };

    parallel(threads_, [&](int t, int all) {
        const Share share(static_cast<std::size_t>(x.rows()), t, all);
        for (auto row = static_cast<Index>(share.begin); row < static_cast<Index>(share.end); ++row)
            for (int c = 0; c < m; ++c) mine[place<false>(row, c, m)] = x(row, c);
    });
    auto pending = exchange(v);
    expand(first, first + x.rows());
    each_thread([&](const ThreadWork& work, int thread) {
        std::fill(v.y.data() + place<false>(work.first_row, 0, m), v.y.data() + place<false>(work.end_row, 0, m), 0.0);
        forward_all(thread, work.dense_here, of_dense);
        adjoint_all(thread, work.adjoint_here);
    });
    pending.wait();
    for (const RankRange& range : receives_) expand(range.begin, range.end);
    each_thread([&](const ThreadWork& work, int thread) {
        forward_all(thread, work.dense_there, of_dense);
        adjoint_all(thread, work.adjoint_there);
    });
    each_thread([&](const ThreadWork& work, int thread) {
        forward_all(thread, work.forward, v.t.data());
        for (const HMatrixPanel& p : work.sums)
            for (Index k = 0; k < p.rows; ++k)
                for (int c = 0; c < m; ++c)
                    v.y[place<false>(p.row + k, c, m)] += v.t[place<false>(p.col + parts_ * k, c, m)];
        for (Index row = work.first_row; row < std::min(work.end_row, local_rows()); ++row)
            for (int c = 0; c < m; ++c) y(row, c) = v.y[place<false>(row, c, m)];
    });
}

void HMatrix::check_shapes(MultiVector<double> x, MultiVector<double> y, Index rows) const {
    if (x.rows() != rows || y.rows() != rows || y.columns() != x.columns() || x.columns() < 1)
        throw InputError(fmt::format("A has {} {}rows, x is {} × {}, y is {} × {}", rows,
                                     rows == local_rows() ? "local " : "", x.rows(), x.columns(), y.rows(),
                                     y.columns()));
    if (x.columns() % parts_ != 0)
        throw InputError(
            fmt::format("A is complex, and {} columns are no pairs of real and imaginary parts: its vectors are those "
                        "of std::complex<double>, as in Solver<std::complex<double>>",
                        x.columns()));
}

void HMatrix::apply(MultiVector<double> x, MultiVector<double> y) const {
    const int m = x.columns();
    check_shapes(x, y, local_rows());
    multiply(m, x, first_, y, [&](const Vectors& v) { return comm_->start_exchange(v.receives, v.sends); });
}

Pending HMatrix::start_replicated(MultiVector<double> x, MultiVector<double> y, std::span<double> numbers) const {
    const int m = x.columns();
    check_shapes(x, y, static_cast<Index>(rows()));
    multiply(m, x, 0, rows_of(y, comm_->rank()), [](const Vectors&) { return Pending(); });
    return start_gather(y, numbers);
}

MultiVector<double> HMatrix::rows_of(MultiVector<double> whole, int rank) const {
    return {whole.data() + static_cast<std::size_t>(partition_.first(rank)) * static_cast<std::size_t>(whole.columns()),
            partition_.rows(rank), whole.columns()};
}

Pending HMatrix::start_gather(MultiVector<double> y, std::span<double> numbers) const {
    auto &receives = gather_receives_, &sends = gather_sends_;
    receives.clear();
    sends.clear();
    for (int p = 0; p < comm_->size(); ++p) {
        if (p == comm_->rank()) continue;
        add_messages(receives, p, rows_of(y, p).values());
        add_messages(sends, p, rows_of(y, comm_->rank()).values());
        if (numbers.empty()) continue;
        add_messages(receives, p, numbers.subspan(static_cast<std::size_t>(p), 1));
        add_messages(sends, p, numbers.subspan(static_cast<std::size_t>(comm_->rank()), 1));
    }
    return comm_->start_exchange(receives, sends);
}

Pending Replicated::start_apply(MultiVector<double> x, MultiVector<double> y) const {
    if (std::ranges::any_of(flags_, [](double flag) { return flag > 0; })) interrupted_ = true;
    std::ranges::fill(flags_, 0.0);
    flags_[static_cast<std::size_t>(A_->comm().rank())] = raised_ && *raised_;
    auto pending = A_->start_replicated(x, y, flags_);
    if (!hides_) pending.wait();
    return pending;
}

void Replicated::apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
    const int rank = A_->comm().rank();
    A_->apply_transpose(A_->rows_of(x, rank), A_->rows_of(y, rank));
    A_->start_gather(y).wait();
}

std::vector<HMatrix::DiagonalBlock> HMatrix::diagonal_blocks() const {
    std::vector<DiagonalBlock> blocks;
    for (const HMatrixPanel& p : diagonal_) {
        auto& block = blocks.emplace_back(DiagonalBlock{p.row, p.rows, {}});
        const auto rows = static_cast<std::size_t>(p.rows);
        block.values.resize(rows * static_cast<std::size_t>(p.cols()));
        const float* scale = reinterpret_cast<const float*>(values_.data() + p.scales);
        each_kind(p.columns, [&]<class S>(Index begins, Index count, std::size_t offset) {
            for (Index j = 0; j < count; ++j) {
                const double factor = std::integral<S> ? static_cast<double>(*scale++) : 1;
                for (std::size_t i = 0; i < rows; ++i) {
                    const std::byte* const slab =
                        values_.data() + p.at + i / panel_rows * p.columns.slab_bytes() + offset;
                    block.values[static_cast<std::size_t>(begins + j) * rows + i] =
                        factor * static_cast<double>(reinterpret_cast<const S*>(
                                     slab)[static_cast<std::size_t>(j) * panel_rows + i % panel_rows]);
                }
            }
        });
    }
    return blocks;
}

}  // namespace stretto
