// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/types.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// How the products of so many columns read a matrix, over all ranks.
struct StorageReport {
    struct Form {
        std::string_view name;  ///< "csr" first, then as RowForms
        Global rows;
        std::string words;  ///< what these rows do; empty for compressed rows
    };
    int columns;
    std::vector<Form> forms;
    std::string_view main;     ///< the form of most rows
    Global halved_rows;        ///< that store one of two mirror images
    double bytes_per_nonzero;  ///< of the matrix; NaN where it has none

    /// One line for people; says where the form that was asked for does not pay.
    std::string in_words(std::string_view asked) const;
};

/// Collective.
StorageReport report_storage(const Comm& comm, const StoredForms& forms, Index local_rows, Global nonzeros,
                             int columns);
template <class T>
StorageReport report_storage(const CsrMatrix<T>& A, int columns) {
    return report_storage(A.comm(), A.forms(), A.local_rows(), A.nonzeros(), columns);
}

}  // namespace stretto
