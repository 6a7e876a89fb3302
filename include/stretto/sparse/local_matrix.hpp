// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/forms/list.hpp"
#include "stretto/sparse/given_rows.hpp"
#include "stretto/sparse/storage.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// A row with halo columns: those at halo_begin and behind, of which those at halo_above and behind follow its owned
/// ones.
struct InterfaceRow {
    Index row, halo_begin, halo_above;
};

/// The rows of one rank in local numbering, dealt to threads, and their products. Compressed rows with 32-bit columns,
/// the owned ones numbered 0 … rows() − 1, those of other ranks (the halo) from rows() on. A row holds its owned
/// columns first and its halo columns after them, each in increasing global order. Its sum goes through them in the
/// order of global columns, which is the same on any number of ranks, in three loops without branches. Interior rows,
/// without halo columns, stand in one of RowForms as well, where that pays.
template <class T>
class LocalMatrix {
public:
    LocalMatrix() = default;
    /// `rows` of a rank that owns `first` and those behind it; `halo`: the other columns that they have, increasing.
    /// Values are stored by store_values, which is to follow. GivenRows that need no other numbers serve where they
    /// are, with their values.
    LocalMatrix(const LocalRows<T>& rows, Global first, std::span<const Global> halo, int threads);
    LocalMatrix(const GivenRows<T>& rows, Global first, std::span<const Global> halo, int threads);
    /// The same with its values as T, in compressed rows. Columns stay where `other` has them.
    template <class Other>
    explicit LocalMatrix(const LocalMatrix<Other>& other);

    /// Those of the rows in the order of global columns. Forgets the forms.
    void store_values(std::span<const T> values);
    /// Builds the form that this storage has for the values. Where memory is short compressed rows serve.
    void build_forms(Storage storage, bool in_order);

    Index rows() const { return rows_; }
    int threads() const { return static_cast<int>(interior_.size()); }
    std::size_t nonzeros() const { return static_cast<std::size_t>(start_[rows_]); }
    const StoredForms& forms() const { return forms_; }

    /// y = A x in the interior rows; hands them on to `work`, where there is some.
    void multiply_interior(Comm& comm, MultiVector<T> x, MultiVector<T> y, const RowWork* work) const;
    /// The same in the interface rows, which have columns in the halo.
    void multiply_interface(MultiVector<T> x, const T* halo, MultiVector<T> y, const RowWork* work) const;

    // ---- the same by part ----
    std::span<const RowInterval> interior(int part) const { return interior_[static_cast<std::size_t>(part)]; }
    /// Calls work(row) for the interface rows of a part.
    template <class Work>
    void each_interface_row(int part, Work&& work) const {
        for (const auto& each : interface_[static_cast<std::size_t>(part)]) work(each.row);
    }
    /// `comm`: null, or lets what is in flight advance.
    void multiply_interior(int part, Comm* comm, MultiVector<T> x, MultiVector<T> y, const RowWork* work) const;
    void multiply_interface(int part, MultiVector<T> x, const T* halo, MultiVector<T> y, const RowWork* work) const;

    /// Entries of a row: columns increase, the halo's come last.
    struct Row {
        std::span<const Index> columns;
        std::span<const T> values;
    };
    Row row(Index i) const {
        const auto begin = static_cast<std::size_t>(start_[i]), size = static_cast<std::size_t>(start_[i + 1]) - begin;
        return {{columns_ + begin, size}, {values_ + begin, size}};
    }
    /// Calls work(entry) for the places of its entries in columns and values, in the order of global columns.
    template <class Work>
    void in_global_order(const Row& row, Work&& work) const {
        std::size_t halo = row.columns.size(), above = halo;
        while (halo > 0 && row.columns[halo - 1] >= rows_) --halo;
        while (above > halo && row.columns[above - 1] >= rows_ + halo_below_) --above;
        for (std::size_t k = halo; k < above; ++k) work(k);
        for (std::size_t k = 0; k < halo; ++k) work(k);
        for (std::size_t k = above; k < row.columns.size(); ++k) work(k);
    }

private:
    /// Rows are short, and the hardware's prefetcher alone keeps a core at half of its bandwidth: the matrix is asked
    /// for so many nonzeros ahead (measured with 7 points: 256 is best for m = 1, 128 to 512 within 5 %).
    static constexpr std::size_t nonzeros_ahead = 256;

    template <class>
    friend class LocalMatrix;

    template <class Rows>
    void deal_rows(const Rows& rows, Global first, int threads);
    template <class Rows>
    void store_columns(const Rows& rows, Global first, std::span<const Global> halo);
    void count_forms();

    template <class Work>
    void each_part(Work&& work) const;

    Index rows_ = 0;
    Index halo_below_ = 0;                               // rows of the halo before the own ones
    const Index *start_ = nullptr, *columns_ = nullptr;  // of what follows, or of GivenRows
    const T* values_ = nullptr;
    Buffer<Index> own_start_, own_columns_;
    Buffer<T> own_values_;
    // By part, one part for each thread.
    std::vector<std::vector<RowInterval>> interior_;
    std::vector<std::vector<InterfaceRow>> interface_;
    std::vector<typename RowForms<T>::Choice> form_;  // of the interior rows
    StoredForms forms_;
};

extern template class LocalMatrix<double>;
extern template class LocalMatrix<float>;
#if STRETTO_COMPLEX
extern template class LocalMatrix<std::complex<double>>;
extern template class LocalMatrix<std::complex<float>>;
#endif

}  // namespace stretto
