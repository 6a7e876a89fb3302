// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/sparse/csr.hpp"

// Matrices and vectors given by formulas, of any scalar.

namespace stretto {

/// Whether a long double has more digits than a double, as it has not under valgrind.
inline bool long_doubles_are_longer() {
    const volatile long double one = 1, little = 1e-18L;
    return one + little != one;
}

template <class T>
using FormulaOf = std::function<T(Global row, Global column)>;  // 0: no entry
using Formula = FormulaOf<double>;

/// The rows of a rank.
template <class T = double>
LocalRows<T> rows_of(const Partition& partition, int rank, const std::type_identity_t<FormulaOf<T>>& formula) {
    LocalRows<T> rows;
    for (Global i = partition.first(rank); i < partition.first(rank + 1); ++i) {
        for (Global j = 0; j < partition.rows(); ++j)
            if (const T value = formula(i, j); value != T{}) {
                rows.columns.push_back(j);
                rows.values.push_back(value);
            }
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    return rows;
}

/// The rows of a matrix, rounded to single precision.
template <class T>
LocalRows<Single<T>> rounded_rows(const CsrMatrix<T>& A) {
    auto of = A.local();
    LocalRows<Single<T>> rows{std::move(of.start), std::move(of.columns), {}};
    for (const T& value : of.values) rows.values.push_back(static_cast<Single<T>>(value));
    return rows;
}

/// This rank's rows of n × m values given by a function of global row and column.
template <class T>
class ValuesOf {
public:
    ValuesOf(const CsrMatrix<T>& A, int columns, const std::function<T(Global, int)>& f = {})
        : rows_(A.local_rows()),
          columns_(columns),
          data_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns)) {
        const Global first = A.partition().first(A.comm().rank());
        for (Index i = 0; f && i < rows_; ++i)
            for (int j = 0; j < columns; ++j) view()(i, j) = f(first + i, j);
    }
    MultiVector<T> view() { return {data_.data(), rows_, columns_}; }
    const std::vector<T>& data() const { return data_; }

private:
    Index rows_;
    int columns_;
    std::vector<T> data_;
};

}  // namespace stretto
