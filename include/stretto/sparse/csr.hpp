// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/forms/blocked_rows.hpp"
#include "stretto/sparse/forms/repeated_rows.hpp"
#include "stretto/sparse/forms/rows_in_step.hpp"
#include "stretto/sparse/forms/sliced_rows.hpp"
#include "stretto/sparse/halo.hpp"
#include "stretto/sparse/partition.hpp"
#include "stretto/statements/multivector.hpp"
#include "stretto/statements/panel.hpp"

namespace stretto {

template <class T>
class MatrixPowers;

/// How a matrix is kept for its products: in the first of these forms that pays, as compressed rows, or in this form
/// where it pays.
enum class Storage { automatic, compressed_rows, repeated, in_step, blocked, sliced };

/// A storage and what it is called.
struct StorageName {
    std::string_view name;
    Storage storage;
};
inline constexpr StorageName storage_names[] = {{"auto", Storage::automatic},    {"csr", Storage::compressed_rows},
                                                {"repeated", Storage::repeated}, {"in-step", Storage::in_step},
                                                {"blocked", Storage::blocked},   {"sliced", Storage::sliced}};

/// A square sparse matrix, rows dealt to ranks in contiguous pieces. Locally: compressed rows with 32-bit
/// columns, the owned ones numbered 0 … local_rows() − 1, those of other ranks (the halo) from local_rows()
/// on. A row holds its owned columns first and its halo columns after them, each in increasing global order,
/// so that its sum is two loops without branches. Where rows repeat (constant coefficients on a regular grid), products
/// read the interior ones from runs of equal rows instead; where their columns run in step, from runs of those;
/// elsewhere, for one column, from blocks of neighbours with much the same columns, or from slices with narrower
/// columns and values. Runs in step and blocks of a symmetric matrix keep one of two mirror images.
template <class T>
class CsrMatrix {
public:
    /// Collective. `rows` are the rows that `partition` gives to this rank. Throws InputError, the same on
    /// every rank, when sizes disagree, a column lies outside the matrix, columns of a row do not increase, a
    /// value is NaN or infinite (named by global row and column, counted from 1), or a rank has 2³¹ nonzeros
    /// or more. `comm` must outlive the matrix.
    CsrMatrix(Comm& comm, Partition partition, LocalRows<T> rows, int threads = 1,
              Storage storage = Storage::automatic);

    /// Collective. y = A x for n_local × m vectors, m ≥ 1. Interior rows hide the exchange of the halo.
    /// Allocates only in the first call with a given m. Only one apply of a matrix may run at a time. Throws
    /// InputError when the shapes disagree.
    void apply(MultiVector<T> x, MultiVector<T> y) const { multiply(x, y, nullptr); }
    /// The same; hands rows of y on as soon as they are there, each once. What is done with them must leave x as it is.
    void apply(MultiVector<T> x, MultiVector<T> y, const RowWork& work) const { multiply(x, y, &work); }
    /// The parts that rows are handed on from, one for each thread.
    int parts() const { return threads_; }

    /// y = A x where the halo's values stand at halo_values(m): what is left of apply when they have come otherwise.
    void apply_local(MultiVector<T> x, MultiVector<T> y) const;
    T* halo_values(int columns) const { return halo_.values(columns); }

    /// Collective. Gets ready to multiply several times in a row with one exchange (MatrixPowers). Returns how often:
    /// h, or 1 where the rows that more than one rank would multiply are more than half of some rank's own.
    int prepare_powers(int h) const;
    /// Collective. v_{i+1} = (A v_i − B(i, i) v_i − B(i − 1, i) v_{i−1}) / B(i + 1, i) for i = first … first + count −
    /// 1, with as many products as prepare_powers returned at most. B(first − 1, first) must be zero.
    void apply_powers(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const;

    /// Collective. y = Aᵀ x for the same shapes: what the local rows have for rows of other ranks is sent there and
    /// added. One thread; meant for methods that need it once.
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const;

    Comm& comm() const { return *comm_; }
    const Partition& partition() const { return partition_; }
    Global rows() const { return partition_.rows(); }
    Global nonzeros() const { return nonzeros_; }
    Index local_rows() const { return local_rows_; }
    Index halo_rows() const { return halo_.size(); }
    /// Ranks that this one receives from or sends to.
    int neighbours() const { return halo_.neighbours(); }
    int threads() const { return threads_; }

    /// Bytes that one apply with m columns moves on this rank: the matrix and the vectors (halo included)
    /// read once, the result written once.
    double bytes(int columns) const;

    /// What products read besides compressed rows, on this rank.
    struct Forms {
        Index repeated = 0;                              ///< rows in runs of equal ones
        int different = 0;                               ///< equal ones counted once
        Index in_step = 0;                               ///< rows in runs whose columns run in step
        Index blocked = 0;                               ///< rows in blocks of neighbours
        Index sliced = 0;                                ///< rows in slices
        Index halved_in_step = 0, halved_blocks = 0;     ///< rows of those that keep one of two mirror images
        Index interface = 0;                             ///< rows that wait for the halo
        double interior_bytes = 0, interface_bytes = 0;  ///< of the matrix alone, that a product reads
        double more_for_several = 0;                     ///< bytes that a product of several columns reads besides
        double bytes() const { return interior_bytes + interface_bytes; }
    };
    const Forms& forms() const { return forms_; }
    /// Collective. How many rows of all ranks a product of so many columns reads in each form, by its name in
    /// storage_names.
    std::vector<std::pair<std::string_view, Global>> rows_by_storage(int columns) const;
    /// Collective. How many of them keep one of two mirror images.
    Global halved_rows(int columns) const;
    /// Collective. The name of the form of most rows.
    std::string_view main_storage(int columns) const;
    /// Collective. Bytes of the matrix that such a product reads for a nonzero; NaN where there is none.
    double bytes_per_nonzero(int columns) const;

    /// The local part of the diagonal; 0 where no entry is stored.
    std::vector<T> diagonal() const;

    /// Collective. ‖A‖∞, the largest sum of absolute values in a row: no eigenvalue is larger.
    T norm() const;

    /// Entries of a local row in local numbering: columns increase, the halo's (local_rows() and on) come last.
    struct Row {
        std::span<const Index> columns;
        std::span<const T> values;
    };
    Row row(Index i) const {
        const auto begin = static_cast<std::size_t>(start_[i]), size = static_cast<std::size_t>(start_[i + 1]) - begin;
        return {columns_.values().subspan(begin, size), values_.values().subspan(begin, size)};
    }
    /// The global number of a local column.
    Global global(Index column) const {
        return column < local_rows_ ? first_ + column : halo_.rows()[static_cast<std::size_t>(column - local_rows_)];
    }

    /// The local rows with global columns, as given to the constructor.
    LocalRows<T> local() const;

private:
    struct Range {
        Index begin, end;
    };
    struct InterfaceRow {
        Index row, halo_begin;  // positions from halo_begin to the end of the row are halo columns
    };

    void check(const LocalRows<T>& rows) const;
    void plan_halo(const LocalRows<T>& rows);
    void deal_rows(const LocalRows<T>& rows);
    void store(const LocalRows<T>& rows);
    void find_form(std::size_t part, Storage storage);
    Forms count_forms() const;
    double interface_bytes(int columns) const;
    void check_shapes(MultiVector<T> x, MultiVector<T> y) const;
    void multiply(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const;
    void multiply_interior(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const;
    void multiply_interface(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const;

    template <class Work>
    void each_part(Work&& work) const;

    Comm* comm_;
    Partition partition_;
    int threads_;
    Global first_;  // global number of local row 0
    Index local_rows_;
    Global nonzeros_ = 0;

    Buffer<Index> start_, columns_;
    Buffer<T> values_;
    // By part, one part for each thread: rows without halo columns, then rows with some.
    std::vector<std::vector<Range>> interior_;
    std::vector<std::vector<InterfaceRow>> interface_;
    // The interior ones again, where that pays.
    std::vector<std::variant<std::monostate, RepeatedRows<T>, RowsInStep<T>, BlockedRows<T>, SlicedRows<T>>> form_;
    Forms forms_;

    Halo<T> halo_;
    mutable std::shared_ptr<const MatrixPowers<T>> powers_;
};

extern template class CsrMatrix<double>;

}  // namespace stretto
