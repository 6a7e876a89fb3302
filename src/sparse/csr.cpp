// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/csr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numeric>

#include "forms/row_sums.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/sparse/powers.hpp"

namespace stretto {
namespace {

/// Rows are short, and the hardware's prefetcher alone keeps a core at half of its bandwidth: ask for the
/// matrix this many nonzeros ahead (measured with 7 points: 256 is best for m = 1, 128 to 512 within 5 %) …
constexpr Index nonzeros_ahead = 256;
/// … and, for four columns or more, for the entry of x that is new to the cache, the last of a row, this many
/// rows ahead (10 % with 7 points; 16 is better still there, but much worse with 27).
constexpr Index rows_ahead = 8;

// What is in flight may be looked after in between; a microsecond or so.
constexpr std::size_t rows_of_a_piece = 128;

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};

/// A form that only products of one column read.
template <class Form>
concept OfOneColumn = std::same_as<Form, BlockedRows<double>> || std::same_as<Form, SlicedRows<double>>;

template <class T>
void prefetch_matrix(const T* values, const Index* columns, Index begin, Index end) {
    constexpr auto step = static_cast<Index>(64 / sizeof(T));  // once for each cache line of values
    for (Index k = begin + nonzeros_ahead; k < end + nonzeros_ahead; k += step) {
        __builtin_prefetch(values + k);
        __builtin_prefetch(columns + k);
    }
}

template <class T>
void prefetch_vector(const Index* start, const Index* columns, Index row, const T* x, int m) {
    if (start[row] == start[row + 1]) return;
    const T* const entry = x + static_cast<std::size_t>(columns[start[row + 1] - 1]) * static_cast<std::size_t>(m);
    for (int c = 0; c < m; c += static_cast<int>(64 / sizeof(T))) __builtin_prefetch(entry + c);
}

/// y = A x in rows begin … end − 1, whose columns are all owned. A function of its own, so that what is around it does
/// not change how it is compiled (a third of its speed).
template <class M, class T>
[[gnu::noinline]] void multiply(M m, const Index* start, const Index* columns, const T* values, Index begin, Index end,
                                const T* x, T* y) {
    const auto stride = static_cast<std::size_t>(m);
    for (Index i = begin; i < end; ++i) {
        prefetch_matrix(values, columns, start[i], start[i + 1]);
        if (m >= 4) prefetch_vector(start, columns, std::min(i + rows_ahead, end - 1), x, m);
        cover(m, [&]<int Width>(int c) {
            RowSums<Width, T> sums;
            sums.add(values, columns, start[i], start[i + 1], x + c, stride);
            sums.store(y + static_cast<std::size_t>(i) * stride + c);
        });
    }
}

}  // namespace

template <class T>
CsrMatrix<T>::CsrMatrix(Comm& comm, Partition partition, LocalRows<T> rows, int threads, Storage storage)
    : comm_(&comm), partition_(std::move(partition)), threads_(threads), first_(0), local_rows_(rows.rows()) {
    agree(comm, [&] { check(rows); });
    first_ = partition_.first(comm.rank());
    nonzeros_ = all_sum(comm, static_cast<Global>(rows.columns.size()));
    plan_halo(rows);
    deal_rows(rows);
    store(rows);
    form_.resize(interior_.size());
    each_part([&](std::size_t part) { find_form(part, storage); });
    forms_ = count_forms();
}

template <class T>
void CsrMatrix<T>::check(const LocalRows<T>& rows) const {
    if (threads_ < 1) throw InputError(fmt::format("a matrix needs at least 1 thread, not {}", threads_));
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

    for (Index i = 0; i < local_rows_; ++i)
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
            if (!std::isfinite(rows.values[k]))
                throw InputError(fmt::format("{}: the value is {}", place(), rows.values[k]));
        }
}

/// Finds the halo, who owns it and who needs rows from here.
template <class T>
void CsrMatrix<T>::plan_halo(const LocalRows<T>& rows) {
    const auto owned = [&](Global column) { return column >= first_ && column < first_ + local_rows_; };
    std::vector<Global> needed;
    std::copy_if(rows.columns.begin(), rows.columns.end(), std::back_inserter(needed),
                 [&](Global column) { return !owned(column); });
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    needed.shrink_to_fit();
    agree(*comm_, [&] {
        if (needed.size() + static_cast<std::size_t>(local_rows_) > std::numeric_limits<Index>::max())
            throw InputError(
                fmt::format("rank {} would need {} rows of other ranks beside its own {}, more than a local "
                            "32-bit index can count: use more ranks",
                            comm_->rank(), needed.size(), local_rows_));
    });
    halo_ = Halo<T>(*comm_, partition_, std::move(needed));
}

/// Deals interior rows and interface rows to the parts, so that either kind is balanced: a part waits for the
/// others between the two.
template <class T>
void CsrMatrix<T>::deal_rows(const LocalRows<T>& rows) {
    const auto last = first_ + local_rows_;
    const auto is_interface = [&](Index i) {  // columns increase: only the ends of a row need a look
        const auto begin = rows.start[i], end = rows.start[i + 1];
        return begin < end && (rows.columns[begin] < first_ || rows.columns[end - 1] >= last);
    };
    const auto weight = [&](Index i) { return rows.start[i + 1] - rows.start[i] + 1; };
    Global total[2] = {0, 0}, done[2] = {0, 0};
    for (Index i = 0; i < local_rows_; ++i) total[is_interface(i)] += weight(i);

    interior_.resize(static_cast<std::size_t>(threads_));
    interface_.resize(static_cast<std::size_t>(threads_));
    for (Index i = 0; i < local_rows_; ++i) {
        const bool kind = is_interface(i);
        const auto part = static_cast<std::size_t>(done[kind] * threads_ / total[kind]);
        done[kind] += weight(i);
        if (kind) {
            interface_[part].push_back({i, 0});
        } else if (auto& ranges = interior_[part]; !ranges.empty() && ranges.back().end == i) {
            ++ranges.back().end;
        } else {
            ranges.push_back({i, i + 1});
        }
    }
}

/// Writes the matrix in local numbering, each row by the thread that will read it.
template <class T>
void CsrMatrix<T>::store(const LocalRows<T>& rows) {
    start_ = Buffer<Index>(rows.start.size());
    columns_ = Buffer<Index>(rows.columns.size() + nonzeros_ahead);
    values_ = Buffer<T>(rows.values.size() + nonzeros_ahead);
    const auto last = first_ + local_rows_;
    const auto store_row = [&](Index i) {  // returns where the halo columns begin
        start_[i] = static_cast<Index>(rows.start[i]);
        Index at = start_[i];
        const auto put = [&](Global k, Global column) {
            columns_[at] = static_cast<Index>(column);
            values_[at++] = rows.values[k];
        };
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
            if (rows.columns[k] >= first_ && rows.columns[k] < last) put(k, rows.columns[k] - first_);
        const Index halo_begin = at;
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
            if (rows.columns[k] < first_ || rows.columns[k] >= last)
                put(k, local_rows_ + (std::lower_bound(halo_.rows().begin(), halo_.rows().end(), rows.columns[k]) -
                                      halo_.rows().begin()));
        return halo_begin;
    };
    each_part([&](std::size_t part) {
        for (const auto [begin, end] : interior_[part])
            for (Index i = begin; i < end; ++i) store_row(i);
        for (auto& [row, halo_begin] : interface_[part]) halo_begin = store_row(row);
    });
    start_[local_rows_] = static_cast<Index>(rows.start.back());
}

template <class T>
void CsrMatrix<T>::find_form(std::size_t part, Storage storage) {
    const auto tries = [storage](Storage form) { return storage == form || storage == Storage::automatic; };
    const Index *const start = start_.data(), *const columns = columns_.data();
    const auto& ranges = interior_[part];
    if (tries(Storage::repeated)) {
        RepeatedRows<T> form;
        for (const auto [begin, end] : ranges) form.add(start, columns, values_.data(), begin, end);
        form.finish();
        if (form) form_[part] = std::move(form);
    }
    if (form_[part].index() == 0 && tries(Storage::in_step)) {
        RowsInStep<T> form;
        for (const auto [begin, end] : ranges) form.add(start, columns, begin, end);
        form.finish(start, values_.data());
        if (form) form_[part] = std::move(form);
    }
    if (form_[part].index() > 0) return;
    std::vector<Index> rows;
    for (const auto [begin, end] : ranges)
        for (Index i = begin; i < end; ++i) rows.push_back(i);
    if (tries(Storage::blocked)) {
        BlockedRows<T> form(start, columns, values_.data(), rows);
        if (form) form_[part] = std::move(form);
    }
    if (form_[part].index() == 0 && tries(Storage::sliced)) {
        SlicedRows<T> form(start, columns, values_.data(), std::move(rows));
        if (form) form_[part] = std::move(form);
    }
}

/// Calls work(part) for every part, also where fewer threads answer than were asked for.
template <class T>
template <class Work>
void CsrMatrix<T>::each_part(Work&& work) const {
    parallel(threads_, [&](int t, int threads) {
        for (int part = t; part < threads_; part += threads) work(static_cast<std::size_t>(part));
    });
}

template <class T>
void CsrMatrix<T>::check_shapes(MultiVector<T> x, MultiVector<T> y) const {
    if (x.rows() != local_rows_ || y.rows() != local_rows_ || x.columns() != y.columns() || x.columns() < 1)
        throw InputError(fmt::format("y = A x: A has {} local rows, x is {} × {}, y is {} × {}", local_rows_, x.rows(),
                                     x.columns(), y.rows(), y.columns()));
}

template <class T>
void CsrMatrix<T>::multiply(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const {
    check_shapes(x, y);
    const double after = interface_bytes(x.columns());
    auto arriving = halo_.start(x.data(), x.columns(), threads_);
    comm_->charge(bytes(x.columns()) - after);
    multiply_interior(x, y, work);
    if (halo_.empty()) return;
    arriving.wait();
    comm_->charge(after);
    multiply_interface(x, y, work);
}

template <class T>
void CsrMatrix<T>::apply_local(MultiVector<T> x, MultiVector<T> y) const {
    check_shapes(x, y);
    comm_->charge(bytes(x.columns()));
    multiply_interior(x, y, nullptr);
    if (!halo_.empty()) multiply_interface(x, y, nullptr);
}

template <class T>
void CsrMatrix<T>::multiply_interior(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const {
    with_columns(x.columns(), [&](auto m) {
        const Index *const start = start_.data(), *const columns = columns_.data();
        const T *const values = values_.data(), *const from = x.data();
        T* const to = y.data();
        each_part([&](std::size_t part) {
            const int thread = static_cast<int>(part);
            FinishedRows finished(work, thread, m);
            const auto compressed = [&](std::monostate) {
                Pieces pieces(comm_, thread, rows_of_a_piece);
                for (const auto [begin, end] : interior_[part])
                    pieces(begin, end, [&](std::size_t first, std::size_t last) {
                        for (std::size_t i = first; i < last; i += rows_of_a_piece) {
                            const auto here = static_cast<Index>(i);
                            const auto next = static_cast<Index>(std::min<std::size_t>(last, i + rows_of_a_piece));
                            stretto::multiply(m, start, columns, values, here, next, from, to);
                            finished(here, next);
                        }
                    });
            };
            std::visit(Overloaded{compressed,
                                  [&](const OfOneColumn auto& form) {
                                      if (m > 1) return compressed({});
                                      form.apply(from, to, Pieces(comm_, thread, form.between_polls), finished);
                                  },
                                  [&](const auto& form) {
                                      form.apply(from, to, m, Pieces(comm_, thread, form.between_polls), finished);
                                  }},
                       form_[part]);
        });
    });
}

template <class T>
void CsrMatrix<T>::multiply_interface(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const {
    with_columns(x.columns(), [&](auto m) {
        const auto stride = static_cast<std::size_t>(m);
        const Index *const start = start_.data(), *const columns = columns_.data();
        const T *const values = values_.data(), *const from = x.data(), *const halo = halo_.values(m);
        T* const to = y.data();
        each_part([&](std::size_t part) {
            FinishedRows finished(work, static_cast<int>(part), m);
            for (const auto [i, halo_begin] : interface_[part]) {
                cover(m, [&]<int Width>(int c) {
                    RowSums<Width, T> sums;
                    sums.add(values, columns, start[i], halo_begin, from + c, stride);
                    sums.add(values, columns, halo_begin, start[i + 1], halo + c, stride, local_rows_);
                    sums.store(to + static_cast<std::size_t>(i) * stride + c);
                });
                finished(i, i + 1);
            }
        });
    });
}

template <class T>
int CsrMatrix<T>::prepare_powers(int h) const {
    constexpr double most_redundant = 0.5;
    if (h < 2) return 1;
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
    const auto local_nonzeros = static_cast<std::size_t>(start_[local_rows_]);
    comm_->charge(static_cast<double>(local_nonzeros * (sizeof(T) + sizeof(Index)) + start_.size() * sizeof(Index) +
                                      (3 * static_cast<std::size_t>(local_rows_) + 2 * halo_.rows().size()) *
                                          static_cast<std::size_t>(x.columns()) * sizeof(T)));
    const auto m = static_cast<std::size_t>(x.columns());
    T* const halo = halo_.values(x.columns());
    std::fill_n(halo, static_cast<std::size_t>(halo_.size()) * m, T{});
    std::ranges::fill(y.values(), T{});
    for (Index i = 0; i < local_rows_; ++i) {
        const T* const from = x.data() + static_cast<std::size_t>(i) * m;
        for (Index k = start_[i]; k < start_[i + 1]; ++k) {
            const Index column = columns_[k];
            T* const to = column < local_rows_ ? y.data() + static_cast<std::size_t>(column) * m
                                               : halo + static_cast<std::size_t>(column - local_rows_) * m;
            for (std::size_t j = 0; j < m; ++j) to[j] += values_[k] * from[j];
        }
    }
    halo_.add_back(y.data(), x.columns());
}

template <class T>
auto CsrMatrix<T>::count_forms() const -> Forms {
    Forms forms;
    forms.interior_bytes = sizeof(Index);  // the end of the last row
    const auto of_rows = [&](Index begin, Index end) {
        const auto rows = static_cast<double>(end - begin), nonzeros = static_cast<double>(start_[end] - start_[begin]);
        return nonzeros * static_cast<double>(sizeof(T) + sizeof(Index)) + rows * static_cast<double>(sizeof(Index));
    };
    for (std::size_t part = 0; part < interior_.size(); ++part) {
        const auto add_rows = [&](Index& rows) {
            for (const auto [begin, end] : interior_[part]) rows += end - begin;
        };
        double compressed = 0;
        for (const auto [begin, end] : interior_[part]) compressed += of_rows(begin, end);
        std::visit(Overloaded{[&](std::monostate) { forms.interior_bytes += compressed; },
                              [&](const RepeatedRows<T>& form) {
                                  forms.interior_bytes += form.bytes();
                                  forms.different = std::max(forms.different, form.different_rows());
                                  add_rows(forms.repeated);
                              },
                              [&](const RowsInStep<T>& form) {
                                  forms.interior_bytes += form.bytes();
                                  add_rows(forms.in_step);
                                  if (form.is_halved()) add_rows(forms.halved_in_step);
                              },
                              [&]<OfOneColumn Form>(const Form& form) {
                                  forms.interior_bytes += form.bytes();
                                  forms.more_for_several += compressed - form.bytes();
                                  add_rows(std::same_as<Form, SlicedRows<T>> ? forms.sliced : forms.blocked);
                                  if constexpr (std::same_as<Form, BlockedRows<T>>)
                                      if (form.is_halved()) add_rows(forms.halved_blocks);
                              }},
                   form_[part]);
        for (const auto& [row, halo_begin] : interface_[part]) forms.interface_bytes += of_rows(row, row + 1);
        forms.interface += static_cast<Index>(interface_[part].size());
    }
    return forms;
}

template <class T>
auto CsrMatrix<T>::rows_by_storage(int columns) const -> std::vector<std::pair<std::string_view, Global>> {
    const bool one = columns == 1;
    const Index blocked = one ? forms_.blocked : 0, sliced = one ? forms_.sliced : 0;
    std::vector<std::pair<std::string_view, Global>> rows;
    for (const auto& [name, storage] : storage_names) {
        Index mine = 0;
        switch (storage) {
            case Storage::automatic: continue;
            case Storage::compressed_rows:
                mine = local_rows_ - forms_.repeated - forms_.in_step - blocked - sliced;
                break;
            case Storage::repeated: mine = forms_.repeated; break;
            case Storage::in_step: mine = forms_.in_step; break;
            case Storage::blocked: mine = blocked; break;
            case Storage::sliced: mine = sliced; break;
        }
        rows.emplace_back(name, all_sum(comm(), Global{mine}));
    }
    return rows;
}

template <class T>
Global CsrMatrix<T>::halved_rows(int columns) const {
    return all_sum(comm(), Global{forms_.halved_in_step + (columns == 1 ? forms_.halved_blocks : 0)});
}

template <class T>
std::string_view CsrMatrix<T>::main_storage(int columns) const {
    const auto rows = rows_by_storage(columns);
    using Rows = std::pair<std::string_view, Global>;
    return std::ranges::max(rows, {}, &Rows::second).first;
}

template <class T>
double CsrMatrix<T>::bytes_per_nonzero(int columns) const {
    const double bytes = all_sum(comm(), forms_.bytes() + (columns > 1 ? forms_.more_for_several : 0));
    return nonzeros_ > 0 ? bytes / static_cast<double>(nonzeros_) : NAN;
}

template <class T>
double CsrMatrix<T>::bytes(int columns) const {
    const auto interior_rows = static_cast<std::size_t>(local_rows_ - forms_.interface);
    return forms_.interior_bytes + (columns > 1 ? forms_.more_for_several : 0) +
           static_cast<double>(2 * interior_rows * static_cast<std::size_t>(columns) * sizeof(T)) +
           interface_bytes(columns);
}

/// The part of it that waits for the halo.
template <class T>
double CsrMatrix<T>::interface_bytes(int columns) const {
    const std::size_t vector_rows = 2 * static_cast<std::size_t>(forms_.interface) + halo_.rows().size();
    return forms_.interface_bytes + static_cast<double>(vector_rows * static_cast<std::size_t>(columns) * sizeof(T));
}

template <class T>
std::vector<T> CsrMatrix<T>::diagonal() const {
    std::vector<T> result(static_cast<std::size_t>(local_rows_));
    for (Index i = 0; i < local_rows_; ++i)
        for (Index k = start_[i]; k < start_[i + 1]; ++k)
            if (columns_[k] == i) result[i] = values_[k];
    return result;
}

template <class T>
T CsrMatrix<T>::norm() const {
    T largest = 0;
    for (Index i = 0; i < local_rows_; ++i)
        largest = std::max(largest, std::transform_reduce(values_.data() + start_[i], values_.data() + start_[i + 1],
                                                          T{}, std::plus<>(), [](T v) { return std::abs(v); }));
    return all_max(*comm_, largest);
}

template <class T>
LocalRows<T> CsrMatrix<T>::local() const {
    LocalRows<T> result;
    result.start.assign(start_.values().begin(), start_.values().end());
    result.columns.reserve(static_cast<std::size_t>(result.start.back()));
    result.values.reserve(static_cast<std::size_t>(result.start.back()));
    std::vector<std::pair<Global, T>> row;
    for (Index i = 0; i < local_rows_; ++i) {
        row.clear();
        for (Index k = start_[i]; k < start_[i + 1]; ++k) row.emplace_back(global(columns_[k]), values_[k]);
        std::sort(row.begin(), row.end());
        for (const auto& [column, value] : row) {
            result.columns.push_back(column);
            result.values.push_back(value);
        }
    }
    return result;
}

template class CsrMatrix<double>;

}  // namespace stretto
