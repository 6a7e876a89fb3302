// SPDX-License-Identifier: BSD-3-Clause
#include "transfer.hpp"

#include <algorithm>
#include <iterator>

#include "../sparse/forms/row_sums.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

std::vector<Global> columns_elsewhere(const LocalRows<double>& rows, Global first, Index own) {
    std::vector<Global> needed;
    std::ranges::copy_if(rows.columns, std::back_inserter(needed),
                         [&](Global column) { return column < first || column >= first + own; });
    std::ranges::sort(needed);
    needed.erase(std::ranges::unique(needed).begin(), needed.end());
    return needed;
}

PackedValues<double> packed(const std::vector<double>& values) {
    PackedValues<double>::Survey survey;
    for (const double value : values) survey.see(value);
    return {survey, values.size(), 0, [&](auto put) { std::ranges::for_each(values, put); }};
}

}  // namespace

Transfer::Transfer(Comm& comm, const Partition& coarse, const LocalRows<double>& rows)
    : comm_(&comm),
      fine_(rows.rows()),
      coarse_(coarse.rows(comm.rank())),
      halo_(comm, coarse, columns_elsewhere(rows, coarse.first(comm.rank()), coarse_)) {
    const Global first = coarse.first(comm.rank());
    const auto local = [&](Global column) {
        if (column >= first && column < first + coarse_) return static_cast<Index>(column - first);
        return coarse_ + static_cast<Index>(std::ranges::lower_bound(halo_.rows(), column) - halo_.rows().begin());
    };
    const auto nonzeros = rows.columns.size(),
               columns = static_cast<std::size_t>(coarse_) + static_cast<std::size_t>(halo_.size());
    P_ = {Buffer<Index>(static_cast<std::size_t>(fine_) + 1), Buffer<Index>(nonzeros), packed(rows.values)};
    transpose_ = {Buffer<Index>(columns + 1), Buffer<Index>(nonzeros), {}};
    std::ranges::copy(rows.start, P_.start.data());
    std::ranges::transform(rows.columns, P_.columns.data(), local);
    std::ranges::fill(transpose_.start.values(), 0);
    for (const Index column : P_.columns.values()) ++transpose_.start[static_cast<std::size_t>(column) + 1];
    for (std::size_t j = 0; j < columns; ++j) transpose_.start[j + 1] += transpose_.start[j];
    std::vector<Index> at(transpose_.start.data(), transpose_.start.data() + columns);
    std::vector<double> turned(nonzeros);
    for (Index i = 0; i < fine_; ++i)
        for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k) {
            const auto to = static_cast<std::size_t>(at[static_cast<std::size_t>(P_.columns[k])]++);
            transpose_.columns[to] = i;
            turned[to] = rows.values[k];
        }
    transpose_.values = packed(turned);
}

/// y = rows x from `begin` to `end`, where x has `owned` rows of its own and those of the halo behind them.
void Transfer::multiply(const Rows& rows, Index begin, Index end, const double* own, const double* halo, Index owned,
                        double* y, int columns, int threads) const {
    constexpr std::size_t rows_of_a_piece = 128;
    const auto first = static_cast<std::size_t>(begin);
    parallel(threads, [&](int t, int of) {
        const Share share(static_cast<std::size_t>(end - begin), t, of);
        Pieces pieces(comm_, t, rows_of_a_piece);
        rows.values.visit([&](auto values) {
            with_columns(columns, [&](auto m) {
                const auto stride = static_cast<std::size_t>(m);
                pieces(first + share.begin, first + share.end, [&](std::size_t from, std::size_t to) {
                    for (std::size_t i = from; i < to; ++i)
                        cover(m, [&]<int Width>(int c) {
                            double sum[Width] = {};
                            for (Index k = rows.start[i]; k < rows.start[i + 1]; ++k) {
                                const Index column = rows.columns[static_cast<std::size_t>(k)];
                                const auto value = static_cast<double>(values[static_cast<std::size_t>(k)]);
                                const double* const x =
                                    c + (column < owned ? own + static_cast<std::size_t>(column) * stride
                                                        : halo + static_cast<std::size_t>(column - owned) * stride);
                                for (int j = 0; j < Width; ++j) sum[j] += value * x[j];
                            }
                            std::copy_n(sum, Width, y + (i - first) * stride + static_cast<std::size_t>(c));
                        });
                });
            });
        });
    });
}

void Transfer::interpolate(MultiVector<double> y, MultiVector<double> x, int threads) const {
    const int m = x.columns();
    halo_.start(y.data(), m).wait();
    comm_->charge(bytes(m));
    multiply(P_, 0, fine_, y.data(), halo_.values(m), coarse_, x.data(), m, threads);
}

void Transfer::restrict_to(MultiVector<double> y, MultiVector<double> x, int threads) const {
    const int m = x.columns();
    comm_->charge(bytes(m));
    const Index all = coarse_ + halo_.size();
    if (halo_.size() > 0) multiply(transpose_, coarse_, all, x.data(), nullptr, fine_, halo_.values(m), m, threads);
    multiply(transpose_, 0, coarse_, x.data(), nullptr, fine_, y.data(), m, threads);
    if (!halo_.empty()) halo_.add_back(y.data(), m);
}

std::vector<double> Transfer::diagonal_of_product(const std::vector<double>& d) const {
    std::vector<double> all(static_cast<std::size_t>(coarse_ + halo_.size()));
    P_.values.visit([&](auto values) {
        for (Index i = 0; i < fine_; ++i)
            for (auto k = static_cast<std::size_t>(P_.start[i]); k < static_cast<std::size_t>(P_.start[i + 1]); ++k) {
                const auto value = static_cast<double>(values[k]);
                all[static_cast<std::size_t>(P_.columns[k])] += value * value * d[static_cast<std::size_t>(i)];
            }
    });
    std::copy(all.begin() + coarse_, all.end(), halo_.values(1));
    all.resize(static_cast<std::size_t>(coarse_));
    if (!halo_.empty()) halo_.add_back(all.data(), 1);
    return all;
}

Transfer::Plain Transfer::plain(const Rows& rows) {
    const auto start = rows.start.values();
    const auto columns = rows.columns.values();
    Plain plain{{start.begin(), start.end()}, {columns.begin(), columns.end()}, std::vector<double>(columns.size())};
    rows.values.visit([&](auto values) {
        for (std::size_t k = 0; k < plain.values.size(); ++k) plain.values[k] = static_cast<double>(values[k]);
    });
    return plain;
}

double Transfer::bytes(int columns) const {
    return stored() / 2 + 8.0 * columns * static_cast<double>(fine_ + coarse_ + halo_.size());
}

double Transfer::stored() const {
    return P_.values.bytes() + transpose_.values.bytes() +
           4.0 * static_cast<double>(P_.columns.size() + transpose_.columns.size() + P_.start.size() +
                                     transpose_.start.size());
}

}  // namespace stretto
