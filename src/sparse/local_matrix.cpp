// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/local_matrix.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "forms/row_sums.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// For four columns or more, the entry of x that is new to the cache, the last of a row, is asked for this many rows
/// ahead (10 % with 7 points; 16 is better still there, but much worse with 27).
constexpr Index rows_ahead = 8;

// What is in flight may be looked after in between; a microsecond or so.
constexpr std::size_t rows_of_a_piece = 128;

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};

template <Index ahead, class T>
void prefetch_matrix(const T* values, const Index* columns, Index begin, Index end) {
    constexpr auto step = static_cast<Index>(64 / sizeof(T));  // once for each cache line of values
    for (Index k = begin + ahead; k < end + ahead; k += step) {
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
template <Index ahead, class M, class T>
[[gnu::noinline]] void multiply(M m, const Index* start, const Index* columns, const T* values, Index begin, Index end,
                                const T* x, T* y) {
    const auto stride = static_cast<std::size_t>(m);
    for (Index i = begin; i < end; ++i) {
        prefetch_matrix<ahead>(values, columns, start[i], start[i + 1]);
        if (m >= 4) prefetch_vector(start, columns, std::min(i + rows_ahead, end - 1), x, m);
        cover<widest_sums<T>>(m, [&]<int Width>(int c) {
            RowSums<Width, T> sums;
            sums.add(values, columns, start[i], start[i + 1], x + c, stride);
            sums.store(y + static_cast<std::size_t>(i) * stride + c);
        });
    }
}

}  // namespace

template <class T>
LocalMatrix<T>::LocalMatrix(const LocalRows<T>& rows, Global first, std::span<const Global> halo, int threads)
    : rows_(rows.rows()), halo_below_(static_cast<Index>(std::ranges::lower_bound(halo, first) - halo.begin())) {
    deal_rows(rows, first, threads);
    store_columns(rows, first, halo);
}

template <class T>
LocalMatrix<T>::LocalMatrix(const GivenRows<T>& rows, Global first, std::span<const Global> halo, int threads)
    : rows_(rows.rows()), halo_below_(static_cast<Index>(std::ranges::lower_bound(halo, first) - halo.begin())) {
    deal_rows(rows, first, threads);
    if (first > 0 || !halo.empty()) {
        store_columns(rows, first, halo);
        store_values(rows.values);
        return;
    }
    start_ = rows.start.data();
    columns_ = rows.columns.data();
    values_ = rows.values.data();
}

template <class T>
template <class Other>
LocalMatrix<T>::LocalMatrix(const LocalMatrix<Other>& other)
    : rows_(other.rows_),
      halo_below_(other.halo_below_),
      start_(other.start_),
      columns_(other.columns_),
      own_values_(other.nonzeros() + nonzeros_ahead),
      interior_(other.interior_),
      interface_(other.interface_),
      form_(other.form_.size()) {
    values_ = own_values_.data();
    each_part([&](std::size_t part) {
        const auto convert = [&](Index begin, Index end) {
            for (Index k = start_[begin]; k < start_[end]; ++k)
                own_values_.data()[k] = static_cast<T>(other.values_[k]);
        };
        for (const auto [begin, end] : interior_[part]) convert(begin, end);
        for (const auto& each : interface_[part]) convert(each.row, each.row + 1);
    });
    count_forms();
}

/// Deals interior rows and interface rows to the parts, so that either kind is balanced: a part waits for the
/// others between the two.
template <class T>
template <class Rows>
void LocalMatrix<T>::deal_rows(const Rows& rows, Global first, int threads) {
    const auto last = first + rows_;
    const auto is_interface = [&](Index i) {  // columns increase: only the ends of a row need a look
        const auto begin = rows.start[i], end = rows.start[i + 1];
        return begin < end && (rows.columns[begin] < first || rows.columns[end - 1] >= last);
    };
    const auto weight = [&](Index i) { return Global{rows.start[i + 1] - rows.start[i] + 1}; };
    Global total[2] = {0, 0}, done[2] = {0, 0};
    for (Index i = 0; i < rows_; ++i) total[is_interface(i)] += weight(i);

    interior_.resize(static_cast<std::size_t>(threads));
    interface_.resize(static_cast<std::size_t>(threads));
    form_.resize(static_cast<std::size_t>(threads));
    for (Index i = 0; i < rows_; ++i) {
        const bool kind = is_interface(i);
        const auto part = static_cast<std::size_t>(done[kind] * threads / std::max(total[kind], Global{1}));
        done[kind] += weight(i);
        if (kind) {
            interface_[part].push_back({i, 0, 0});
        } else if (auto& intervals = interior_[part]; !intervals.empty() && intervals.back().end == i) {
            ++intervals.back().end;
        } else {
            intervals.push_back({i, i + 1});
        }
    }
}

/// In local numbering, each row by the thread that will read it.
template <class T>
template <class Rows>
void LocalMatrix<T>::store_columns(const Rows& rows, Global first, std::span<const Global> halo) {
    own_start_ = Buffer<Index>(rows.start.size());
    own_columns_ = Buffer<Index>(rows.columns.size() + nonzeros_ahead);
    start_ = own_start_.data();
    columns_ = own_columns_.data();
    const auto last = first + rows_;
    const auto is_owned = [&](Global column) { return column >= first && column < last; };
    const auto store_row = [&](Index i) {  // returns where the halo columns begin
        own_start_[i] = static_cast<Index>(rows.start[i]);
        Index at = start_[i];
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
            if (is_owned(rows.columns[k])) own_columns_[at++] = static_cast<Index>(rows.columns[k] - first);
        const Index halo_begin = at;
        for (Global k = rows.start[i]; k < rows.start[i + 1]; ++k)
            if (!is_owned(rows.columns[k]))
                own_columns_[at++] =
                    rows_ + static_cast<Index>(std::ranges::lower_bound(halo, rows.columns[k]) - halo.begin());
        Index above = halo_begin;
        while (above < at && own_columns_[above] < rows_ + halo_below_) ++above;
        return InterfaceRow{i, halo_begin, above};
    };
    each_part([&](std::size_t part) {
        for (const auto [begin, end] : interior_[part])
            for (Index i = begin; i < end; ++i) store_row(i);
        for (auto& each : interface_[part]) each = store_row(each.row);
    });
    own_start_[rows_] = static_cast<Index>(rows.start.back());
}

template <class T>
void LocalMatrix<T>::store_values(std::span<const T> values) {
    for (auto& form : form_) form.template emplace<std::monostate>();
    if (own_values_.size() == 0) own_values_ = Buffer<T>(values.size() + nonzeros_ahead);
    values_ = own_values_.data();
    each_part([&](std::size_t part) {
        for (const auto [begin, end] : interior_[part])
            std::copy(values.begin() + start_[begin], values.begin() + start_[end], own_values_.data() + start_[begin]);
        for (const auto& each : interface_[part]) {
            const T* from = values.data() + start_[each.row];
            T* const to = own_values_.data() + start_[each.row];
            in_global_order(row(each.row), [&](std::size_t k) { to[k] = *from++; });
        }
    });
    count_forms();
}

template <class T>
void LocalMatrix<T>::build_forms(Storage storage, bool in_order) {
    each_part([&](std::size_t part) {
        if (interior_[part].empty()) return;
        const InteriorRows<T> rows{start_, columns_, values_, interior_[part]};
        RowForms<T>::find([&]<class Form>(std::type_identity<Form>) {
            if (!storage.tries(Form::name) || (in_order && !Form::in_order)) return false;
            auto form = Form::build(rows);
            if (!form) return false;
            form_[part] = *std::move(form);
            return true;
        });
    });
    count_forms();
}

/// Calls work(part) for every part, also where fewer threads answer than were asked for.
template <class T>
template <class Work>
void LocalMatrix<T>::each_part(Work&& work) const {
    const int parts = threads();
    parallel(parts, [&](int t, int threads) {
        for (int part = t; part < parts; part += threads) work(static_cast<std::size_t>(part));
    });
}

template <class T>
void LocalMatrix<T>::multiply_interior(Comm& comm, MultiVector<T> x, MultiVector<T> y, const RowWork* work) const {
    each_part([&](std::size_t part) { multiply_interior(static_cast<int>(part), &comm, x, y, work); });
}

template <class T>
void LocalMatrix<T>::multiply_interior(int thread, Comm* comm, MultiVector<T> x, MultiVector<T> y,
                                       const RowWork* work) const {
    const auto part = static_cast<std::size_t>(thread);
    with_columns<T>(x.columns(), [&](auto m) {
        const Index *const start = start_, *const columns = columns_;
        const T *const values = values_, *const from = x.data();
        T* const to = y.data();
        FinishedRows finished(work, thread, m);
        const auto compressed = [&] {
            Pieces pieces(comm, thread, rows_of_a_piece);
            for (const auto [begin, end] : interior_[part])
                pieces(begin, end, [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; i += rows_of_a_piece) {
                        const auto here = static_cast<Index>(i);
                        const auto next = static_cast<Index>(std::min<std::size_t>(last, i + rows_of_a_piece));
                        multiply<nonzeros_ahead>(m, start, columns, values, here, next, from, to);
                        finished(here, next);
                    }
                });
        };
        std::visit(Overloaded{[&](std::monostate) { compressed(); },
                              [&]<class Form>(const Form& form) {
                                  if (m > Form::most_columns) return compressed();
                                  form.apply(from, to, m, Pieces(comm, thread, Form::between_polls), finished);
                              }},
                   form_[part]);
    });
}

template <class T>
void LocalMatrix<T>::multiply_interface(MultiVector<T> x, const T* halo, MultiVector<T> y, const RowWork* work) const {
    each_part([&](std::size_t part) { multiply_interface(static_cast<int>(part), x, halo, y, work); });
}

template <class T>
void LocalMatrix<T>::multiply_interface(int part, MultiVector<T> x, const T* halo, MultiVector<T> y,
                                        const RowWork* work) const {
    with_columns<T>(x.columns(), [&](auto m) {
        const auto stride = static_cast<std::size_t>(m);
        const Index *const start = start_, *const columns = columns_;
        const T *const values = values_, *const from = x.data();
        T* const to = y.data();
        FinishedRows finished(work, part, m);
        for (const auto [i, halo_begin, halo_above] : interface_[static_cast<std::size_t>(part)]) {
            cover<widest_sums<T>>(m, [&]<int Width>(int c) {
                RowSums<Width, T> sums;
                sums.add(values, columns, halo_begin, halo_above, halo + c, stride, rows_);
                sums.add(values, columns, start[i], halo_begin, from + c, stride);
                sums.add(values, columns, halo_above, start[i + 1], halo + c, stride, rows_);
                sums.store(to + static_cast<std::size_t>(i) * stride + c);
            });
            finished(i, i + 1);
        }
    });
}

template <class T>
void LocalMatrix<T>::count_forms() {
    forms_ = {};
    forms_.compressed_bytes = sizeof(Index);  // the end of the last row
    for (std::size_t part = 0; part < interior_.size(); ++part) {
        const InteriorRows<T> rows{start_, columns_, values_, interior_[part]};
        std::visit(Overloaded{[&](std::monostate) { forms_.compressed_bytes += rows.bytes(); },
                              [&]<class Form>(const Form& form) {
                                  auto& count = forms_.forms[form_[part].index() - 1];
                                  count.rows += rows.rows();
                                  if (form.is_halved()) count.halved += rows.rows();
                                  if constexpr (requires { form.different_rows(); })
                                      count.different = std::max(count.different, form.different_rows());
                                  count.bytes += form.bytes();
                                  count.compressed += rows.bytes();
                              }},
                   form_[part]);
        for (const auto& each : interface_[part]) {
            const RowInterval one[] = {{each.row, each.row + 1}};
            forms_.interface_bytes += InteriorRows<T>{start_, columns_, values_, one}.bytes();
        }
        forms_.interface += static_cast<Index>(interface_[part].size());
    }
}

template class LocalMatrix<double>;
template class LocalMatrix<float>;
template LocalMatrix<float>::LocalMatrix(const LocalMatrix<double>&);
#if STRETTO_COMPLEX
template class LocalMatrix<std::complex<double>>;
template class LocalMatrix<std::complex<float>>;
template LocalMatrix<std::complex<float>>::LocalMatrix(const LocalMatrix<std::complex<double>>&);
#endif

}  // namespace stretto
