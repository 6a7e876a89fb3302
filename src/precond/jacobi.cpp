// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/jacobi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "../sparse/forms/row_sums.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {
constexpr std::size_t rows_of_a_piece = 1024;  // which stay in cache for what is done with them

/// `m` is known at compile time for the usual numbers of columns: a row by itself is too short a loop.
template <class Columns>
void divide_rows(Columns m, const double* inverse, const double* from, double* to, std::size_t rows) {
    const auto columns = static_cast<std::size_t>(static_cast<int>(m));
#pragma omp simd
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < columns; ++j) to[row * columns + j] = inverse[row] * from[row * columns + j];
}
}  // namespace

Jacobi::Jacobi(const CsrMatrix<double>& A)
    : A_(&A), comm_(&A.comm()), threads_(A.threads()), inverse_(static_cast<std::size_t>(A.local_rows())) {
    update();
}

bool Jacobi::update() {
    std::atomic<Global> zeros{0};
    parallel(threads_, [&](int t, int threads) {
        const RowShare rows(inverse_.size(), t, threads);
        Global mine = 0;
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
            const auto [columns, values] = A_->row(static_cast<Index>(i));
            const auto at = std::ranges::find(columns, static_cast<Index>(i)) - columns.begin();
            const double diagonal = static_cast<std::size_t>(at) < values.size() ? values[at] : 0;
            mine += diagonal == 0;
            inverse_[i] = diagonal == 0 ? 1 : 1 / diagonal;
        }
        zeros += mine;
    });
    zeros_ = all_sum(*comm_, zeros.load());
    return true;
}

void Jacobi::divide(MultiVector<double> r, MultiVector<double> z, const RowWork* work) const {
    comm_->charge(bytes(r.columns()));
    parallel(threads_, [&](int t, int) { divide_rows_of(t, comm_, r, z, work); });
}

std::pair<Index, Index> Jacobi::block_rows(int block) const {
    const RowShare rows(inverse_.size(), block, threads_);
    return {static_cast<Index>(rows.begin), static_cast<Index>(rows.end)};
}

/// Those of a thread. `comm`: null, or lets what is in flight advance.
void Jacobi::divide_rows_of(int thread, Comm* comm, MultiVector<double> r, MultiVector<double> z,
                            const RowWork* work) const {
    const RowShare rows(inverse_.size(), thread, threads_);
    FinishedRows finished(work, thread, r.columns());
    Pieces(comm, thread, rows_of_a_piece)(rows.begin, rows.end, [&](std::size_t begin, std::size_t end) {
        const auto stretch = std::max<std::size_t>(1, rows_of_a_piece / static_cast<std::size_t>(r.columns()));
        for (std::size_t next; begin < end; begin = next) {
            next = std::min(end, begin + stretch);
            with_columns(r.columns(), [&](auto m) {
                const auto at = begin * static_cast<std::size_t>(r.columns());
                divide_rows(m, inverse_.data() + begin, r.data() + at, z.data() + at, next - begin);
            });
            finished(static_cast<Index>(begin), static_cast<Index>(next));
        }
    });
}

ExplicitInverse Jacobi::explicit_inverse() const {
    const auto values = inverse_.values();
    return DiagonalInverse{{values.begin(), values.end()}};
}

double Jacobi::bytes(int columns) const { return 8.0 * static_cast<double>(inverse_.size()) * (2.0 * columns + 1); }

std::vector<std::string> Jacobi::remarks() const {
    if (zeros_ == 0) return {};
    return {fmt::format("jacobi: {} zeros on the diagonal count as ones", zeros_)};
}

}  // namespace stretto
