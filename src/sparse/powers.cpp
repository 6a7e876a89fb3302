// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/powers.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// A row of another rank, with global columns.
template <class T>
struct GhostRow {
    std::vector<Global> columns;
    std::vector<T> values;
};

/// Collective. The entries of rows of other ranks.
template <class T>
std::map<Global, GhostRow<T>> fetch_rows(const CsrMatrix<T>& A, const std::set<Global>& rows) {
    const Comm& comm = A.comm();
    const auto& partition = A.partition();
    std::vector<std::vector<Global>> asked(static_cast<std::size_t>(comm.size()));
    for (const Global row : rows) asked[static_cast<std::size_t>(partition.owner(row))].push_back(row);
    const auto wanted = all_to_all(comm, asked);
    std::vector<std::vector<Global>> columns(asked.size());  // each row: how many, then which
    std::vector<std::vector<T>> values(asked.size());
    for (std::size_t p = 0; p < wanted.size(); ++p)
        for (const Global row : wanted[p]) {
            const auto entries = A.row(static_cast<Index>(row - partition.first(comm.rank())));
            columns[p].push_back(static_cast<Global>(entries.columns.size()));
            for (const Index column : entries.columns) columns[p].push_back(A.global(column));
            values[p].insert(values[p].end(), entries.values.begin(), entries.values.end());
        }
    const auto their_columns = all_to_all(comm, columns);
    const auto their_values = all_to_all(comm, values);
    std::map<Global, GhostRow<T>> result;
    for (std::size_t p = 0; p < asked.size(); ++p) {
        auto column = their_columns[p].begin();
        auto value = their_values[p].begin();
        for (const Global row : asked[p]) {
            const auto count = static_cast<std::ptrdiff_t>(*column++);
            result[row] = {{column, column + count}, {value, value + count}};
            column += count;
            value += count;
        }
    }
    return result;
}

}  // namespace

template <class T>
MatrixPowers<T>::MatrixPowers(const CsrMatrix<T>& A, int h) : A_(A) {
    const Global begin = A.partition().first(A.comm().rank()), end = begin + A.local_rows();
    std::set<Global> known, front;
    for (Index k = 0; k < A.halo_rows(); ++k) front.insert(A.global(A.local_rows() + k));
    std::vector<Global> order;
    std::map<Global, GhostRow<T>> entries;
    level_end_.push_back(0);
    for (int level = 1; level < h; ++level) {
        auto found = fetch_rows(A, front);
        known.insert(front.begin(), front.end());
        std::set<Global> next;
        for (const auto& [row, ghost] : found) {
            order.push_back(row);
            for (const Global column : ghost.columns)
                if ((column < begin || column >= end) && !known.contains(column)) next.insert(column);
        }
        entries.merge(found);
        level_end_.push_back(order.size());
        front = std::move(next);
    }
    known.insert(front.begin(), front.end());
    ghosts_ = Halo<T>(A.comm(), A.partition(), {known.begin(), known.end()});

    const auto place = [&](Global row) {
        return static_cast<Index>(std::ranges::lower_bound(ghosts_.rows(), row) - ghosts_.rows().begin());
    };
    for (Index k = 0; k < A.halo_rows(); ++k) near_.push_back(place(A.global(A.local_rows() + k)));
    start_.push_back(0);
    for (const Global row : order) {
        rows_.push_back(place(row));
        const auto& ghost = entries.at(row);
        for (std::size_t k = 0; k < ghost.columns.size(); ++k) {
            const Global column = ghost.columns[k];
            const bool own = column >= begin && column < end;
            columns_.push_back(own ? static_cast<Index>(column - begin) : A.local_rows() + place(column));
            values_.push_back(ghost.values[k]);
        }
        start_.push_back(columns_.size());
    }
}

template <class T>
double MatrixPowers<T>::redundancy() const {
    double redundant = 0, own = 0;
    for (const std::size_t rows : level_end_) redundant += static_cast<double>(start_[rows]);
    for (Index i = 0; i < A_.local_rows(); ++i) own += static_cast<double>(A_.row(i).columns.size());
    return own > 0 ? redundant / (own * depth()) : redundant > 0 ? 1 : 0;
}

template <class T>
double MatrixPowers<T>::redundant_bytes(int columns) const {
    double bytes = 0;
    for (const std::size_t rows : level_end_)
        bytes += static_cast<double>(start_[rows] * (sizeof(T) + sizeof(Index)) +
                                     2 * rows * sizeof(T) * static_cast<std::size_t>(columns));
    return bytes;
}

template <class T>
void MatrixPowers<T>::apply(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const {
    const int m = v[first].columns();
    const auto width = static_cast<std::size_t>(m);
    ghosts_.start(v[first].data(), m, A_.threads()).wait();
    ghost_vectors_.resize(static_cast<std::size_t>(depth()));
    for (auto& ghost : ghost_vectors_) ghost.resize(static_cast<std::size_t>(ghosts_.size()) * width);
    std::copy_n(ghosts_.values(m), ghost_vectors_[0].size(), ghost_vectors_[0].begin());
    T* const halo = A_.halo_values(m);

    for (int step = 0; step < count; ++step) {
        const int i = first + step;
        const auto x = v[i], y = v[i + 1];
        const auto& ghost_x = ghost_vectors_[static_cast<std::size_t>(step)];
        for (std::size_t k = 0; k < near_.size(); ++k)
            std::copy_n(ghost_x.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(near_[k]) * width), m,
                        halo + k * width);
        A_.apply_local(x, y);
        // v_{i+1} = by_theta A v_i − now v_i − before v_{i−1}
        auto &by_theta = coefficients_[0], &now = coefficients_[1], &before = coefficients_[2];
        for (auto& each : coefficients_) each.resize(width);
        for (std::size_t k = 0; k < width; ++k) {
            const int column = static_cast<int>(k);
            using N = Number<T>;
            const N theta = B(i + 1, i, column), inverse = theta == N{} ? N{} : N{1} / theta;
            by_theta[k] = static_cast<T>(inverse);
            now[k] = static_cast<T>(inverse * B(i, i, column));
            before[k] = step > 0 ? static_cast<T>(inverse * B(i - 1, i, column)) : T{};
        }
        const T* const last = v[std::max(i - 1, first)].data();
        parallel(A_.threads(), [&](int t, int threads) {
            const Share mine(static_cast<std::size_t>(y.rows()), t, threads);
            for (std::size_t row = mine.begin; row < mine.end; ++row)
                for (std::size_t k = 0, at = row * width; k < width; ++k, ++at)
                    y.data()[at] = by_theta[k] * y.data()[at] - now[k] * x.data()[at] - before[k] * last[at];
        });
        if (step + 1 == count) break;

        const auto own = static_cast<std::size_t>(A_.local_rows());
        const auto& ghost_last = ghost_vectors_[static_cast<std::size_t>(std::max(step - 1, 0))];
        auto& ghost_y = ghost_vectors_[static_cast<std::size_t>(step) + 1];
        const std::size_t multiplied = level_end_[static_cast<std::size_t>(count - 1 - step)];
        for (std::size_t k = 0; k < multiplied; ++k) {
            const auto at = static_cast<std::size_t>(rows_[k]) * width;
            for (std::size_t j = 0; j < width; ++j) {
                T product{};
                for (std::size_t e = start_[k]; e < start_[k + 1]; ++e) {
                    const auto column = static_cast<std::size_t>(columns_[e]);
                    product += values_[e] *
                               (column < own ? x.data()[column * width + j] : ghost_x[(column - own) * width + j]);
                }
                ghost_y[at + j] = by_theta[j] * product - now[j] * ghost_x[at + j] - before[j] * ghost_last[at + j];
            }
        }
    }
}

template class MatrixPowers<double>;
template class MatrixPowers<float>;
#if STRETTO_COMPLEX
template class MatrixPowers<std::complex<double>>;
template class MatrixPowers<std::complex<float>>;
#endif

}  // namespace stretto
