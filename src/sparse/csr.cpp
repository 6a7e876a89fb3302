// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/csr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/sparse/powers.hpp"

namespace stretto {
namespace {

/// Place counted from 0, and named from 1.
template <class T>
void check_finite(Global row, Global column, const T& value) {
    if (is_finite(value)) return;
    const auto place = fmt::format("row {}, column {}: the value is", row + 1, column + 1);
    if constexpr (is_complex<T>)
        throw InputError(fmt::format("{} {} {:+}i", place, value.real(), value.imag()));
    else
        throw InputError(fmt::format("{} {}", place, value));
}

}  // namespace

template <class T>
CsrMatrix<T>::CsrMatrix(Comm& comm, Partition partition, LocalRows<T> rows, int threads, Storage storage)
    : comm_(&comm), partition_(std::move(partition)), storage_(storage) {
    plan(rows, threads);
    agree(comm, [&] {
        local_ = LocalMatrix<T>(rows, first_, halo_.rows(), threads);
        rows.columns = {};  // what follows has their memory
        local_.store_values(rows.values);
        rows.values = {};
        local_.build_forms(storage_, comm_->reproducible());
    });
}

template <class T>
CsrMatrix<T>::CsrMatrix(Comm& comm, Partition partition, const GivenRows<T>& rows, int threads, Storage storage)
    : comm_(&comm), partition_(std::move(partition)), storage_(storage) {
    plan(rows, threads);
    agree(comm, [&] {
        local_ = LocalMatrix<T>(rows, first_, halo_.rows(), threads);
        local_.build_forms(storage_, comm_->reproducible());
    });
}

template <class T>
template <class Other>
CsrMatrix<T>::CsrMatrix(const CsrMatrix<Other>& other)
    : comm_(other.comm_),
      partition_(other.partition_),
      storage_(other.storage_),
      first_(other.first_),
      nonzeros_(other.nonzeros_),
      halo_(other.halo_),
      local_(other.local_) {
    agree(*comm_, [&] { local_.build_forms(storage_, comm_->reproducible()); });
}

/// What is not of values.
template <class T>
template <class Rows>
void CsrMatrix<T>::plan(const Rows& rows, int threads) {
    agree(*comm_, [&] { check(rows, threads); });
    first_ = partition_.first(comm_->rank());
    nonzeros_ = all_sum(*comm_, static_cast<Global>(rows.columns.size()));
    plan_halo(rows);
}

template <class T>
template <class Rows>
void CsrMatrix<T>::check(const Rows& rows, int threads) const {
    if (threads < 1) throw InputError(fmt::format("a matrix needs at least 1 thread, not {}", threads));
    if (partition_.ranks() != comm_->size())
        throw InputError(
            fmt::format("the partition is for {} ranks, the communicator has {}", partition_.ranks(), comm_->size()));
    const int rank = comm_->rank();
    if (rows.start.size() != static_cast<std::size_t>(partition_.rows(rank)) + 1)
        throw InputError(fmt::format("rank {} was given {} rows, its partition has {}", rank,
                                     static_cast<Global>(rows.start.size()) - 1, partition_.rows(rank)));
    const auto count = rows.columns.size();
    if (count > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
        throw InputError(fmt::format(
            "rank {} would hold {} nonzeros, more than a local 32-bit index can count: use more ranks", rank, count));
    if (rows.values.size() != count || rows.start.front() != 0 || rows.start.back() != static_cast<Global>(count) ||
        !std::is_sorted(rows.start.begin(), rows.start.end()))
        throw InputError(fmt::format("the compressed rows of rank {} are inconsistent", rank));

    for (Index i = 0; i < rows.rows(); ++i)
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k) {
            const Global column = rows.columns[k];
            const auto place = [&] {
                return fmt::format("row {}, column {}", partition_.first(rank) + i + 1, column + 1);
            };
            if (column < 0 || column >= partition_.rows())
                throw InputError(
                    fmt::format("{}: outside the {} × {} matrix", place(), partition_.rows(), partition_.rows()));
            if (k > rows.start[i] && column <= rows.columns[k - 1])
                throw InputError(place() + ": the columns of a row must increase");
            check_finite(partition_.first(rank) + i, column, rows.values[k]);
        }
}

/// Finds the halo, who owns it and who needs rows from here.
template <class T>
template <class Rows>
void CsrMatrix<T>::plan_halo(const Rows& rows) {
    const Index own = rows.rows();
    std::vector<Global> needed;
    agree(*comm_, [&] {
        std::ranges::copy_if(rows.columns, std::back_inserter(needed),
                             [&](Global column) { return column < first_ || column >= first_ + own; });
        std::ranges::sort(needed);
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        needed.shrink_to_fit();
        if (needed.size() + static_cast<std::size_t>(own) > std::numeric_limits<Index>::max())
            throw InputError(
                fmt::format("rank {} would need {} rows of other ranks beside its own {}, more than a local "
                            "32-bit index can count: use more ranks",
                            comm_->rank(), needed.size(), own));
    });
    halo_ = Halo<T>(*comm_, partition_, std::move(needed));
}

template <class T>
void CsrMatrix<T>::update_values(std::span<const T> values) {
    agree(*comm_, [&] {
        if (values.size() != local_.nonzeros())
            throw InputError(fmt::format("rank {} was given {} new values for its {} nonzeros", comm_->rank(),
                                         values.size(), local_.nonzeros()));
        if (std::ranges::all_of(values, [](const T& value) { return is_finite(value); })) return;
        auto value = values.begin();
        for (Index i = 0; i < local_rows(); ++i)
            local_.in_global_order(
                row(i), [&](std::size_t k) { check_finite(first_ + i, global(row(i).columns[k]), *value++); });
    });
    norm_bound_.reset();
    agree(*comm_, [&] {
        local_.store_values(values);
        local_.build_forms(storage_, comm_->reproducible());
    });
    if (powers_) powers_ = std::make_shared<const MatrixPowers<T>>(*this, powers_->depth());
    if constexpr (!is_single<T>)
        if (single_) single_->update_values(std::vector<Single<T>>(values.begin(), values.end()));
}

template <class T>
OwnedOperator<Single<T>> CsrMatrix<T>::in_single() const
    requires(!is_single<T>)
{
    if (!single_) single_ = std::shared_ptr<CsrMatrix<Single<T>>>(new CsrMatrix<Single<T>>(*this));
    return owned<Single<T>>(single_);
}

template <class T>
void CsrMatrix<T>::update_values(const LocalRows<T>& rows) {
    agree(*comm_, [&] { check_pattern(rows); });
    update_values(std::span<const T>(rows.values));
}

template <class T>
void CsrMatrix<T>::check_pattern(const LocalRows<T>& rows) const {
    if (rows.rows() != local_rows())
        throw InputError(fmt::format("rank {} was given new values of {} rows, and has {}", comm_->rank(), rows.rows(),
                                     local_rows()));
    if (rows.start.front() != 0 || rows.start.back() != static_cast<Global>(rows.columns.size()) ||
        rows.values.size() != rows.columns.size())
        throw InputError(fmt::format("the compressed rows of rank {} are inconsistent", comm_->rank()));
    for (Index i = 0; i < local_rows(); ++i) {
        const Row entries = row(i);
        const auto given = rows.start[i + 1] - rows.start[i];
        if (given != static_cast<Global>(entries.columns.size()))
            throw InputError(
                fmt::format("row {}: {} new values for {} nonzeros; a matrix with another pattern is to be "
                            "made anew",
                            first_ + i + 1, given, entries.columns.size()));
        auto column = rows.columns.begin() + rows.start[i];
        local_.in_global_order(entries, [&](std::size_t k) {
            if (*column != global(entries.columns[k]))
                throw InputError(
                    fmt::format("row {}, column {}: a new value where the matrix has one in column {}; a "
                                "matrix with another pattern is to be made anew",
                                first_ + i + 1, *column + 1, global(entries.columns[k]) + 1));
            ++column;
        });
    }
}

template <class T>
void CsrMatrix<T>::check_shapes(MultiVector<T> x, MultiVector<T> y) const {
    if (x.rows() != local_rows() || y.rows() != local_rows() || x.columns() != y.columns() || x.columns() < 1)
        throw InputError(fmt::format("y = A x: A has {} local rows, x is {} × {}, y is {} × {}", local_rows(), x.rows(),
                                     x.columns(), y.rows(), y.columns()));
}

template <class T>
void CsrMatrix<T>::multiply(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const {
    check_shapes(x, y);
    const double after = interface_bytes(x.columns());
    auto arriving = halo_.start(x.data(), x.columns(), threads());
    comm_->charge(bytes(x.columns()) - after);
    local_.multiply_interior(*comm_, x, y, work);
    if (halo_.empty()) return;
    arriving.wait();
    comm_->charge(after);
    local_.multiply_interface(x, halo_.values(x.columns()), y, work);
}

template <class T>
void CsrMatrix<T>::apply_local(MultiVector<T> x, MultiVector<T> y) const {
    check_shapes(x, y);
    comm_->charge(bytes(x.columns()));
    local_.multiply_interior(*comm_, x, y, nullptr);
    if (!halo_.empty()) local_.multiply_interface(x, halo_.values(x.columns()), y, nullptr);
}

template <class T>
int CsrMatrix<T>::prepare_powers(int h) const {
    constexpr double most_redundant = 0.5;
    if (h < 2 || comm_->reproducible()) return 1;  // its rows are summed up in another order
    if (powers_ && powers_->depth() == h) return h;
    auto powers = std::make_shared<const MatrixPowers<T>>(*this, h);
    if (all_max(*comm_, powers->redundancy()) > most_redundant) return 1;
    powers_ = std::move(powers);
    return h;
}

template <class T>
void CsrMatrix<T>::apply_powers(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const {
    comm_->charge(powers_->redundant_bytes(v[first].columns()));
    powers_->apply(v, first, count, B);
}

template <class T>
void CsrMatrix<T>::apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
    check_shapes(x, y);
    const auto rows = static_cast<std::size_t>(local_rows());
    comm_->charge(
        static_cast<double>(local_.nonzeros() * (sizeof(T) + sizeof(Index)) + (rows + 1) * sizeof(Index) +
                            (3 * rows + 2 * halo_.rows().size()) * static_cast<std::size_t>(x.columns()) * sizeof(T)));
    const auto m = static_cast<std::size_t>(x.columns());
    T* const halo = halo_.values(x.columns());
    std::fill_n(halo, static_cast<std::size_t>(halo_.size()) * m, T{});
    std::ranges::fill(y.values(), T{});
    for (Index i = 0; i < local_rows(); ++i) {
        const T* const from = x.data() + static_cast<std::size_t>(i) * m;
        const auto [columns, values] = row(i);
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const Index column = columns[k];
            T* const to = column < local_rows() ? y.data() + static_cast<std::size_t>(column) * m
                                                : halo + static_cast<std::size_t>(column - local_rows()) * m;
            for (std::size_t j = 0; j < m; ++j) to[j] += conjugate(values[k]) * from[j];
        }
    }
    halo_.add_back(y.data(), x.columns());
}

template <class T>
double CsrMatrix<T>::bytes(int columns) const {
    const auto interior_rows = static_cast<std::size_t>(local_rows() - forms().interface);
    return forms().interior_bytes(columns) +
           static_cast<double>(2 * interior_rows * static_cast<std::size_t>(columns) * sizeof(T)) +
           interface_bytes(columns);
}

/// The part of it that waits for the halo.
template <class T>
double CsrMatrix<T>::interface_bytes(int columns) const {
    const std::size_t vector_rows = 2 * static_cast<std::size_t>(forms().interface) + halo_.rows().size();
    return forms().interface_bytes + static_cast<double>(vector_rows * static_cast<std::size_t>(columns) * sizeof(T));
}

template <class T>
std::vector<T> CsrMatrix<T>::diagonal() const {
    std::vector<T> result(static_cast<std::size_t>(local_rows()));
    for (Index i = 0; i < local_rows(); ++i) {
        const auto [columns, values] = row(i);
        const auto found = std::ranges::find(columns, i);
        if (found != columns.end()) result[i] = values[static_cast<std::size_t>(found - columns.begin())];
    }
    return result;
}

template <class T>
double CsrMatrix<T>::norm() const {
    double largest = 0;
    for (Index i = 0; i < local_rows(); ++i) {
        const Row entries = row(i);
        double sum = 0;
        local_.in_global_order(entries, [&](std::size_t k) { sum += std::abs(entries.values[k]); });
        largest = std::max(largest, sum);
    }
    return all_max(*comm_, largest);
}

template <class T>
LocalRows<T> CsrMatrix<T>::local() const {
    LocalRows<T> result;
    result.columns.reserve(local_.nonzeros());
    result.values.reserve(local_.nonzeros());
    for (Index i = 0; i < local_rows(); ++i) {
        const Row entries = row(i);
        local_.in_global_order(entries, [&](std::size_t k) {
            result.columns.push_back(global(entries.columns[k]));
            result.values.push_back(entries.values[k]);
        });
        result.start.push_back(static_cast<Global>(result.columns.size()));
    }
    return result;
}

template class CsrMatrix<double>;
template class CsrMatrix<float>;
#if STRETTO_COMPLEX
template class CsrMatrix<std::complex<double>>;
template class CsrMatrix<std::complex<float>>;
#endif

}  // namespace stretto
