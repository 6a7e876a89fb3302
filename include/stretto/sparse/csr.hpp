// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/operators/any_operator.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/given_rows.hpp"
#include "stretto/sparse/halo.hpp"
#include "stretto/sparse/local_matrix.hpp"
#include "stretto/sparse/partition.hpp"
#include "stretto/sparse/storage.hpp"
#include "stretto/statements/multivector.hpp"
#include "stretto/statements/panel.hpp"

namespace stretto {

template <class T>
class MatrixPowers;

/// A square sparse matrix, rows dealt to ranks in contiguous pieces. Locally (LocalMatrix): compressed rows, and
/// besides them, for the rows without columns of other ranks, the form of a Storage.
template <class T>
class CsrMatrix {
public:
    /// Collective. `rows` are the rows that `partition` gives to this rank. Throws InputError, the same on
    /// every rank, when sizes disagree, a column lies outside the matrix, columns of a row do not increase, a
    /// value is NaN or infinite (named by global row and column, counted from 1), or a rank has 2³¹ nonzeros
    /// or more. `comm` must outlive the matrix.
    CsrMatrix(Comm& comm, Partition partition, LocalRows<T> rows, int threads = 1,
              Storage storage = Storage::automatic);
    /// The same of rows where they are, which must stay as long as the matrix: of one rank they are its compressed
    /// rows.
    CsrMatrix(Comm& comm, Partition partition, const GivenRows<T>& rows, int threads = 1,
              Storage storage = Storage::automatic);

    /// Collective. New values for the pattern that the matrix has: those of all local rows, one after the other, in the
    /// order of their columns, as given to the constructor. Afterwards the matrix is what the constructor makes of
    /// them, bit by bit; the plan of the halo and all buffers stay. Forms depend on values and are chosen and built
    /// anew: a seventh to a half of the constructor's time (poisson3d:100, jump3d:100), or, with compressed rows asked
    /// for, that of two or three products. What prepare_powers has fetched of other ranks is fetched again. Throws
    /// InputError, the same on every rank, when there are too few or too many or one is NaN or infinite, and leaves the
    /// matrix as it is. Nothing made of the matrix before (preconditioners, norms) follows.
    void update_values(std::span<const T> values);
    /// The same with the pattern, which is compared; throws InputError where it is another.
    void update_values(const LocalRows<T>& rows);

    /// Collective. y = A x for n_local × m vectors, m ≥ 1. Interior rows hide the exchange of the halo.
    /// Allocates only in the first call with a given m. Only one apply of a matrix may run at a time. Throws
    /// InputError when the shapes disagree.
    void apply(MultiVector<T> x, MultiVector<T> y) const { multiply(x, y, nullptr); }
    /// The same; hands rows of y on as soon as they are there, each once. What is done with them must leave x as it is.
    void apply(MultiVector<T> x, MultiVector<T> y, const RowWork& work) const { multiply(x, y, &work); }
    /// The parts that rows are handed on from, one for each thread.
    int parts() const { return threads(); }

    /// Collective. r = b − A x with sums in twice the precision, rounded once (Ogita, Rump and Oishi 2005, Algorithm
    /// Dot2): its error is that of r itself where apply leaves that of A x. r and x are disjoint. Several times slower.
    void residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const;

    /// y = A x where the halo's values stand at halo_values(m): what is left of apply when they have come otherwise.
    void apply_local(MultiVector<T> x, MultiVector<T> y) const;
    T* halo_values(int columns) const { return halo_.values(columns); }
    const Halo<T>& halo() const { return halo_; }
    const LocalMatrix<T>& rows_here() const { return local_; }

    /// Collective. Gets ready to multiply several times in a row with one exchange (MatrixPowers). Returns how often:
    /// h, or 1 where the rows that more than one rank would multiply are more than half of some rank's own.
    int prepare_powers(int h) const;
    /// Collective. v_{i+1} = (A v_i − B(i, i) v_i − B(i − 1, i) v_{i−1}) / B(i + 1, i) for i = first … first + count −
    /// 1, with as many products as prepare_powers returned at most. B(first − 1, first) must be zero.
    void apply_powers(const Panel<T>& v, int first, int count, const SmallMatrix<T>& B) const;

    /// Collective. y = Aᵀ x, of complex values Aᴴ x, for the same shapes: what the local rows have for rows of other
    /// ranks is sent there and added. One thread; meant for methods that need it once.
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const;

    /// Collective the first time. The matrix rounded to single precision, for vectors in it; update_values is for both.
    OwnedOperator<Single<T>> in_single() const
        requires(!is_single<T>);

    Comm& comm() const { return *comm_; }
    const Partition& partition() const { return partition_; }
    Global rows() const { return partition_.rows(); }
    Global nonzeros() const { return nonzeros_; }
    Index local_rows() const { return local_.rows(); }
    Index halo_rows() const { return halo_.size(); }
    /// Ranks that this one receives from or sends to.
    int neighbours() const { return halo_.neighbours(); }
    int threads() const { return local_.threads(); }

    /// Bytes that one apply with m columns moves on this rank: the matrix and the vectors (halo included)
    /// read once, the result written once.
    double bytes(int columns) const;

    /// What products read, on this rank; over all ranks: report_storage (storage_report.hpp).
    const StoredForms& forms() const { return local_.forms(); }

    /// The local part of the diagonal; 0 where no entry is stored.
    std::vector<T> diagonal() const;

    /// Collective. ‖A‖∞, the largest sum of absolute values in a row: no eigenvalue is larger.
    double norm() const;
    /// Collective the first time since values changed. √(‖A‖₁ ‖A‖∞), which ‖ |A| ‖₂ is no larger than. Takes from
    /// some hundredths to a tenth of the time of the constructor.
    double norm_bound() const;

    /// Entries of a local row in local numbering: columns increase, the halo's (local_rows() and on) come last.
    using Row = typename LocalMatrix<T>::Row;
    Row row(Index i) const { return local_.row(i); }
    /// The global number of a local column.
    Global global(Index column) const {
        return column < local_rows() ? first_ + column : halo_.rows()[static_cast<std::size_t>(column - local_rows())];
    }

    /// The local rows with global columns, as given to the constructor.
    LocalRows<T> local() const;

private:
    template <class>
    friend class CsrMatrix;
    /// The same with its values as T. Columns stay where `other` has them.
    template <class Other>
    explicit CsrMatrix(const CsrMatrix<Other>& other);

    template <class Rows>
    void plan(const Rows& rows, int threads);
    template <class Rows>
    void check(const Rows& rows, int threads) const;
    void check_pattern(const LocalRows<T>& rows) const;
    template <class Rows>
    void plan_halo(const Rows& rows);
    void check_shapes(MultiVector<T> x, MultiVector<T> y) const;
    void multiply(MultiVector<T> x, MultiVector<T> y, const RowWork* work) const;
    double interface_bytes(int columns) const;

    Comm* comm_;
    Partition partition_;
    Storage storage_;
    Global first_ = 0;  // global number of local row 0
    Global nonzeros_ = 0;
    Halo<T> halo_;
    LocalMatrix<T> local_;
    mutable std::shared_ptr<const MatrixPowers<T>> powers_;
    mutable std::shared_ptr<CsrMatrix<Single<T>>> single_;
    mutable std::optional<double> norm_bound_;
};

extern template class CsrMatrix<double>;
extern template class CsrMatrix<float>;
#if STRETTO_COMPLEX
extern template class CsrMatrix<std::complex<double>>;
extern template class CsrMatrix<std::complex<float>>;
#endif

}  // namespace stretto
