// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/jacobi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "../sparse/forms/row_sums.hpp"
#include "fits_single.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {
constexpr std::size_t rows_of_a_piece = 1024;  // which stay in cache for what is done with them

/// `m` is known at compile time for the usual numbers of columns: a row by itself is too short a loop.
template <class Columns, class V, class X>
void multiply_rows(Columns m, const V* diagonal, const X* from, X* to, std::size_t rows) {
    const auto columns = static_cast<std::size_t>(static_cast<int>(m));
#pragma omp simd
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < columns; ++j)
            to[row * columns + j] = static_cast<X>(diagonal[row]) * from[row * columns + j];
}
}  // namespace

template <class V>
template <class X>
void DiagonalRows<V>::multiply(MultiVector<X> r, MultiVector<X> z, const RowWork* work) const {
    comm_->charge(bytes_for<X>(r.columns()));
    parallel(threads_, [&](int t, int) { apply_part(t, comm_, r, z, work); });
}

template <class V>
std::pair<Index, Index> DiagonalRows<V>::rows_of(int part) const {
    const RowShare rows(values_.size(), part, threads_);
    return {static_cast<Index>(rows.begin), static_cast<Index>(rows.end)};
}

/// Those of a thread. `comm`: null, or lets what is in flight advance.
template <class V>
template <class X>
void DiagonalRows<V>::apply_part(int part, Comm* comm, MultiVector<X> r, MultiVector<X> z, const RowWork* work) const {
    const RowShare rows(values_.size(), part, threads_);
    FinishedRows finished(work, part, r.columns());
    Pieces(comm, part, rows_of_a_piece)(rows.begin, rows.end, [&](std::size_t begin, std::size_t end) {
        const auto stretch = std::max<std::size_t>(1, rows_of_a_piece / static_cast<std::size_t>(r.columns()));
        for (std::size_t next; begin < end; begin = next) {
            next = std::min(end, begin + stretch);
            with_columns(r.columns(), [&](auto m) {
                const auto at = begin * static_cast<std::size_t>(r.columns());
                multiply_rows(m, values_.data() + begin, r.data() + at, z.data() + at, next - begin);
            });
            finished(static_cast<Index>(begin), static_cast<Index>(next));
        }
    });
}

template class DiagonalRows<double>;
template class DiagonalRows<float>;
template void DiagonalRows<double>::multiply(MultiVector<double>, MultiVector<double>, const RowWork*) const;
template void DiagonalRows<float>::multiply(MultiVector<double>, MultiVector<double>, const RowWork*) const;
template void DiagonalRows<float>::multiply(MultiVector<float>, MultiVector<float>, const RowWork*) const;
template void DiagonalRows<double>::apply_part(int, Comm*, MultiVector<double>, MultiVector<double>,
                                               const RowWork*) const;
template void DiagonalRows<float>::apply_part(int, Comm*, MultiVector<double>, MultiVector<double>,
                                              const RowWork*) const;

Jacobi::Jacobi(const CsrMatrix<double>& A, bool single)
    : A_(&A), single_(single), inverse_(A.comm(), A.local_rows(), A.threads()) {
    if (single) rounded_ = std::make_shared<DiagonalRows<float>>(A.comm(), A.local_rows(), A.threads());
    update(0);
}

bool Jacobi::update(int /*solves*/) {
    std::atomic<Global> zeros{0};
    parallel(A_->threads(), [&](int t, int threads) {
        const RowShare rows(inverse_.values().size(), t, threads);
        Global mine = 0;
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
            const auto [columns, values] = A_->row(static_cast<Index>(i));
            const auto at = std::ranges::find(columns, static_cast<Index>(i)) - columns.begin();
            const double diagonal = static_cast<std::size_t>(at) < values.size() ? values[at] : 0;
            mine += diagonal == 0;
            inverse_.data()[i] = diagonal == 0 ? 1 : 1 / diagonal;
        }
        zeros += mine;
    });
    zeros_ = all_sum(A_->comm(), zeros.load());
    rounds_ = single_ && all_of(A_->comm(), std::ranges::all_of(inverse_.values(), fits_single));
    if (rounded_) round();
    return true;
}

void Jacobi::round() const { std::ranges::copy(inverse_.values(), rounded_->data()); }

OwnedOperator<float> Jacobi::in_single() const {
    if (!rounded_) {
        rounded_ = std::make_shared<DiagonalRows<float>>(A_->comm(), A_->local_rows(), A_->threads());
        round();
    }
    return owned<float>(rounded_);
}

ExplicitInverse Jacobi::explicit_inverse() const {
    const auto values = inverse_.values();
    return DiagonalInverse{{values.begin(), values.end()}};
}

std::vector<std::string> Jacobi::remarks() const {
    std::vector<std::string> said;
    if (zeros_ > 0) said.push_back(fmt::format("jacobi: {} zeros on the diagonal count as ones", zeros_));
    if (single_ && !rounds_) said.push_back(kept_in_double("jacobi"));
    return said;
}

}  // namespace stretto
