// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What the driver says to people.

#include <fmt/format.h>

#include <functional>
#include <string>

#include "stretto/convergence/columns.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// How a run ended that did not end in convergence; empty where it simply ended. `residual`: true, relative; `options`:
/// of the method that ran.
std::string end_of_run(const Columns::Column& run, double residual, const Options& options);

/// What begins an event of column j, where there are several.
std::string of_column(int j, int columns);

/// What is wrong with b or x on this rank, for a solver of rows × columns; empty: nothing.
template <class T>
std::string complaint(int rank, Index rows, int columns, MultiVector<const T> b, MultiVector<T> x) {
    const auto fits = [&](const auto& v) { return v.rows() == rows && v.columns() == columns; };
    if (!fits(b) || !fits(x))
        return fmt::format("b is {} × {} on rank {}, x is {} × {}; the solver was made for {} × {}", b.rows(),
                           b.columns(), rank, x.rows(), x.columns(), rows, columns);
    const std::less<const T*> before;
    if (b.size() > 0 && before(b.data(), x.data() + x.size()) && before(x.data(), b.data() + b.size()))
        return fmt::format("b and x share memory on rank {}: x needs its own", rank);
    return {};
}

}  // namespace stretto
